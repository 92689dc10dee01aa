// SPDX-License-Identifier: BSD-3-Clause
//
// Tags of datagrams: what is sealed verifies, and no single change of bytes, nonce, rank, team, domain or key does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auth/auth.h"

#define RANKS 5
#define TEAM UINT64_C(0x1122334455667788)

enum form { KEYED, PORTABLE, CHECK, HEAD };

static const uint8_t nonce[CO_AUTH_NONCE_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static struct co_auth *open_form(enum form form, uint8_t key_seed)
{
    uint8_t key[CO_AUTH_KEY_BYTES];
    struct co_auth *auth = NULL;

    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)(key_seed + i * 7);
    }
    assert_int_equal(co_auth_open(&auth, key, RANKS,
                                  form == HEAD    ? CO_AUTH_HEAD
                                  : form == CHECK ? CO_AUTH_CHECK
                                                  : CO_AUTH_KEYED),
                     0);
    if (form == PORTABLE) {
        co_auth_use_portable(auth);
    }
    return auth;
}

static void fill(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(i * 31 + 5);
    }
}

// Seals `head_bytes` + `payload_bytes` of a pattern from separate memory; returns head, payload and tag together.
static uint8_t *sealed(struct co_auth *auth, size_t head_bytes, size_t payload_bytes)
{
    size_t bytes = head_bytes + payload_bytes, room = bytes + co_auth_tag_bytes(auth);
    uint8_t *data = malloc(room), *head = malloc(head_bytes + 1), *payload = malloc(payload_bytes + 1);

    assert_non_null(data);
    assert_non_null(head);
    assert_non_null(payload);
    fill(data, bytes);
    memcpy(head, data, head_bytes);
    memcpy(payload, data + head_bytes, payload_bytes);
    co_auth_seal(auth, CO_AUTH_CHUNK, 3, TEAM, nonce, head, head_bytes, payload, payload_bytes, data + bytes);
    free(head);
    free(payload);
    return data;
}

static bool verifies(struct co_auth *auth, const uint8_t *data, size_t bytes)
{
    return co_auth_verify(auth, CO_AUTH_CHUNK, 3, TEAM, nonce, data, bytes);
}

static void sealed_verifies_at_every_split(void **state)
{
    static const size_t sizes[][2] = {{0, 0}, {1, 0}, {0, 1}, {40, 0}, {40, 1}, {40, 1400}, {16, 8932}, {40, 65400}};
    enum form form = *(enum form *)*state;
    struct co_auth *auth = open_form(form, 1), *other = open_form(form, 1);

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = sizes[i][0] + sizes[i][1];
        uint8_t *data = sealed(auth, sizes[i][0], sizes[i][1]);
        assert_true(verifies(auth, data, bytes));
        assert_true(verifies(other, data, bytes)); // another process of the job
        free(data);
    }
    co_auth_close(auth);
    co_auth_close(other);
}

static void adjacent_pieces_give_the_same_tag(void **state)
{
    struct co_auth *auth = open_form(*(enum form *)*state, 1);
    uint8_t *data = sealed(auth, 40, 1000), tag[CO_AUTH_TAG_MAX] = {0};

    co_auth_seal(auth, CO_AUTH_CHUNK, 3, TEAM, nonce, data, 40, data + 40, 1000, tag);
    assert_memory_equal(tag, data + 1040, co_auth_tag_bytes(auth));
    co_auth_seal(auth, CO_AUTH_CHUNK, 3, TEAM, nonce, data, 1040, NULL, 0, tag);
    assert_memory_equal(tag, data + 1040, co_auth_tag_bytes(auth));
    free(data);
    co_auth_close(auth);
}

