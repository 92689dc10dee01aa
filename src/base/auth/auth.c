// SPDX-License-Identifier: BSD-3-Clause
//
// Tags of datagrams. Every (sender, domain, team) has its own key, so that a nonce needs to be unique only within it;
// a sender's expanded keys are made at first use and kept for the teams used last. All of them lie in pages of their
// own that no core file has, and are wiped at the end. Called by the multicast protocol for each datagram sent and
// received: hot. One thread at a time for one struct co_auth.
#include "base/auth/auth.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory/zeroed_pages.h"
#include "base/auth/gmac.h"

#define TEAMS_KEPT 4
#define SCRATCH_BYTES 65536 // no UDP datagram is larger
#define CHECK_BYTES 8
#define STACK_BYTES 4096 // more than libsodium takes to make a key

// An expanded key: the AES schedule with GHASH powers, by libsodium or by the faster module, or the plain ChaCha key.
struct keyed_state {
    union {
        _Alignas(64) uint8_t gmac[CO_GMAC_KEY_ROOM];
        crypto_aead_aes256gcm_state aes; // aligned to 16 by its type
        uint8_t chacha[crypto_aead_chacha20poly1305_ietf_KEYBYTES];
    };
    uint64_t team;
    bool made;
};

struct sender {
    _Alignas(64) struct keyed_state states[CO_AUTH_DOMAIN_COUNT][TEAMS_KEPT];
};

// Which states were ever made. Apart from them, so that who wipes them looks at no page that was never written.
struct sender_marks {
    bool were_made[CO_AUTH_DOMAIN_COUNT][TEAMS_KEPT];
};

struct co_auth {
    enum co_auth_form form;
    bool has_aes;
    const struct co_gmac_module *gmac; // with AES: makes the tags; NULL: libsodium does
    int ranks;
    uint8_t key[CO_AUTH_KEY_BYTES];
    uint64_t check_seed; // not keyed
    uint8_t scratch[SCRATCH_BYTES];
    struct sender senders[]; // keyed: by rank, their marks behind them; one that is not used takes no memory
};

static size_t room_of(int ranks, enum co_auth_form form)
{
    size_t room_of_rank = sizeof(struct sender) + sizeof(struct sender_marks);
    return sizeof(struct co_auth) + (form == CO_AUTH_KEYED ? (size_t)ranks * room_of_rank : 0);
}

static struct sender_marks *marks_of(struct co_auth *auth, int rank)
{
    return (struct sender_marks *)&auth->senders[auth->ranks] + rank;
}

static void derive_key(const struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                       uint8_t key[CO_AUTH_KEY_BYTES])
{
    struct {
        char label[16];
        uint64_t team;
        uint32_t domain, rank;
    } who = {.label = "castoff sender", .team = team, .domain = (uint32_t)domain, .rank = (uint32_t)rank};
    static_assert(sizeof who == 32, "hashed as bytes, so it must have no padding");
    crypto_generichash(key, CO_AUTH_KEY_BYTES, (const uint8_t *)&who, sizeof who, auth->key, CO_AUTH_KEY_BYTES);
}

static void make_state(const struct co_auth *auth, struct keyed_state *state, enum co_auth_domain domain, int rank,
                       uint64_t team)
{
    uint8_t key[CO_AUTH_KEY_BYTES];
    derive_key(auth, domain, rank, team, key);
    if (auth->gmac != NULL) {
        auth->gmac->expand(state->gmac, key);
    } else if (auth->has_aes) {
        crypto_aead_aes256gcm_beforenm(&state->aes, key);
    } else {
        memcpy(state->chacha, key, sizeof state->chacha);
    }
    sodium_memzero(key, sizeof key);
    sodium_stackzero(STACK_BYTES);
    state->team = team;
    state->made = true;
}

static const struct keyed_state *find_state(struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team)
{
    // Fibonacci hashing: team numbers of communicators in use at once are often neighbours.
    size_t place = (team * UINT64_C(0x9E3779B97F4A7C15)) >> 62;
    struct keyed_state *state = &auth->senders[rank].states[domain][place];
    static_assert(TEAMS_KEPT == 4, "the shift above leaves two bits");
    if (!state->made || state->team != team) {
        make_state(auth, state, domain, rank, team);
        marks_of(auth, rank)->were_made[domain][place] = true;
    }
    return state;
}

