// SPDX-License-Identifier: BSD-3-Clause
//
// Every collective, every path and every boundary of size through shared memory, in random interleavings compared
// byte by byte. The seed is printed and can be given as the first argument.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm_job.h"

static uint64_t seed = 20240817;

struct plan {
    uint64_t seed;
    int operations;
    size_t bytes_max;
};

// One operation of each kind on `count` members, checked to the last byte and one beyond.
struct bench {
    struct co_shm_team *team;
    int count, self;
    char *mine, *all;
};

static int check_bcast(struct shm_rank *self, struct bench *bench, uint64_t operation, int root, size_t bytes)
{
    struct co_shm_op op;

    bench->all[bytes] = 'x';
    if (bench->self == root) {
        shm_job_fill(bench->all, operation, root, bytes);
    } else {
        memset(bench->all, 0, bytes);
    }
    co_shm_bcast_start(&op, bench->team, root, bench->all, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    SHM_CHECK(shm_job_holds(bench->all, operation, root, bytes));
    SHM_CHECK(bench->all[bytes] == 'x');
    return 0;
}

static int check_all(struct shm_rank *self, struct bench *bench, uint64_t operation, size_t bytes)
{
    for (int member = 0; member < bench->count; member++) {
        SHM_CHECK(shm_job_holds(bench->all + (size_t)member * bytes, operation, member, bytes));
    }
    SHM_CHECK(bench->all[(size_t)bench->count * bytes] == 'x');
    return 0;
}

static int check_allgather(struct shm_rank *self, struct bench *bench, uint64_t operation, size_t bytes, bool in_place)
{
    struct co_shm_op op;
    char *mine = in_place ? bench->all + (size_t)bench->self * bytes : bench->mine;

    memset(bench->all, 0, (size_t)bench->count * bytes);
    bench->all[(size_t)bench->count * bytes] = 'x';
    shm_job_fill(mine, operation, bench->self, bytes);
    co_shm_allgather_start(&op, bench->team, in_place ? NULL : mine, bench->all, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    memset(bench->mine, 0, bytes); // ours again: nobody may still read it
    return check_all(self, bench, operation, bytes);
}

static int check_gather(struct shm_rank *self, struct bench *bench, uint64_t operation, int root, size_t bytes,
                        bool in_place)
{
    struct co_shm_op op;
    bool is_root = bench->self == root;
    char *mine = in_place && is_root ? bench->all + (size_t)root * bytes : bench->mine;

    memset(bench->all, 0, (size_t)bench->count * bytes);
    bench->all[(size_t)bench->count * bytes] = 'x';
    shm_job_fill(mine, operation, bench->self, bytes);
    co_shm_gather_start(&op, bench->team, root, in_place && is_root ? NULL : mine, is_root ? bench->all : NULL, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    memset(bench->mine, 0, bytes);
    return is_root ? check_all(self, bench, operation, bytes) : 0;
}

// Blocks of up to so many bytes, some of none, in another order on each member, a byte between them. The same lengths
// on all members that have the same state.
static int check_allgatherv(struct shm_rank *self, struct bench *bench, uint64_t *state, uint64_t operation,
                            size_t bytes)
{
    struct co_block blocks[SHM_JOB_RANKS_MAX];
    struct co_shm_op op;
    size_t at = 0, longest = (size_t)(shm_job_draw(state) % (uint64_t)bench->count);

    for (int member = 0; member < bench->count; member++) {
        size_t some = shm_job_draw(state) % 3 == 0 ? 0 : (size_t)(shm_job_draw(state) % (bytes + 1));
        blocks[member].bytes = (size_t)member == longest ? bytes : some;
    }
    memset(bench->all, 'x', (bytes + 1) * (size_t)bench->count);
    for (int i = 0; i < bench->count; i++) {
        int member = (i + bench->self) % bench->count;
        blocks[member].buffer = bench->all + at;
        at += blocks[member].bytes + 1;
    }
    shm_job_fill(blocks[bench->self].buffer, operation, bench->self, blocks[bench->self].bytes);
    co_shm_allgatherv_start(&op, bench->team, blocks);
    SHM_CHECK(shm_job_finish(&op) == 1);
    for (int member = 0; member < bench->count; member++) {
        SHM_CHECK(shm_job_holds(blocks[member].buffer, operation, member, blocks[member].bytes));
        SHM_CHECK(((char *)blocks[member].buffer)[blocks[member].bytes] == 'x');
    }
    return 0;
}

static int check_any(struct shm_rank *self, struct bench *bench, uint64_t *state, uint64_t operation, size_t bytes)
{
    int root = (int)(shm_job_draw(state) % (uint64_t)bench->count);
    bool in_place = shm_job_draw(state) & 1;

    switch (shm_job_draw(state) % 4) {
    case 0:
        return check_bcast(self, bench, operation, root, bytes);
    case 1:
        return check_allgather(self, bench, operation, bytes, in_place);
    case 2:
        return check_allgatherv(self, bench, state, operation, bytes);
    default:
        return check_gather(self, bench, operation, root, bytes, in_place);
    }
}

static int open_bench(struct shm_rank *self, struct bench *bench, uint64_t id, size_t bytes_max)
{
    int members[SHM_JOB_RANKS_MAX];

    for (int i = 0; i < self->size; i++) {
        members[i] = (i + 1) % self->size; // team order is not node order
    }
    bench->count = self->size;
    bench->self = (self->rank + self->size - 1) % self->size;
    bench->mine = malloc(bytes_max + 1);
    bench->all = malloc((bytes_max + 1) * (size_t)self->size + 1);
    SHM_CHECK(bench->mine && bench->all);
    SHM_CHECK(shm_job_open_members(self, &bench->team, id, members, bench->count, bench->self) == 0);
    return 0;
}

static void close_bench(struct bench *bench)
{
    co_shm_team_close(bench->team);
    free(bench->mine);
    free(bench->all);
}

static const size_t boundaries[] = {0,     1,     7,     8,     55,    56,     57,     119,   120,   121,
                                    63,    64,    65,    511,   631,   632,    633,    1023,  1024,  1025,
                                    2048,  4095,  4096,  4097,  8191,  8192,   8193,   12288, 16383, 16384,
                                    16385, 40000, 65535, 65536, 65537, 131072, 131073, 300001};

static int run_boundaries(struct shm_rank *self)
{
    const struct plan *plan = self->argument;
    struct bench bench;
    uint64_t operation = 0, state = seed;
    int line = open_bench(self, &bench, 77, plan->bytes_max);

    for (size_t i = 0; line == 0 && i < sizeof boundaries / sizeof boundaries[0]; i++) {
        size_t bytes = boundaries[i];
        for (int root = 0; line == 0 && bytes <= plan->bytes_max && root < bench.count; root++) {
            line = check_bcast(self, &bench, ++operation, root, bytes);
            line = line ? line : check_gather(self, &bench, ++operation, root, bytes, root & 1);
            line = line ? line : check_allgather(self, &bench, ++operation, bytes, root & 1);
            line = line ? line : check_allgatherv(self, &bench, &state, ++operation, bytes);
        }
    }
    close_bench(&bench);
    return line;
}

static int run_random(struct shm_rank *self)
{
    const struct plan *plan = self->argument;
    struct bench bench;
    uint64_t state = plan->seed;
    int line = open_bench(self, &bench, plan->seed, plan->bytes_max);

    for (int i = 1; line == 0 && i <= plan->operations; i++) {
        int bits = 1;
        while ((size_t)2 << bits <= plan->bytes_max) {
            bits++;
        }
        size_t bytes = shm_job_draw(&state) % ((size_t)1 << (1 + shm_job_draw(&state) % (uint64_t)bits));
        line = check_any(self, &bench, &state, (uint64_t)i, bytes);
    }
    close_bench(&bench);
    return line;
}

// Back to back without any check in between, so that ranks run as far ahead as the rings let them.
static int run_ahead(struct shm_rank *self)
{
    enum { OPERATIONS = 2000, BYTES = 40 };
    struct bench bench;
    char *blocks = malloc((size_t)OPERATIONS * BYTES);
    int line = open_bench(self, &bench, 5, BYTES);

    SHM_CHECK(line == 0 && blocks);
    for (int i = 0; i < OPERATIONS; i++) {
        struct co_shm_op op;
        int root = i / 100 % bench.count;
        if (bench.self == root) {
            shm_job_fill(blocks + (size_t)i * BYTES, (uint64_t)i, root, BYTES);
        }
        co_shm_bcast_start(&op, bench.team, root, blocks + (size_t)i * BYTES, BYTES);
        SHM_CHECK(shm_job_finish(&op) == 1);
    }
    for (int i = 0; i < OPERATIONS; i++) {
        SHM_CHECK(shm_job_holds(blocks + (size_t)i * BYTES, (uint64_t)i, i / 100 % bench.count, BYTES));
    }
    free(blocks);
    close_bench(&bench);
    return 0;
}

static void run(int size, bool threads, int single_copy, shm_rank_function *function, const struct plan *plan)
{
    struct shm_job_options options = {
        .size = size, .threads = threads, .single_copy = single_copy, .argument = plan, .single_copy_min = 8192};

    assert_int_equal(shm_job_run(&options, function), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void boundaries_through_the_rings(void **state)
{
    struct plan plan = {.bytes_max = 300001};

    (void)state;
    run(2, false, CO_NO, run_boundaries, &plan);
    plan.bytes_max = 65537;
    run(3, false, CO_NO, run_boundaries, &plan);
    run(4, true, CO_NO, run_boundaries, &plan);
}

static void boundaries_with_single_copy(void **state)
{
    struct plan plan = {.bytes_max = 300001};

    (void)state;
    run(2, false, CO_YES, run_boundaries, &plan);
    run(3, true, CO_YES, run_boundaries, &plan);
    plan.bytes_max = 65537;
    run(4, false, CO_YES, run_boundaries, &plan);
}

static void random_mixture(void **state)
{
    static const int sizes[] = {2, 3, 4, 7};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct plan plan = {.seed = seed + i, .operations = 250, .bytes_max = 40000};
        run(sizes[i], i & 1, CO_NO, run_random, &plan);
        run(sizes[i], !(i & 1), CO_YES, run_random, &plan);
    }
}

static void ranks_run_ahead(void **state)
{
    (void)state;
    run(2, false, CO_YES, run_ahead, NULL);
    run(4, false, CO_YES, run_ahead, NULL);
}

static void many_ranks_in_little_memory(void **state)
{
    struct plan plan = {.seed = seed, .operations = 12, .bytes_max = 30000};

    (void)state;
    run(40, true, CO_NO, run_random, &plan);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries_through_the_rings),
        cmocka_unit_test(boundaries_with_single_copy),
        cmocka_unit_test(random_mixture),
        cmocka_unit_test(ranks_run_ahead),
        cmocka_unit_test(many_ranks_in_little_memory),
    };
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
