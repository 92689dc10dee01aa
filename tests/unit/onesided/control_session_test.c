// SPDX-License-Identifier: BSD-3-Clause
//
// Control connections: two ends that agree; another secret, another version, no peer at all; messages changed,
// repeated, left out; a peer that does not read; bytes one by one.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "key_hunt.h"
#include "base/auth/auth.h"
#include "onesided/control_session.h"

#define HELLO_BYTES 32
#define VERSION_AT 8

static struct co_session *client, *server;
static struct co_coordination_message message;
static char why[200];
static const uint8_t secret[CO_SECRET_BYTES] = {1, 2, 3}, other_secret[CO_SECRET_BYTES] = {1, 2, 4};

static int open_ends(void **state)
{
    (void)state;
    assert_int_equal(co_session_open(&client, true, secret), 0);
    assert_int_equal(co_session_open(&server, false, secret), 0);
    return 0;
}

static int close_ends(void **state)
{
    (void)state;
    co_session_close(client);
    co_session_close(server);
    return 0;
}

static size_t carry(struct co_session *from, struct co_session *to)
{
    const uint8_t *data;
    size_t bytes = co_session_out(from, &data), taken = co_session_feed(to, data, bytes);
    co_session_sent(from, taken);
    return taken;
}

static int next(struct co_session *session)
{
    *why = '\0';
    return co_session_next(session, &message, why, sizeof why);
}

static int say(struct co_session *session, uint16_t kind)
{
    memset(&message, 0, sizeof message);
    message.kind = kind;
    return co_session_send(session, &message);
}

static void say_hello(void)
{
    assert_true(carry(client, server) > 0);
    assert_int_equal(next(server), 0);
    assert_true(carry(server, client) > 0);
    assert_int_equal(next(client), 0);
    assert_true(co_session_is_open(client) && co_session_is_open(server));
    assert_false(co_session_is_trusted(client) || co_session_is_trusted(server));
}

static void they_agree(void **state)
{
    (void)state;
    const uint8_t *data;
    assert_int_equal(say(client, CO_SAY_READY), -ENOTCONN);
    assert_int_equal(co_session_out(server, &data), 0); // it waits for the client's HELLO
    say_hello();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(say(client, CO_SAY_READY), 0);
        assert_int_equal(say(server, CO_SAY_STATUS), 0);
        carry(client, server);
        carry(server, client);
        assert_int_equal(next(server), 1);
        assert_int_equal(message.kind, CO_SAY_READY);
        assert_int_equal(next(client), 1);
        assert_int_equal(message.kind, CO_SAY_STATUS);
        assert_int_equal(next(server), 0);
    }
    assert_true(co_session_is_trusted(client) && co_session_is_trusted(server));
}

static void byte_by_byte(void **state)
{
    (void)state;
    const uint8_t *data;
    say_hello();
    say(client, CO_SAY_CLOSE);
    size_t bytes = co_session_out(client, &data);
    assert_int_equal(bytes, CO_COORDINATION_HEAD_BYTES + CO_COORDINATION_TAG_BYTES);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(next(server), 0);
        assert_int_equal(co_session_feed(server, data + i, 1), 1);
    }
    assert_int_equal(next(server), 1);
    assert_int_equal(message.kind, CO_SAY_CLOSE);
}

static void another_secret(void **state)
{
    (void)state;
    co_session_close(server);
    assert_int_equal(co_session_open(&server, false, other_secret), 0);
    say_hello();
    say(client, CO_SAY_READY);
    say(server, CO_SAY_STATUS);
    carry(client, server);
    carry(server, client);
    assert_int_equal(next(server), -EACCES);
    assert_string_equal(why, "the other end has another secret");
    assert_int_equal(next(client), -EACCES);
    assert_false(co_session_is_trusted(client) || co_session_is_trusted(server));
}

static void take_hello(struct co_session *from, uint8_t hello[HELLO_BYTES])
{
    const uint8_t *data;
    assert_int_equal(co_session_out(from, &data), HELLO_BYTES);
    memcpy(hello, data, HELLO_BYTES);
    co_session_sent(from, HELLO_BYTES);
}

