// SPDX-License-Identifier: BSD-3-Clause
//
// The first words of ranks that open a world: all judge alike, whoever cannot take part and whatever version it is of;
// and a rank without memory, at each place where it wants some, is an error of all instead of one that they wait for.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offload/api/offload_ready.h"
#include "offload_ranks.h"

enum { SIZE = 3, MANY = 1000 };

static const struct co_offload_ready good = {.version = 1, .fact_bytes = 700, .verdict_bytes = 400};

// The others say the same as this rank, but for one, in one byte.
static struct {
    int rank, at;
    uint8_t change;
} other;

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    const struct castoff_offload_job *job = arg;
    for (int i = 0; i < job->size; i++) {
        memcpy((uint8_t *)all + (size_t)i * bytes, mine, bytes);
    }
    ((uint8_t *)all)[(size_t)other.rank * bytes + (size_t)other.at] ^= other.change;
    return 0;
}

static int tell(int size)
{
    struct castoff_offload_job job = {.rank = 0, .size = size, .allgather = gather};
    job.arg = &job;
    return co_offload_ready_tell(&job, &good);
}

static void who_is_alike_takes_part(void **state)
{
    (void)state;
    other.change = 0;
    assert_int_equal(tell(1), 0);
    assert_int_equal(tell(SIZE), 0);
    assert_int_equal(tell(MANY), 0);
}

static void another_version_is_found(void **state)
{
    (void)state;
    static const int places[] = {0, 8, 16, 20}; // magic, version, both lengths
    other.change = 1;
    for (other.rank = 1; other.rank < SIZE; other.rank++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            other.at = places[i];
            assert_int_equal(tell(SIZE), -EPROTO);
            assert_non_null(strstr(castoff_offload_why(), "version"));
        }
    }
}

static void who_cannot_is_an_error_of_all(void **state)
{
    (void)state;
    other.at = 12;
    other.change = ENOMEM;
    for (other.rank = 0; other.rank < SIZE; other.rank++) {
        assert_int_equal(tell(SIZE), -ENOMEM);
    }
}

static int allocations_left = -1; // of this process; then one fails. Negative: none does

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : __real_calloc(count, bytes);
}

static int failing; // rank 1's allocation of that number

static void opens_without_memory(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    allocations_left = ranks_own == 1 ? failing : -1;
    MUST(castoff_offload_open(&world, &job) == -ENOMEM);
}

// Facts, verdicts, ranks, the world and its hosts.
static void a_rank_without_memory_is_an_error_of_all(void **state)
{
    (void)state;
    for (failing = 0; failing < 5; failing++) {
        ranks_run(3, opens_without_memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_alike_takes_part),
        cmocka_unit_test(another_version_is_found),
        cmocka_unit_test(who_cannot_is_an_error_of_all),
        cmocka_unit_test(a_rank_without_memory_is_an_error_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
