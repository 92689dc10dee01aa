// SPDX-License-Identifier: BSD-3-Clause
//
// The measurement between processes: all ranks hear the same, and settings are worth more than it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

// This rank and the next.
static bool all_have(struct shm_rank *self, long value)
{
    atomic_store(shm_job_word(self, self->rank), value);
    shm_job_barrier(self);
    bool is_same = atomic_load(shm_job_word(self, (self->rank + 1) % self->size)) == value;
    shm_job_barrier(self);
    return is_same;
}

static bool is_possible(size_t from)
{
    return from == SIZE_MAX ||
           (from >= co_shm_measured_size(0) && from <= co_shm_measured_size(CO_SHM_MEASURED_SIZES - 1));
}

static int measure(struct shm_rank *self)
{
    struct co_shm_measured measured;
    int error = -1;
    SHM_CHECK(co_shm_measure(self->node, &measured, &error));
    SHM_CHECK(error == 0);
    SHM_CHECK(all_have(self, (long)measured.certain) && measured.certain <= CO_SHM_PAIRS);
    for (int way = 0; way < CO_SHM_WAYS; way++) { // on a busy machine the usual ones
        SHM_CHECK(all_have(self, (long)measured.from[way]));
        SHM_CHECK(is_possible(measured.from[way]));
    }
    // The staging is as good as before.
    struct co_shm_team *team;
    SHM_CHECK(shm_job_open_team(self, &team, 7) == 0);
    for (uint64_t operation = 0; operation < 4; operation++) {
        SHM_CHECK(shm_job_check_bcast(self, team, 2 * operation, 0, 700000) == 0);
        SHM_CHECK(shm_job_check_allgather(self, team, 2 * operation + 1, 300000) == 0);
    }
    co_shm_team_close(team);
    return 0;
}

static void all_ranks_hear_the_same(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        struct shm_job_options options = {.size = size, .staging_bytes = 2 << 20};
        assert_int_equal(shm_job_run(&options, measure), 0);
    }
}

static int cannot_be_measured(struct shm_rank *self)
{
    struct co_shm_measured measured;
    int error = -1;
    SHM_CHECK(!co_shm_measure(self->node, &measured, &error));
    SHM_CHECK(error == 0);
    return 0;
}

static void without_staging_nothing_is_measured(void **state)
{
    (void)state;
    struct shm_job_options options = {.size = 2, .staging_bytes = 512 << 10}; // too little for it
    assert_int_equal(shm_job_run(&options, cannot_be_measured), 0);
}

struct wish {
    bool measures;
    int single_copy;
    size_t least;
};

static int open_with(struct shm_rank *self)
{
    const struct wish *wish = self->argument;
    struct co_shm_config config = self->config;
    struct co_shm_node *node;
    config.measures = wish->measures;
    config.single_copy = wish->single_copy;
    config.single_copy_min = wish->least;
    SHM_CHECK(co_shm_node_open(&node, &config) == 0);
    bool is_used = strstr(node->reason, "measured") != NULL;
    SHM_CHECK(!is_used || wish->measures);
    SHM_CHECK(is_used || co_shm_node_stream_most(node) == SIZE_MAX);
    SHM_CHECK(node->direct_bcast_min >= wish->least && node->direct_allgather_min >= wish->least);
    SHM_CHECK(wish->single_copy != CO_NO || node->direct_bcast_min == SIZE_MAX);
    SHM_CHECK(wish->single_copy != CO_YES || node->direct_bcast_min == wish->least);
    shm_job_barrier(self);
    co_shm_node_close(node);
    return 0;
}

static void settings_are_worth_more(void **state)
{
    (void)state;
    static const struct wish wishes[] = {{true, CO_AUTO, 1024},
                                         {true, CO_AUTO, 1 << 20},
                                         {false, CO_AUTO, 1024},
                                         {false, CO_NO, 1024},
                                         {false, CO_YES, 1024}};
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct shm_job_options options = {
            .size = 2, .leave_closed = true, .staging_bytes = 2 << 20, .argument = &wishes[i]};
        assert_int_equal(shm_job_run(&options, open_with), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_hear_the_same),
        cmocka_unit_test(without_staging_nothing_is_measured),
        cmocka_unit_test(settings_are_worth_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
