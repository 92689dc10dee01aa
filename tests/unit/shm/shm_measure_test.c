// SPDX-License-Identifier: BSD-3-Clause
//
// The measurement between processes: something is measured, all ranks hear the same of it, its memory is given back,
// also where pages are large, and settings are worth more than it. The program is linked with --wrap, so that a machine
// of small pages can play one of large ones.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/settings.h"
#include "shm/shm_measure.h"
#include "shm/shm_team.h"
#include "shm_job.h"

#define LARGE_PAGE ((size_t)64 << 10)
#define MEASURED_BYTES ((size_t)256 << 10) // of a player's part of the staging, behind its first page

static bool pages_are_large;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);

long __wrap_sysconf(int name)
{
    return pages_are_large && name == _SC_PAGESIZE ? (long)LARGE_PAGE : __real_sysconf(name);
}

// The kernel's word on large pages.
int __wrap_madvise(void *address, size_t length, int advice)
{
    if (pages_are_large && advice == MADV_REMOVE && (uintptr_t)address % LARGE_PAGE != 0) {
        errno = EINVAL;
        return -1;
    }
    return pages_are_large && advice != MADV_REMOVE ? 0 : __real_madvise(address, length, advice);
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

static bool is_erased(const struct shm_rank *self, int player)
{
    const struct co_shm_node *node = self->node;
    const char *part =
        (const char *)node->segment.base + node->plan.staging_offset + (size_t)player * 2 * CO_SHM_LOAN_BYTES;
    size_t at = CO_SHM_PAGE;
    while (at < CO_SHM_PAGE + MEASURED_BYTES && part[at] == 0) {
        at++;
    }
    return at == CO_SHM_PAGE + MEASURED_BYTES;
}

static int measure(struct shm_rank *self)
{
    char *memory = NULL;
    self->node->config.measure_patience_ns = UINT64_C(600) * CO_NS_PER_S; // a busy machine is no reason to give up
    pages_are_large = self->argument != NULL;
    SHM_CHECK(co_shm_measure_is_possible(self->node));
    SHM_CHECK(shm_job_least(self, co_shm_measure_prepare(self->node, &memory)) == 0);
    SHM_CHECK((memory != NULL) == (self->rank < 2));
    SHM_CHECK(shm_job_least(self, co_shm_measure_run(self->node, memory)) == 0);
    free(memory);
    pages_are_large = false;
    struct co_shm_measured measured = self->node->header->measured;
    SHM_CHECK(measured.rounds > 0);
    SHM_CHECK(is_erased(self, 0) && is_erased(self, 1));
    shm_job_barrier(self);
    SHM_CHECK(all_have(self, (long)measured.certain) && measured.certain <= CO_SHM_PAIRS);
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) { // on a busy machine the usual ones
        SHM_CHECK(all_have(self, (long)measured.from[pattern]));
        SHM_CHECK(is_possible(measured.from[pattern]));
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

static void on_large_pages_too(void **state)
{
    (void)state;
    struct shm_job_options options = {.size = 2, .staging_bytes = 2 << 20, .argument = "large"};
    assert_int_equal(shm_job_run(&options, measure), 0);
}

static int cannot_be_measured(struct shm_rank *self)
{
    SHM_CHECK(!co_shm_measure_is_possible(self->node));
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
    SHM_CHECK(is_used || co_shm_node_stream_most(node) == 0);
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
        cmocka_unit_test(on_large_pages_too),
        cmocka_unit_test(without_staging_nothing_is_measured),
        cmocka_unit_test(settings_are_worth_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
