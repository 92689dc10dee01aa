// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts whose processors differ: one without AES decides for all, since they check each other's tags; without a key
// nobody needs it. What the processors have is the test's word (wrapped, mk/tests.mk).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine_inside.h"
#include "engine_job.h"

enum { RANKS = 3, BYTES = 5000 };

static const char *expected;
static int without = -1; // the rank that lacks AES
static _Thread_local int rank_here;

int __real_crypto_aead_aes256gcm_is_available(void);
int __wrap_crypto_aead_aes256gcm_is_available(void);

int __wrap_crypto_aead_aes256gcm_is_available(void)
{
    return rank_here == without ? 0 : __real_crypto_aead_aes256gcm_is_available();
}

static void note_rank(struct job_rank *rank)
{
    rank_here = rank->rank;
}

static void talk(struct job_rank *rank)
{
    static const char data[BYTES] = "from the root";
    char buffer[BYTES] = "";
    job_require(rank->open_status == 0, rank->why);
    job_require(strcmp(inside_auth_name(rank->engine), expected) == 0, "another form than expected");
    struct co_team *team = engine_job_world(rank, 31);
    for (int root = 0; root < RANKS; root++) {
        memset(buffer, 0, BYTES);
        if (rank->rank == root) {
            memcpy(buffer, data, BYTES);
        }
        job_require(co_team_bcast(team, root, buffer, BYTES, NULL) == 0, "bcast");
        job_require(memcmp(buffer, data, BYTES) == 0, "wrong bytes in a bcast");
    }
    co_team_close(team);
}

static void run(int rank_without, const char *form)
{
    without = rank_without;
    expected = form;
    engine_job_before_open = note_rank;
    engine_job_run(RANKS, (const int[]){0, 1, 2}, talk);
    engine_job_before_open = NULL;
    without = -1;
}

static void one_without_aes_decides(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        run(rank, "chacha20-poly1305");
    }
}

static void all_with_aes_use_it(void **state)
{
    (void)state;
    if (!__real_crypto_aead_aes256gcm_is_available()) {
        skip();
    }
    run(-1, "aes-256-gcm");
}

static void without_a_key_nobody_needs_it(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_AUTH", "check");
    run(1, "xxh3");
    engine_job_set("CASTOFF_AUTH", "no");
    run(1, "xxh3-head");
    engine_job_set("CASTOFF_AUTH", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_without_aes_decides),
        cmocka_unit_test(all_with_aes_use_it),
        cmocka_unit_test(without_a_key_nobody_needs_it),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