// One piece of memory with head and payload: either alone if the other is empty, else a copy.
static const uint8_t *gather(struct co_auth *auth, const void *head, size_t head_bytes, const void *payload,
                             size_t payload_bytes)
{
    if (payload_bytes == 0) {
        return head_bytes > 0 ? head : auth->scratch;
    }
    if (head_bytes == 0 || (const uint8_t *)head + head_bytes == (const uint8_t *)payload) {
        return head_bytes > 0 ? head : payload;
    }
    assert(head_bytes + payload_bytes <= SCRATCH_BYTES);
    memcpy(auth->scratch, head, head_bytes);
    memcpy(auth->scratch + head_bytes, payload, payload_bytes);
    return auth->scratch;
}

static void write_keyed_tag(struct co_auth *auth, const struct keyed_state *state, const uint8_t *nonce,
                            const uint8_t *data, size_t bytes, uint8_t *tag)
{
    uint8_t nothing[1]; // the empty ciphertext: everything is associated data
    if (auth->has_aes) {
        crypto_aead_aes256gcm_encrypt_detached_afternm(nothing, tag, NULL, NULL, 0, data, bytes, NULL, nonce,
                                                       &state->aes);
    } else {
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(nothing, tag, NULL, NULL, 0, data, bytes, NULL, nonce,
                                                           state->chacha);
    }
}

static bool keyed_tag_is_right(const struct co_auth *auth, const struct keyed_state *state, const uint8_t *nonce,
                               const uint8_t *data, size_t bytes)
{
    const uint8_t *tag = data + bytes;
    uint8_t nothing[1] = {0}; // the compiler cannot know that none of it is read
    int result;
    if (auth->gmac != NULL) {
        uint8_t right[CO_AUTH_TAG_MAX];
        auth->gmac->tag(state->gmac, nonce, data, bytes, NULL, 0, right);
        static_assert(sizeof right == crypto_verify_16_BYTES, "compared whole");
        result = crypto_verify_16(tag, right);
        sodium_memzero(right, sizeof right); // the tag of what may be forged
    } else if (auth->has_aes) {
        result = crypto_aead_aes256gcm_decrypt_detached_afternm(nothing, NULL, nothing, 0, tag, data, bytes, nonce,
                                                                &state->aes);
    } else {
        result = crypto_aead_chacha20poly1305_ietf_decrypt_detached(nothing, NULL, nothing, 0, tag, data, bytes, nonce,
                                                                    state->chacha);
    }
    return result == 0; // all compare in constant time
}

// Of head and payload together: what the tag covers from the start.
static size_t covered_bytes(const struct co_auth *auth, enum co_auth_domain domain, size_t bytes)
{
    bool is_all = auth->form != CO_AUTH_HEAD || domain == CO_AUTH_CONTROL || bytes < CO_AUTH_HEAD_BYTES;
    return is_all ? bytes : CO_AUTH_HEAD_BYTES;
}

// As it stands on the wire.
static uint64_t check_of(const struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                         const uint8_t *nonce, const uint8_t *data, size_t bytes)
{
    struct {
        uint64_t team;
        uint32_t domain, rank;
        uint8_t nonce[CO_AUTH_NONCE_BYTES];
        uint32_t zero;
    } who = {.team = team, .domain = (uint32_t)domain, .rank = (uint32_t)rank, .zero = 0};
    static_assert(sizeof who == 32, "hashed as bytes, so it must have no padding");
    memcpy(who.nonce, nonce, sizeof who.nonce);
    return htole64(XXH3_64bits_withSeed(data, bytes, XXH3_64bits_withSeed(&who, sizeof who, auth->check_seed)));
}

void co_auth_seal(struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                  const uint8_t nonce[CO_AUTH_NONCE_BYTES], const void *head, size_t head_bytes, const void *payload,
                  size_t payload_bytes, uint8_t *tag)
{
    assert(rank >= 0 && rank < auth->ranks);
    if (auth->form == CO_AUTH_KEYED && auth->gmac != NULL) {
        auth->gmac->tag(find_state(auth, domain, rank, team)->gmac, nonce, head, head_bytes, payload, payload_bytes,
                        tag);
        return;
    }
    size_t bytes = covered_bytes(auth, domain, head_bytes + payload_bytes);
    const uint8_t *data = bytes <= head_bytes ? head : gather(auth, head, head_bytes, payload, payload_bytes);
    if (auth->form == CO_AUTH_KEYED) {
        write_keyed_tag(auth, find_state(auth, domain, rank, team), nonce, data, bytes, tag);
    } else {
        uint64_t check = check_of(auth, domain, rank, team, nonce, data, bytes);
        memcpy(tag, &check, CHECK_BYTES);
    }
}

