// SPDX-License-Identifier: BSD-3-Clause
//
// What is made of times by ring and straight, and the measurement itself between processes: all ranks hear the same,
// and settings are worth more than it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

static void it_is_faster_from_where_the_two_cross(void **state)
{
    (void)state;
    static const struct {
        struct co_shm_times times[CO_SHM_MEASURED_SIZES];
        size_t from; // KiB; 0: never
    } cases[] = {
        {{{10, 5}, {40, 20}, {160, 80}}, 16},       // always
        {{{10, 10}, {40, 39}, {160, 80}}, 16},      // as fast at the least
        {{{100, 110}, {330, 300}, {900, 500}}, 40}, // as much slower at 16 KiB as faster at 64
        {{{10, 9}, {400, 404}, {2000, 1000}}, 65},  // hardly slower at 64 KiB, twice as fast at 256
        {{{10, 9}, {100, 200}, {1010, 1000}}, 254}, // the other way round
        {{{10, 5}, {40, 20}, {160, 160}}, 0},       // not at the largest
        {{{0, 0}, {40, 20}, {160, 80}}, 64},        // the least was not measured
        {{{10, 5}, {40, 20}, {0, 0}}, 0},           // nor the largest
        {{{10, 5}, {40, 0}, {160, 80}}, 256},       // nor that between
    };
    assert_int_equal(co_shm_measured_size(0), 16 << 10);
    assert_int_equal(co_shm_measured_size(CO_SHM_MEASURED_SIZES - 1), 256 << 10);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t from = co_shm_straight_from(cases[i].times);
        assert_int_equal(from == SIZE_MAX ? 0 : from >> 10, cases[i].from);
    }
}

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
    size_t from[CO_SHM_WAYS];
    int error = -1;
    bool is_measured = co_shm_measure(self->node, from, &error); // on a busy machine it may not be
    SHM_CHECK(error == 0);
    SHM_CHECK(all_have(self, is_measured));
    for (int way = 0; way < CO_SHM_WAYS; way++) {
        SHM_CHECK(all_have(self, (long)from[way]));
        SHM_CHECK(is_measured ? is_possible(from[way]) : from[way] == 0);
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
    size_t from[CO_SHM_WAYS] = {0};
    int error = -1;
    SHM_CHECK(!co_shm_measure(self->node, from, &error));
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
        cmocka_unit_test(it_is_faster_from_where_the_two_cross),
        cmocka_unit_test(all_ranks_hear_the_same),
        cmocka_unit_test(without_staging_nothing_is_measured),
        cmocka_unit_test(settings_are_worth_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
