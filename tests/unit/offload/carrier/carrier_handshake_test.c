// SPDX-License-Identifier: BSD-3-Clause
//
// How connections between proxies begin: golden bytes, which docs/wire-format.md has too; strangers, other jobs, words
// of before, words of others, versions and settings.
#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/carrier/carrier_handshake.h"
#include "wire_example.h"

enum { HELLO = CO_CARRIER_HELLO_BYTES, PROOF = CO_CARRIER_PROOF_BYTES, GREETING = CO_CARRIER_GREETING_MAX };
enum { VERSION_AT = 8, CONNECTION_AT = 10, FLAGS_AT = 11, FROM_AT = 12, TO_AT = 16, PROXIES_AT = 20, CODE_AT = 48 };

// Proxy 2 of 3 connects to proxy 1.
static struct co_carrier_identity client_is, server_is;
static struct co_carrier_handshake client, server;
static uint8_t hello[HELLO], greeting[GREETING], proof[GREETING], heard[GREETING]; // room for any answer
static size_t bytes;
static const char *why;

static uint8_t random_next;

static const char *random_name(void)
{
    return "counting";
}

static uint32_t random_word(void)
{
    return random_next++;
}

static void random_fill(void *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)to)[i] = random_next++;
    }
}

static struct randombytes_implementation counting = {
    .implementation_name = random_name, .random = random_word, .buf = random_fill};

static int begin(void **state)
{
    (void)state;
    random_next = 0x40;
    client_is = (struct co_carrier_identity){.self = 2, .proxies = 3, .has_aes = true, .bulk_form = CO_AUTH_KEYED};
    for (int i = 0; i < CO_AUTH_KEY_BYTES; i++) {
        client_is.key[i] = (uint8_t)i;
    }
    server_is = client_is;
    server_is.self = 1;
    server_is.has_aes = false;
    co_carrier_handshake_begin_client(&client, &client_is, 1, CO_CARRIER_BULK);
    memcpy(hello, client.own_hello, HELLO);
    co_carrier_handshake_begin_server(&server);
    return 0;
}

static int server_hears(const uint8_t *word, uint8_t *answer)
{
    return co_carrier_handshake_take(&server, &server_is, word, answer, &bytes, &why);
}

static int client_hears(const uint8_t *word, uint8_t *answer)
{
    return co_carrier_handshake_take(&client, &client_is, word, answer, &bytes, &why);
}

static void greet(void)
{
    assert_int_equal(co_carrier_handshake_wants(&server), HELLO);
    assert_int_equal(server_hears(hello, greeting), 0);
    assert_int_equal(bytes, GREETING);
}

static void they_agree(void **state)
{
    (void)state;
    uint8_t nothing[GREETING], golden[GREETING];
    greet();
    assert_true(server.peer == 2 && server.connection == CO_CARRIER_BULK);
    assert_int_equal(co_carrier_handshake_wants(&client), GREETING);
    assert_int_equal(client_hears(greeting, proof), 0);
    assert_int_equal(bytes, PROOF);
    assert_int_equal(co_carrier_handshake_wants(&server), PROOF);
    assert_int_equal(server_hears(proof, heard), 1);
    assert_int_equal(bytes, PROOF);
    assert_int_equal(co_carrier_handshake_wants(&client), PROOF);
    assert_int_equal(client_hears(heard, nothing), 1);
    assert_int_equal(bytes, 0);
    assert_memory_equal(client.key, server.key, sizeof client.key);
    assert_false(client.has_aes || server.has_aes); // only one of them has it

    assert_int_equal(wire_example_read("**HELLO** of proxy 2", golden, sizeof golden), HELLO);
    assert_memory_equal(hello, golden, HELLO);
    assert_int_equal(wire_example_read("**Answer** of proxy 1", golden, sizeof golden), GREETING);
    assert_memory_equal(greeting, golden, GREETING);
    assert_int_equal(wire_example_read("**Proof** of proxy 2", golden, sizeof golden), PROOF);
    assert_memory_equal(proof, golden, PROOF);
    assert_int_equal(wire_example_read("**Last word** of proxy 1", golden, sizeof golden), PROOF);
    assert_memory_equal(heard, golden, PROOF);
}

static void aes_where_both_have_it(void **state)
{
    (void)state;
    server_is.has_aes = true;
    greet();
    assert_int_equal(client_hears(greeting, proof), 0);
    assert_true(client.has_aes && server.has_aes);
    client_is.has_aes = false;
    co_carrier_handshake_begin_client(&client, &client_is, 1, CO_CARRIER_BULK);
    memcpy(hello, client.own_hello, HELLO);
    co_carrier_handshake_begin_server(&server);
    greet();
    assert_int_equal(client_hears(greeting, proof), 0);
    assert_false(client.has_aes || server.has_aes);
}

// A stranger hears nothing, whatever it is that is wrong.
static void no_answer(int error)
{
    co_carrier_handshake_begin_server(&server);
    assert_int_equal(server_hears(hello, greeting), error);
    assert_int_equal(bytes, 0);
}