bool co_auth_verify(struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                    const uint8_t nonce[CO_AUTH_NONCE_BYTES], const uint8_t *data, size_t data_bytes)
{
    if (rank < 0 || rank >= auth->ranks) {
        return false; // the rank may come straight from a datagram
    }
    if (auth->form == CO_AUTH_KEYED) {
        return keyed_tag_is_right(auth, find_state(auth, domain, rank, team), nonce, data, data_bytes);
    }
    uint64_t check = check_of(auth, domain, rank, team, nonce, data, covered_bytes(auth, domain, data_bytes));
    return memcmp(&check, data + data_bytes, CHECK_BYTES) == 0;
}

int co_auth_open(struct co_auth **out, const uint8_t key[CO_AUTH_KEY_BYTES], int ranks, enum co_auth_form form)
{
    if (ranks < 1) {
        return -EINVAL;
    }
    if (sodium_init() < 0) { // may be called again and from any thread
        return -ENOSYS;
    }
    struct co_auth *auth = co_zeroed_pages_take_secret(room_of(ranks, form));
    if (!auth) {
        return -ENOMEM;
    }
    auth->form = form;
    auth->has_aes = crypto_aead_aes256gcm_is_available() == 1;
    auth->gmac = form == CO_AUTH_KEYED && auth->has_aes ? co_gmac_find() : NULL;
    auth->ranks = ranks;
    memcpy(auth->key, key, sizeof auth->key);
    auth->check_seed = XXH3_64bits(key, CO_AUTH_KEY_BYTES);
    *out = auth;
    return 0;
}

int co_auth_copy(struct co_auth **out, const struct co_auth *auth)
{
    struct co_auth *copy;
    int status = co_auth_open(&copy, auth->key, auth->ranks, auth->form);
    if (status == 0) {
        copy->has_aes = auth->has_aes;
        copy->gmac = auth->gmac;
        *out = copy;
    }
    return status;
}

bool co_auth_is_portable(const struct co_auth *auth)
{
    return auth->form == CO_AUTH_KEYED && !auth->has_aes;
}

static void wipe_sender(struct sender *sender, const struct sender_marks *marks)
{
    for (int domain = 0; domain < CO_AUTH_DOMAIN_COUNT; domain++) {
        for (int i = 0; i < TEAMS_KEPT; i++) {
            if (marks->were_made[domain][i]) {
                sodium_memzero(&sender->states[domain][i], sizeof sender->states[domain][i]);
            }
        }
    }
}

static void wipe_senders(struct co_auth *auth)
{
    for (int rank = 0; auth->form == CO_AUTH_KEYED && rank < auth->ranks; rank++) {
        wipe_sender(&auth->senders[rank], marks_of(auth, rank));
    }
}

void co_auth_use_portable(struct co_auth *auth)
{
    if (auth->has_aes) {
        auth->has_aes = false;
        auth->gmac = NULL;
        wipe_senders(auth); // they are of the other form
    }
}

void co_auth_close(struct co_auth *auth)
{
    if (auth) {
        size_t bytes = room_of(auth->ranks, auth->form);
        wipe_senders(auth);
        sodium_memzero(auth, sizeof *auth);
        co_zeroed_pages_give(auth, bytes);
    }
}

size_t co_auth_tag_bytes(const struct co_auth *auth)
{
    return auth->form == CO_AUTH_KEYED ? CO_AUTH_TAG_MAX : CHECK_BYTES;
}

const char *co_auth_name(const struct co_auth *auth)
{
    switch (auth->form) {
    case CO_AUTH_CHECK:
        return "xxh3";
    case CO_AUTH_HEAD:
        return "xxh3-head";
    default:
        return auth->has_aes ? "aes-256-gcm" : "chacha20-poly1305";
    }
}

bool co_auth_covers_payload(const struct co_auth *auth)
{
    return auth->form != CO_AUTH_HEAD;
}

uint64_t co_auth_word(const struct co_auth *auth)
{
    static const char label[32] = "castoff invitations"; // another one than a sender's key has
    uint8_t hash[CO_AUTH_KEY_BYTES];
    uint64_t word;
    crypto_generichash(hash, sizeof hash, (const uint8_t *)label, sizeof label, auth->key, CO_AUTH_KEY_BYTES);
    memcpy(&word, hash, sizeof word);
    sodium_memzero(hash, sizeof hash);
    return word;
}

int co_auth_random_key(uint8_t key[CO_AUTH_KEY_BYTES])
{
    if (sodium_init() < 0) {
        return -ENOSYS;
    }
    randombytes_buf(key, CO_AUTH_KEY_BYTES);
    return 0;
}
