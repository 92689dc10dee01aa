// SPDX-License-Identifier: BSD-3-Clause
//
// Large allgather straight between processes: sizes around its pieces, its end (nobody leaves before all have read its
// block), several in a row with small ones between them, and that all members choose this way at the same calls where
// both ways are tried.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

static struct co_shm_team *teams[3];

// One thread moves three members: a member is not done while another one has not read.
static int end_of_all(struct shm_rank *self)
{
    enum { BYTES = 20000 };
    struct co_shm_op ops[3];
    char *mine[3], *all[3];

    self->node->direct_allgather_min = 8192;
    SHM_CHECK(shm_job_open_team(self, &teams[self->rank], 1) == 0);
    shm_job_barrier(self);
    for (int i = 0; i < 3 && self->rank == 0; i++) {
        mine[i] = malloc(BYTES);
        all[i] = calloc(3, BYTES);
        shm_job_fill(mine[i], 8, i, BYTES);
        co_shm_allgather_start(&ops[i], teams[i], mine[i], all[i], BYTES);
        SHM_CHECK(ops[i].step == co_shm_direct_step);
    }
    if (self->rank == 0) {
        for (int turn = 0; turn < 100; turn++) {
            SHM_CHECK(co_shm_op_progress(&ops[0]) == 0);
            SHM_CHECK(co_shm_op_progress(&ops[1]) == 0); // member 2 has not even come
        }
        SHM_CHECK(co_shm_op_progress(&ops[2]) == 0); // comes, reads the first
        for (int turn = 0; turn < 100; turn++) {
            SHM_CHECK(co_shm_op_progress(&ops[0]) == 0);
            SHM_CHECK(co_shm_op_progress(&ops[1]) == 0); // has all, but member 2 still needs its block
        }
        SHM_CHECK(ops[0].read == 2 && ops[1].read == 2 && ops[2].read == 1);
        SHM_CHECK(shm_job_finish(&ops[2]) == 1 && shm_job_finish(&ops[0]) == 1 && shm_job_finish(&ops[1]) == 1);
        for (int i = 0; i < 9; i++) {
            SHM_CHECK(shm_job_holds(all[i / 3] + (size_t)(i % 3) * BYTES, 8, i % 3, BYTES));
        }
    }
    for (int i = 0; i < 3 && self->rank == 0; i++) {
        free(mine[i]);
        free(all[i]);
    }
    shm_job_barrier(self);
    co_shm_team_close(teams[self->rank]);
    return 0;
}

static int around_pieces(struct shm_rank *self)
{
    static const size_t sizes[] = {8192, 1048575, 1048576, 1048577, 2097152, 4194303, 4194305, 8388608};
    struct co_shm_team *team;

    self->node->direct_allgather_min = 8192;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        SHM_CHECK(shm_job_check_allgather(self, team, 2 * i, sizes[i]) == 0);
        SHM_CHECK(shm_job_check_allgather(self, team, 2 * i + 1, i) == 0);
    }
    for (uint64_t i = 0; i < 200; i++) { // more than there are lines
        SHM_CHECK(shm_job_check_allgather(self, team, i, 8192 + i) == 0);
    }
    co_shm_team_close(team);
    return 0;
}

static int choose_alike(struct shm_rank *self)
{
    static const size_t sizes[] = {65536, 70001, 131072, 100, 32767};
    enum { CALLS = 120, LARGEST = 131072 };
    struct co_shm_team *team;
    char *mine = malloc(LARGEST), *all = malloc((size_t)self->size * LARGEST);
    uint64_t shared = 7, own = 11 + (uint64_t)self->rank;
    int straight = 0, by_ring = 0;

    self->node->direct_allgather_min = 131072;
    self->node->tried_allgather_min = CO_SHM_TRIAL_LEAST;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (int i = 0; i < CALLS; i++) {
        size_t bytes = sizes[shm_job_draw(&shared) % (sizeof sizes / sizeof sizes[0])];
        struct co_shm_op op;
        shm_job_fill(mine, (uint64_t)i, self->rank, bytes);
        for (uint64_t late = shm_job_draw(&own) % 3000; late > 0; late--) { // who comes last has the time that counts
            co_cpu_relax();
        }
        co_shm_allgather_start(&op, team, mine, all, bytes);
        bool is_straight = op.step == co_shm_direct_step;
        SHM_CHECK(op.is_tried == (bytes >= CO_SHM_TRIAL_LEAST));
        SHM_CHECK(op.is_tried || !is_straight);
        straight += op.is_tried && is_straight;
        by_ring += op.is_tried && !is_straight;
        SHM_CHECK(shm_job_finish(&op) == 1);
        for (int member = 0; member < self->size; member++) {
            SHM_CHECK(shm_job_holds(all + (size_t)member * bytes, (uint64_t)i, member, bytes));
        }
        if (i % 7 == 0) {
            SHM_CHECK(shm_job_check_bcast(self, team, (uint64_t)i, i % self->size, bytes) == 0);
        }
    }
    SHM_CHECK(straight >= 2 * CO_COPY_TRIAL_TIMES && by_ring >= 2 * CO_COPY_TRIAL_TIMES);
    SHM_CHECK(shm_job_least(self, straight) == straight && -shm_job_least(self, -straight) == straight);
    co_shm_team_close(team);
    free(mine);
    free(all);
    return 0;
}

static void members_choose_alike_where_both_ways_are_tried(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        struct shm_job_options options = {.size = size, .staging_bytes = 1 << 20, .threads = size == 3};
        assert_int_equal(shm_job_run(&options, choose_alike), 0);
    }
}

static void nobody_leaves_before_all_have_read(void **state)
{
    struct shm_job_options options = {.size = 3, .threads = true};

    (void)state;
    assert_int_equal(shm_job_run(&options, end_of_all), 0);
}

static void sizes_around_the_pieces(void **state)
{
    struct shm_job_options options = {.size = 2};

    (void)state;
    assert_int_equal(shm_job_run(&options, around_pieces), 0);
    options.size = 3;
    options.threads = true;
    assert_int_equal(shm_job_run(&options, around_pieces), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_leaves_before_all_have_read),
        cmocka_unit_test(sizes_around_the_pieces),
        cmocka_unit_test(members_choose_alike_where_both_ways_are_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