static void every_flipped_bit_is_found(void **state)
{
    struct co_auth *auth = open_form(*(enum form *)*state, 1);
    size_t bytes = 40 + 77, all = bytes + co_auth_tag_bytes(auth);
    uint8_t *data = sealed(auth, 40, 77);

    for (size_t bit = 0; bit < all * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_false(verifies(auth, data, bytes));
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    assert_true(verifies(auth, data, bytes));
    free(data);
    co_auth_close(auth);
}

// No more than the head is looked at: the payload may be anywhere.
static void a_head_alone_is_covered(void **state)
{
    (void)state;
    struct co_auth *auth = open_form(HEAD, 1), *check = open_form(CHECK, 1);
    size_t bytes = CO_AUTH_HEAD_BYTES + 77, all = bytes + co_auth_tag_bytes(auth);
    uint8_t *data = sealed(auth, CO_AUTH_HEAD_BYTES, 77), tag[CO_AUTH_TAG_MAX];

    assert_false(co_auth_covers_payload(auth));
    assert_true(co_auth_covers_payload(check));
    for (size_t bit = 0; bit < all * 8; bit++) {
        bool is_payload = bit / 8 >= CO_AUTH_HEAD_BYTES && bit / 8 < bytes;
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_equal(verifies(auth, data, bytes), is_payload);
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    co_auth_seal(auth, CO_AUTH_CHUNK, 3, TEAM, nonce, data, CO_AUTH_HEAD_BYTES, NULL, 77, tag);
    assert_memory_equal(tag, data + bytes, co_auth_tag_bytes(auth));
    free(data);
    co_auth_close(auth);
    co_auth_close(check);
}

// What a control message says stands in its body.
static void control_is_covered_whole(void **state)
{
    (void)state;
    struct co_auth *auth = open_form(HEAD, 1);
    uint8_t data[100 + CO_AUTH_TAG_MAX];

    fill(data, 100);
    co_auth_seal(auth, CO_AUTH_CONTROL, 3, TEAM, nonce, data, 100, NULL, 0, data + 100);
    assert_true(co_auth_verify(auth, CO_AUTH_CONTROL, 3, TEAM, nonce, data, 100));
    data[99] ^= 1;
    assert_false(co_auth_verify(auth, CO_AUTH_CONTROL, 3, TEAM, nonce, data, 100));
    co_auth_close(auth);
}

static void truncation_is_found(void **state)
{
    struct co_auth *auth = open_form(*(enum form *)*state, 1);
    uint8_t *data = sealed(auth, 40, 200);

    for (size_t bytes = 0; bytes < 240; bytes++) {
        assert_false(verifies(auth, data, bytes));
    }
    free(data);
    co_auth_close(auth);
}

static void identity_is_covered(void **state)
{
    enum form form = *(enum form *)*state;
    struct co_auth *auth = open_form(form, 1), *stranger = open_form(form, 2);
    uint8_t *data = sealed(auth, 40, 60), other_nonce[CO_AUTH_NONCE_BYTES];

    memcpy(other_nonce, nonce, sizeof nonce);
    other_nonce[11] ^= 1;
    assert_true(verifies(auth, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CONTROL, 3, TEAM, nonce, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, 2, TEAM, nonce, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, 3, TEAM + (UINT64_C(1) << 32), nonce, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, 3, TEAM, other_nonce, data, 100));
    assert_false(verifies(stranger, data, 100));
    free(data);
    co_auth_close(auth);
    co_auth_close(stranger);
}

static void foreign_ranks_never_verify(void **state)
{
    struct co_auth *auth = open_form(*(enum form *)*state, 1);
    uint8_t *data = sealed(auth, 40, 60);

    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, -1, TEAM, nonce, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, RANKS, TEAM, nonce, data, 100));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, INT32_MAX, TEAM, nonce, data, 100));
    free(data);
    co_auth_close(auth);
}

// More teams than keys are kept for: they push each other out and still give the right tags.
static void many_teams_take_turns(void **state)
{
    enum { TEAMS = 40 };
    struct co_auth *auth = open_form(*(enum form *)*state, 1);
    uint8_t head[24], tags[TEAMS][CO_AUTH_TAG_MAX], again[CO_AUTH_TAG_MAX];
    size_t tag_bytes = co_auth_tag_bytes(auth);

    fill(head, sizeof head);
    for (uint64_t team = 0; team < TEAMS; team++) {
        co_auth_seal(auth, CO_AUTH_CONTROL, 0, team, nonce, head, sizeof head, NULL, 0, tags[team]);
        for (uint64_t earlier = 0; earlier < team; earlier++) {
            assert_memory_not_equal(tags[team], tags[earlier], tag_bytes);
        }
    }
    for (uint64_t team = 0; team < TEAMS; team++) {
        co_auth_seal(auth, CO_AUTH_CONTROL, 0, team, nonce, head, sizeof head, NULL, 0, again);
        assert_memory_equal(again, tags[team], tag_bytes);
    }
    co_auth_close(auth);
}

static void forms_have_names_and_sizes(void **state)
{
    (void)state;
    struct co_auth *keyed = open_form(KEYED, 1), *portable = open_form(PORTABLE, 1), *check = open_form(CHECK, 1);

    assert_int_equal(co_auth_tag_bytes(keyed), 16);
    assert_int_equal(co_auth_tag_bytes(portable), 16);
    assert_int_equal(co_auth_tag_bytes(check), 8);
    assert_string_equal(co_auth_name(portable), "chacha20-poly1305");
    assert_string_equal(co_auth_name(check), "xxh3");
    assert_true(strcmp(co_auth_name(keyed), "aes-256-gcm") == 0 ||
                strcmp(co_auth_name(keyed), "chacha20-poly1305") == 0);
    assert_int_equal(co_auth_is_portable(keyed), strcmp(co_auth_name(keyed), "aes-256-gcm") != 0);
    assert_true(co_auth_is_portable(portable));
    assert_false(co_auth_is_portable(check));
    co_auth_close(keyed);
    co_auth_close(portable);
    co_auth_close(check);
}