static void another_version(void **state)
{
    (void)state;
    uint8_t hello[HELLO_BYTES];
    const uint8_t *data;
    take_hello(client, hello);
    hello[VERSION_AT] = 9;
    co_session_feed(server, hello, sizeof hello);
    assert_int_equal(next(server), -EPROTONOSUPPORT);
    assert_string_equal(why, "the other end speaks version 9 of the protocol, this one 2");
    assert_int_equal(co_session_out(server, &data), sizeof hello); // so that it can tell its user, too
}

// Of no byte of a HELLO: what decides about the version, or may decide about anything once there is another one, is
// under the key.
static void hello_changed_on_its_way(void **state)
{
    (void)state;
    for (int from_client = 0; from_client < 2; from_client++) {
        for (size_t at = 0; at < HELLO_BYTES; at++) {
            uint8_t hello[HELLO_BYTES];
            close_ends(NULL);
            open_ends(NULL);
            take_hello(client, hello);
            hello[at] ^= from_client ? 4 : 0;
            co_session_feed(server, hello, sizeof hello);
            int heard = next(server);
            if (heard == 0) {
                take_hello(server, hello);
                hello[at] ^= from_client ? 0 : 4;
                co_session_feed(client, hello, sizeof hello);
                heard = next(client);
            }
            if (heard == 0) { // nothing is wrong yet: then no message passes
                say(client, CO_SAY_READY);
                carry(client, server);
                heard = next(server);
            }
            assert_int_equal(heard, at < VERSION_AT ? -EPROTO : at < VERSION_AT + 2 ? -EPROTONOSUPPORT : -EACCES);
        }
    }
}

// As docs/wire-format.md has it, which another program could do, too.
static void key_of_both_hellos(void **state)
{
    (void)state;
    struct {
        char label[16];
        uint8_t client[HELLO_BYTES], server[HELLO_BYTES];
    } from = {.label = "castoff control"};
    uint8_t key[CO_AUTH_KEY_BYTES];
    const uint8_t *data, nonce[CO_AUTH_NONCE_BYTES] = {0};
    struct co_auth *auth;
    take_hello(client, from.client);
    co_session_feed(server, from.client, HELLO_BYTES);
    assert_int_equal(next(server), 0);
    take_hello(server, from.server);
    co_session_feed(client, from.server, HELLO_BYTES);
    assert_int_equal(next(client), 0);
    crypto_generichash(key, sizeof key, (const uint8_t *)&from, sizeof from, secret, sizeof secret);
    assert_int_equal(co_auth_open(&auth, key, 2, CO_AUTH_KEYED), 0);
    co_auth_use_portable(auth);
    say(client, CO_SAY_READY);
    size_t covered = co_session_out(client, &data) - CO_COORDINATION_TAG_BYTES;
    assert_true(co_auth_verify(auth, CO_AUTH_CONTROL, 0, 0, nonce, data, covered));
    co_auth_close(auth);
}

static void no_peer(void **state)
{
    (void)state;
    co_session_feed(server, (const uint8_t *)"GET / HTTP/1.1\r\n", 16);
    assert_int_equal(next(server), -EPROTO);
    const uint8_t *data;
    assert_int_equal(co_session_out(server, &data), 0);
}

static void changed(void **state)
{
    (void)state;
    const uint8_t *data;
    uint8_t copy[64];
    say_hello();
    say(client, CO_SAY_READY);
    size_t bytes = co_session_out(client, &data);
    memcpy(copy, data, bytes);
    copy[4] ^= 1; // its kind
    co_session_feed(server, copy, bytes);
    assert_int_equal(next(server), -EACCES);
}

static void repeated(void **state)
{
    (void)state;
    const uint8_t *data;
    say_hello();
    say(client, CO_SAY_READY);
    size_t bytes = co_session_out(client, &data);
    co_session_feed(server, data, bytes);
    co_session_feed(server, data, bytes);
    assert_int_equal(next(server), 1);
    assert_int_equal(next(server), -EACCES);
    assert_string_equal(why, "a message was changed on its way");
}

static void sent_back(void **state)
{
    (void)state;
    const uint8_t *data;
    say_hello();
    say(client, CO_SAY_READY);
    size_t bytes = co_session_out(client, &data);
    co_session_feed(client, data, bytes);
    assert_int_equal(next(client), -EACCES);
}

static void too_long(void **state)
{
    (void)state;
    static const uint8_t head[8] = {0x61, 0xea, 0, 0, 1}; // 60001 bytes
    say_hello();
    co_session_feed(server, head, sizeof head);
    assert_int_equal(next(server), -EPROTO);
}

