// SPDX-License-Identifier: BSD-3-Clause
//
// The beginning of a connection; see the header.
#include "offload/carrier/carrier_handshake.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "offload/little_endian.h"

enum {
    VERSION_AT = 8,
    CONNECTION_AT = 10,
    FLAGS_AT = 11,
    FROM_AT = 12,
    TO_AT = 16,
    PROXIES_AT = 20,
    ZERO_AT = 24,
    RANDOM_AT = 32,
    RANDOM_BYTES = 16,
    CODE_AT = 48, // over all before it
    CODE_BYTES = 16,
    FORM_MASK = 3, // in the flags: tags of bulk,
    AES_FLAG = 4,  // and whether this processor has AES
    LABEL_BYTES = 16,
    STACK_BYTES = 4096 // more than libsodium takes
};

static const uint8_t magic[8] = {'c', 'a', 's', 't', 'o', 'f', 'f', 'P'};

// A code of 16 bytes, by a key of its own use: the label keeps uses apart.
static void code_make(uint8_t code[CODE_BYTES], const char label[LABEL_BYTES], const uint8_t *data, size_t bytes,
                      const uint8_t key[CO_AUTH_KEY_BYTES])
{
    uint8_t from[LABEL_BYTES + CO_CARRIER_HELLO_BYTES];
    memcpy(from, label, LABEL_BYTES);
    if (bytes > 0) {
        memcpy(from + LABEL_BYTES, data, bytes);
    }
    crypto_generichash(code, CODE_BYTES, from, LABEL_BYTES + bytes, key, CO_AUTH_KEY_BYTES);
    sodium_stackzero(STACK_BYTES);
}

static void hello_code_make(uint8_t code[CODE_BYTES], const uint8_t hello[CO_CARRIER_HELLO_BYTES],
                            const struct co_carrier_identity *identity)
{
    code_make(code, "castoff hello  ", hello, CODE_AT, identity->key);
}

static void hello_make(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity)
{
    uint8_t *hello = handshake->own_hello;
    memset(hello, 0, CO_CARRIER_HELLO_BYTES);
    memcpy(hello, magic, sizeof magic);
    co_little_endian_put(hello + VERSION_AT, CO_CARRIER_VERSION, 2);
    hello[CONNECTION_AT] = (uint8_t)handshake->connection;
    hello[FLAGS_AT] = (uint8_t)((unsigned)identity->bulk_form | (identity->has_aes ? AES_FLAG : 0));
    co_little_endian_put(hello + FROM_AT, (uint32_t)identity->self, 4);
    co_little_endian_put(hello + TO_AT, (uint32_t)handshake->peer, 4);
    co_little_endian_put(hello + PROXIES_AT, (uint32_t)identity->proxies, 4);
    randombytes_buf(hello + RANDOM_AT, RANDOM_BYTES);
    hello_code_make(hello + CODE_AT, hello, identity);
}

void co_carrier_handshake_begin_client(struct co_carrier_handshake *handshake,
                                       const struct co_carrier_identity *identity, int peer,
                                       enum co_carrier_connection connection)
{
    *handshake = (struct co_carrier_handshake){.is_client = true, .peer = peer, .connection = connection};
    hello_make(handshake, identity);
}

void co_carrier_handshake_begin_server(struct co_carrier_handshake *handshake)
{
    *handshake = (struct co_carrier_handshake){.peer = -1};
}

size_t co_carrier_handshake_wants(const struct co_carrier_handshake *handshake)
{
    if (handshake->is_greeted) {
        return CO_CARRIER_PROOF_BYTES;
    }
    return handshake->is_client ? CO_CARRIER_HELLO_BYTES + CO_CARRIER_PROOF_BYTES : CO_CARRIER_HELLO_BYTES;
}

static void key_make(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                     const uint8_t *peer_hello)
{
    struct {
        char label[LABEL_BYTES];
        uint8_t client[CO_CARRIER_HELLO_BYTES], server[CO_CARRIER_HELLO_BYTES];
    } from = {.label = "castoff carrier"};
    memcpy(handshake->is_client ? from.client : from.server, handshake->own_hello, CO_CARRIER_HELLO_BYTES);
    memcpy(handshake->is_client ? from.server : from.client, peer_hello, CO_CARRIER_HELLO_BYTES);
    crypto_generichash(handshake->key, sizeof handshake->key, (const uint8_t *)&from, sizeof from, identity->key,
                       CO_AUTH_KEY_BYTES);
    sodium_stackzero(STACK_BYTES);
}

// In the order in which they are said.
enum proof { PROOF_OF_SERVER, PROOF_OF_CLIENT, PROOF_IS_HEARD };

static void proof_make(const struct co_carrier_handshake *handshake, enum proof which, uint8_t proof[CODE_BYTES])
{
    static const char labels[][LABEL_BYTES] = {"castoff server ", "castoff client ", "castoff heard  "};
    code_make(proof, labels[which], NULL, 0, handshake->key);
}