// The check is part of the wire format: its value must not drift with compilers or library versions.
static void check_has_a_fixed_value(void **state)
{
    (void)state;
    static const uint8_t golden[8] = {0x66, 0x97, 0x47, 0x63, 0x04, 0xf2, 0x79, 0xf3};
    struct co_auth *auth = open_form(CHECK, 1);
    uint8_t *data = sealed(auth, 40, 1000);

    assert_memory_equal(data + 1040, golden, sizeof golden);
    free(data);
    co_auth_close(auth);
}

static void random_keys_differ(void **state)
{
    (void)state;
    uint8_t one[CO_AUTH_KEY_BYTES] = {0}, two[CO_AUTH_KEY_BYTES] = {0};

    assert_int_equal(co_auth_random_key(one), 0);
    assert_int_equal(co_auth_random_key(two), 0);
    assert_memory_not_equal(one, two, sizeof one);
}

#define IN_ALL_FORMS(test)                                                                                             \
    {#test " keyed", test, NULL, NULL, &forms[0]}, {#test " portable", test, NULL, NULL, &forms[1]},                   \
    {                                                                                                                  \
#test " check", test, NULL, NULL, &forms[2]                                                                    \
    }

// A tag that a job of more ranks would make: nobody here may be asked for its key.
// The same for all who have the key, whatever the form of tags, for nobody else, and no part of the key.
static void words_are_of_the_key(void **state)
{
    (void)state;
    uint8_t key[CO_AUTH_KEY_BYTES] = {1, 2, 3}, other[CO_AUTH_KEY_BYTES] = {1, 2, 3, [31] = 1};
    struct co_auth *auths[3], *copy, *stranger;
    for (int form = 0; form < 3; form++) {
        assert_int_equal(co_auth_open(&auths[form], key, RANKS, (enum co_auth_form)form), 0);
    }
    assert_int_equal(co_auth_copy(&copy, auths[0]), 0);
    co_auth_use_portable(copy);
    assert_int_equal(co_auth_open(&stranger, other, RANKS, CO_AUTH_KEYED), 0);
    uint64_t word = co_auth_word(auths[0]);
    for (size_t i = 0; i + sizeof word <= sizeof key; i++) {
        assert_memory_not_equal(&word, key + i, sizeof word);
    }
    assert_true(word == co_auth_word(copy) && word != co_auth_word(stranger));
    for (int form = 1; form < 3; form++) {
        assert_true(word == co_auth_word(auths[form]));
        co_auth_close(auths[form]);
    }
    co_auth_close(auths[0]);
    co_auth_close(copy);
    co_auth_close(stranger);
}

static void ranks_beyond_the_last_have_no_key(void **state)
{
    uint8_t key[CO_AUTH_KEY_BYTES] = {9}, data[40 + CO_AUTH_TAG_MAX];
    struct co_auth *more, *auth;
    enum co_auth_form form = *(enum form *)*state == CHECK ? CO_AUTH_CHECK : CO_AUTH_KEYED;

    assert_int_equal(co_auth_open(&more, key, RANKS + 1, form), 0);
    assert_int_equal(co_auth_open(&auth, key, RANKS, form), 0);
    fill(data, 40);
    co_auth_seal(more, CO_AUTH_CHUNK, RANKS, TEAM, nonce, data, 40, NULL, 0, data + 40);
    assert_true(co_auth_verify(more, CO_AUTH_CHUNK, RANKS, TEAM, nonce, data, 40));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, RANKS, TEAM, nonce, data, 40));
    assert_false(co_auth_verify(auth, CO_AUTH_CHUNK, -1, TEAM, nonce, data, 40));
    co_auth_close(more);
    co_auth_close(auth);
}

static void aes_given_up_after_use(void **state)
{
    (void)state;
    struct co_auth *late = open_form(KEYED, 1), *portable = open_form(PORTABLE, 1);
    uint8_t *by_aes = sealed(late, 40, 0), *data;

    co_auth_use_portable(late);
    data = sealed(late, 40, 0);
    assert_true(verifies(portable, data, 40));
    free(by_aes);
    free(data);
    co_auth_close(late);
    co_auth_close(portable);
}

int main(void)
{
    static enum form forms[] = {KEYED, PORTABLE, CHECK};
    const struct CMUnitTest tests[] = {
        IN_ALL_FORMS(sealed_verifies_at_every_split),
        IN_ALL_FORMS(adjacent_pieces_give_the_same_tag),
        IN_ALL_FORMS(every_flipped_bit_is_found),
        IN_ALL_FORMS(truncation_is_found),
        IN_ALL_FORMS(identity_is_covered),
        IN_ALL_FORMS(foreign_ranks_never_verify),
        IN_ALL_FORMS(ranks_beyond_the_last_have_no_key),
        IN_ALL_FORMS(many_teams_take_turns),
        cmocka_unit_test(words_are_of_the_key),
        cmocka_unit_test(aes_given_up_after_use),
        cmocka_unit_test(a_head_alone_is_covered),
        cmocka_unit_test(control_is_covered_whole),
        cmocka_unit_test(forms_have_names_and_sizes),
        cmocka_unit_test(check_has_a_fixed_value),
        cmocka_unit_test(random_keys_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