static void one_that_does_not_read(void **state)
{
    (void)state;
    static struct co_coordination_message large = {.kind = CO_SAY_STATUS_TEXT, .status = {.bytes = 50000}};
    memset(large.status.text, 'x', 50000);
    say_hello();
    int said = 0;
    while (co_session_send(server, &large) == 0) {
        said++;
        assert_true(said < 100);
    }
    assert_int_equal(co_session_send(server, &large), -ENOBUFS);
    for (int heard = 0; heard < said;) { // and when it reads after all
        carry(server, client);
        int result;
        while ((result = next(client)) == 1) {
            heard++;
        }
        assert_int_equal(result, 0);
    }
    assert_int_equal(co_session_send(server, &large), 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static void secrets(void **state)
{
    (void)state;
    char path[] = "/tmp/castoff-secret.XXXXXX";
    uint8_t first[CO_SECRET_BYTES], second[CO_SECRET_BYTES];
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, "sixteen letters!", 0600);
    assert_int_equal(co_secret_read(first, path, why, sizeof why), 0);
    write_file(path, "sixteen letters?", 0600);
    assert_int_equal(co_secret_read(second, path, why, sizeof why), 0);
    assert_memory_not_equal(first, second, sizeof first);
    write_file(path, "fifteen letters", 0600);
    assert_int_equal(co_secret_read(second, path, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "has 15 bytes; 16 are needed"));
    write_file(path, "sixteen letters!", 0640);
    assert_int_equal(co_secret_read(second, path, why, sizeof why), -EACCES);
    assert_non_null(strstr(why, "chmod 600"));
    unlink(path);
    assert_int_equal(co_secret_read(second, path, why, sizeof why), -ENOENT);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(co_secret_read(second, path, why, sizeof why), -EACCES); // others read it, too
    unlink(path);
    assert_int_equal(co_secret_read(second, "/dev/zero", why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "neither a file nor a pipe"));
}

// Whoever may choose the secret is let in by it.
static void secrets_of_others(void **state)
{
    (void)state;
    char path[] = "/tmp/castoff-secret-XXXXXX";
    uint8_t read[CO_SECRET_BYTES];
    if (geteuid() != 0) {
        skip(); // only root gives files away
    }
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, "sixteen letters!", 0600);
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
    assert_int_equal(co_secret_read(read, path, why, sizeof why), -EACCES);
    assert_non_null(strstr(why, "belongs to user 12345"));
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    assert_int_equal(co_secret_read(read, path, why, sizeof why), 0);
    unlink(path);
}

static void secrets_in_no_core_file(void **state)
{
    (void)state;
    char path[] = "/tmp/castoff-secret.XXXXXX";
    struct key_hunt hunt;
    struct co_session *session;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, "fifteen letters", 0600);
    uint8_t *kept;
    assert_int_equal(co_secret_open(&kept, path, why, sizeof why), -EINVAL);
    assert_null(kept);
    assert_non_null(strstr(why, "has 15 bytes; 16 are needed"));
    write_file(path, "sixteen letters!", 0600);
    assert_int_equal(co_secret_open(&kept, path, why, sizeof why), 0);
    assert_int_equal(co_session_open(&session, true, kept), 0);
    key_hunt_learn(&hunt, kept);
    assert_int_equal(key_hunt_go(&hunt), 0);
    assert_int_equal(hunt.found, 2);
    assert_int_equal(hunt.dumped, 0);
    co_session_close(session);
    co_secret_close(kept);
    assert_int_equal(key_hunt_go(&hunt), 0);
    assert_int_equal(hunt.found, 0);
    unlink(path);
}

int main(void)
{
#define ENDS(name) cmocka_unit_test_setup_teardown(name, open_ends, close_ends)
    const struct CMUnitTest tests[] = {
        ENDS(they_agree),
        ENDS(byte_by_byte),
        ENDS(another_secret),
        ENDS(another_version),
        ENDS(hello_changed_on_its_way),
        ENDS(key_of_both_hellos),
        ENDS(no_peer),
        ENDS(changed),
        ENDS(repeated),
        ENDS(sent_back),
        ENDS(too_long),
        ENDS(one_that_does_not_read),
        cmocka_unit_test(secrets),
        cmocka_unit_test(secrets_of_others),
        cmocka_unit_test(secrets_in_no_core_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