static void each_byte_counts(void **state)
{
    (void)state;
    for (int i = 0; i < HELLO; i++) {
        hello[i] ^= 0x10;
        no_answer(i < 8 ? -EPROTO : -EACCES);
        hello[i] ^= 0x10;
    }
    greet();
    for (int i = 0; i < GREETING; i++) {
        struct co_carrier_handshake before = client;
        greeting[i] ^= 1;
        assert_int_equal(client_hears(greeting, proof), i < 8 ? -EPROTO : -EACCES);
        assert_int_equal(bytes, 0);
        greeting[i] ^= 1;
        client = before;
    }
    assert_int_equal(client_hears(greeting, proof), 0);
    for (int i = 0; i < PROOF; i++) {
        proof[i] ^= 0x80;
        assert_int_equal(server_hears(proof, heard), -EACCES);
        assert_int_equal(bytes, 0);
        proof[i] ^= 0x80;
    }
    assert_int_equal(server_hears(proof, heard), 1);
    for (int i = 0; i < PROOF; i++) {
        heard[i] ^= 2;
        assert_int_equal(client_hears(heard, proof), -EACCES);
        heard[i] ^= 2;
    }
    assert_int_equal(client_hears(heard, proof), 1);
}

static void another_job(void **state)
{
    (void)state;
    client_is.key[31] ^= 1;
    co_carrier_handshake_begin_client(&client, &client_is, 1, CO_CARRIER_BULK);
    memcpy(hello, client.own_hello, HELLO);
    no_answer(-EACCES);
    assert_string_equal(why, "it does not have the key of this job");
}

// What was said once is of no use a second time: neither the client's words, nor the server's.
static void words_of_before(void **state)
{
    (void)state;
    uint8_t other[GREETING], answer[GREETING];
    greet();
    assert_int_equal(client_hears(greeting, proof), 0);
    assert_int_equal(server_hears(proof, heard), 1);

    co_carrier_handshake_begin_server(&server);
    assert_int_equal(server_hears(hello, other), 0); // it has a right code,
    assert_memory_not_equal(other, greeting, GREETING);
    assert_int_equal(server_hears(proof, answer), -EACCES); // and that is all
    assert_int_equal(bytes, 0);

    co_carrier_handshake_begin_client(&client, &client_is, 1, CO_CARRIER_BULK);
    assert_int_equal(client_hears(greeting, answer), -EACCES);
    assert_int_equal(bytes, 0);
}

// Its own words, said back to it.
static void an_echo(void **state)
{
    (void)state;
    uint8_t echo[GREETING] = {0}, answer[GREETING];
    memcpy(echo, hello, HELLO);
    assert_int_equal(client_hears(echo, answer), -EACCES);
    greet();
    assert_int_equal(server_hears(greeting + HELLO, answer), -EACCES);
}

static void hello_again(size_t at, uint8_t value)
{
    hello[at] = value;
    uint8_t from[16 + CODE_AT] = "castoff hello  ";
    memcpy(from + 16, hello, CODE_AT);
    crypto_generichash(hello + CODE_AT, 16, from, sizeof from, client_is.key, CO_AUTH_KEY_BYTES);
}

// Who has the key is still not anybody.
static void another_proxy(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{FROM_AT, 3}, {FROM_AT, 1},    {FROM_AT, 0},       {FROM_AT + 3, 0x80},  {TO_AT, 0},
                 {TO_AT, 2},   {PROXIES_AT, 4}, {CONNECTION_AT, 2}, {CONNECTION_AT, 0xff}};
    uint8_t right[HELLO];
    (void)state;
    memcpy(right, hello, HELLO);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hello_again(wrong[i].at, wrong[i].value);
        no_answer(-EACCES);
        assert_string_equal(why, "it is another proxy than it has to be");
        memcpy(hello, right, HELLO);
    }
    greet();
    co_carrier_handshake_begin_client(&client, &client_is, 0, CO_CARRIER_BULK); // it thinks that it talks to proxy 0
    assert_int_equal(client_hears(greeting, proof), -EACCES);
    co_carrier_handshake_begin_client(&client, &client_is, 1, CO_CARRIER_CONTROL);
    assert_int_equal(client_hears(greeting, proof), -EACCES);
}

// Of another version, or another setting: both ends hear which.
static void cannot_be_talked_to(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        int error;
        const char *why;
    } wrong[] = {{VERSION_AT, 2, -EPROTONOSUPPORT, "it is of another version of castoff"},
                 {VERSION_AT + 1, 1, -EPROTONOSUPPORT, "it is of another version of castoff"},
                 {FLAGS_AT, 8, -EPROTONOSUPPORT, "it is of another version of castoff"},
                 {24, 1, -EPROTONOSUPPORT, "it is of another version of castoff"},
                 {FLAGS_AT, CO_AUTH_CHECK, -EINVAL, "it has another CASTOFF_AUTH"}};
    uint8_t right[HELLO];
    (void)state;
    memcpy(right, hello, HELLO);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hello_again(wrong[i].at, wrong[i].value);
        co_carrier_handshake_begin_server(&server);
        assert_int_equal(server_hears(hello, greeting), wrong[i].error);
        assert_string_equal(why, wrong[i].why);
        assert_int_equal(server.peer, 2);
        assert_int_equal(bytes, GREETING);
        memcpy(hello, right, HELLO);
    }
    client_is.bulk_form = CO_AUTH_CHECK; // the answer to the last one
    assert_int_equal(client_hears(greeting, proof), -EINVAL);
    assert_string_equal(why, "it has another CASTOFF_AUTH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(they_agree, begin),       cmocka_unit_test_setup(aes_where_both_have_it, begin),
        cmocka_unit_test_setup(each_byte_counts, begin), cmocka_unit_test_setup(another_job, begin),
        cmocka_unit_test_setup(words_of_before, begin),  cmocka_unit_test_setup(an_echo, begin),
        cmocka_unit_test_setup(another_proxy, begin),    cmocka_unit_test_setup(cannot_be_talked_to, begin)};
    randombytes_set_implementation(&counting);
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