static int proof_check(const struct co_carrier_handshake *handshake, enum proof which, const uint8_t *proof,
                       const char **why)
{
    uint8_t right[CODE_BYTES];
    proof_make(handshake, which, right);
    int result = sodium_memcmp(right, proof, CODE_BYTES);
    sodium_memzero(right, sizeof right);
    *why = "it does not have the key of this job";
    return result == 0 ? 0 : -EACCES;
}

// Who it says that it is, after it has shown that it, or somebody before, had the key.
static bool peer_check(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                       const uint8_t *hello)
{
    uint32_t from = (uint32_t)co_little_endian_get(hello + FROM_AT, 4), connection = hello[CONNECTION_AT];

    if (co_little_endian_get(hello + TO_AT, 4) != (uint32_t)identity->self ||
        co_little_endian_get(hello + PROXIES_AT, 4) != (uint32_t)identity->proxies ||
        from >= (uint32_t)identity->proxies || connection >= CO_CARRIER_CONNECTIONS) {
        return false;
    }
    if (handshake->is_client) {
        return (int)from == handshake->peer && connection == (uint32_t)handshake->connection;
    }
    handshake->peer = (int)from;
    handshake->connection = (enum co_carrier_connection)connection;
    return (int)from > identity->self;
}

static int hello_check(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                       const uint8_t *hello, const char **why)
{
    uint8_t code[CODE_BYTES];
    *why = "it is no castoff proxy";
    if (memcmp(hello, magic, sizeof magic) != 0) {
        return -EPROTO;
    }
    *why = "it does not have the key of this job";
    hello_code_make(code, hello, identity);
    if (sodium_memcmp(code, hello + CODE_AT, CODE_BYTES) != 0) {
        return -EACCES;
    }
    *why = "it is another proxy than it has to be";
    if (!peer_check(handshake, identity, hello)) {
        return -EACCES;
    }
    *why = "it is of another version of castoff";
    if (co_little_endian_get(hello + VERSION_AT, 2) != CO_CARRIER_VERSION ||
        co_little_endian_get(hello + ZERO_AT, 8) != 0 || (hello[FLAGS_AT] & ~(FORM_MASK | AES_FLAG)) != 0) {
        return -EPROTONOSUPPORT;
    }
    *why = "it has another CASTOFF_AUTH";
    return (hello[FLAGS_AT] & FORM_MASK) == (int)identity->bulk_form ? 0 : -EINVAL;
}

static int server_take(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                       const uint8_t *word, uint8_t *answer, size_t *answer_bytes, const char **why)
{
    if (handshake->is_greeted) {
        int error = proof_check(handshake, PROOF_OF_CLIENT, word, why);
        if (error == 0) {
            proof_make(handshake, PROOF_IS_HEARD, answer);
            *answer_bytes = CO_CARRIER_PROOF_BYTES;
        }
        return error != 0 ? error : 1;
    }
    int error = hello_check(handshake, identity, word, why);
    if (error != 0 && error != -EPROTONOSUPPORT && error != -EINVAL) {
        return error;
    }
    hello_make(handshake, identity); // also for another version's, which can then say what is wrong
    key_make(handshake, identity, word);
    memcpy(answer, handshake->own_hello, CO_CARRIER_HELLO_BYTES);
    proof_make(handshake, PROOF_OF_SERVER, answer + CO_CARRIER_HELLO_BYTES);
    *answer_bytes = CO_CARRIER_GREETING_MAX;
    handshake->has_aes = identity->has_aes && (word[FLAGS_AT] & AES_FLAG) != 0;
    handshake->is_greeted = error == 0;
    return error;
}

static int client_take(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                       const uint8_t *word, uint8_t *answer, size_t *answer_bytes, const char **why)
{
    if (handshake->is_greeted) {
        int error = proof_check(handshake, PROOF_IS_HEARD, word, why);
        return error != 0 ? error : 1;
    }
    int error = hello_check(handshake, identity, word, why);
    if (error != 0) {
        return error;
    }
    key_make(handshake, identity, word);
    error = proof_check(handshake, PROOF_OF_SERVER, word + CO_CARRIER_HELLO_BYTES, why);
    if (error != 0) {
        return error;
    }
    handshake->has_aes = identity->has_aes && (word[FLAGS_AT] & AES_FLAG) != 0;
    handshake->is_greeted = true;
    proof_make(handshake, PROOF_OF_CLIENT, answer);
    *answer_bytes = CO_CARRIER_PROOF_BYTES;
    return 0;
}

int co_carrier_handshake_take(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                              const uint8_t *word, uint8_t answer[CO_CARRIER_GREETING_MAX], size_t *answer_bytes,
                              const char **why)
{
    *answer_bytes = 0;
    return handshake->is_client ? client_take(handshake, identity, word, answer, answer_bytes, why)
                                : server_take(handshake, identity, word, answer, answer_bytes, why);
}
