// SPDX-License-Identifier: BSD-3-Clause
//
// Opening a node: all ranks get the same verdict, no name stays in /dev/shm, a rank that does not fit is refused.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "base/memory/shm_segment.h"
#include "shm/shm_node.h"
#include "shm_job.h"

static int no_name_while_open(struct shm_rank *self)
{
    struct co_shm_segment other;
    char name[CO_SHM_NAME_MAX];

    co_shm_segment_name(name, self->config.job_key, (unsigned)self->config.node_index);
    SHM_CHECK(co_shm_segment_attach(&other, name, 4096) == -ENOENT);
    return 0;
}

static int name_is_taken(struct shm_rank *self)
{
    struct co_shm_segment other;
    char name[CO_SHM_NAME_MAX];

    co_shm_segment_name(name, self->config.job_key, (unsigned)self->config.node_index);
    if (self->rank == 0) {
        SHM_CHECK(co_shm_segment_create(&other, name, 4096, 0) == 0);
    }
    SHM_CHECK(co_shm_node_open(&self->node, &self->config) == -EEXIST);
    SHM_CHECK(self->node == NULL);
    shm_job_barrier(self);
    if (self->rank == 0) {
        co_shm_segment_close(&other); // still there: the failed start did not remove what is not its own
    }
    shm_job_barrier(self);
    SHM_CHECK(co_shm_node_open(&self->node, &self->config) == 0);
    shm_job_barrier(self);
    co_shm_node_close(self->node);
    return 0;
}

static int one_sees_another_size(struct shm_rank *self)
{
    if (self->rank == 1) {
        self->config.size++;
    }
    int result = co_shm_node_open(&self->node, &self->config);
    SHM_CHECK(result == -EPROTO || result == -EINVAL); // the segment differs in kind or in size
    SHM_CHECK(self->node == NULL);
    return 0;
}

// Rank 0 decides how much memory a team gets, since it sees what fits.
static int one_has_other_wishes(struct shm_rank *self)
{
    self->config.team_bytes = self->rank == 0 ? 200000 : 70000;
    SHM_CHECK(co_shm_node_open(&self->node, &self->config) == 0);
    int got = (int)self->node->config.team_bytes;
    SHM_CHECK(got <= 200000 && got > 70000 / 2); // less than asked for only in a small /dev/shm
    SHM_CHECK(shm_job_least(self, got) == got && shm_job_least(self, -got) == -got);
    shm_job_barrier(self);
    co_shm_node_close(self->node);
    return 0;
}

static int open_twice(struct shm_rank *self)
{
    struct co_shm_node *second;
    struct co_shm_team *team;
    struct co_shm_config config = self->config;

    config.node_index++; // a lab keeps several "nodes" on one kernel
    SHM_CHECK(co_shm_node_open(&second, &config) == 0);
    struct co_shm_node *first = self->node;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(shm_job_check_allgather(self, team, 1, 50) == 0);
    co_shm_team_close(team);
    self->node = second;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(shm_job_check_allgather(self, team, 2, 50) == 0);
    co_shm_team_close(team);
    self->node = first;
    shm_job_barrier(self);
    co_shm_node_close(second);
    return 0;
}

static int refuse(struct shm_rank *self)
{
    struct co_shm_config config = self->config;

    config.rank = 1;
    SHM_CHECK(co_shm_node_open(&self->node, &config) == -EINVAL);
    config = self->config;
    config.minimum = NULL;
    SHM_CHECK(co_shm_node_open(&self->node, &config) == -EINVAL);
    return 0;
}

static void run(int size, bool threads, bool closed, shm_rank_function *function)
{
    struct shm_job_options options = {.size = size, .threads = threads, .leave_closed = closed};

    assert_int_equal(shm_job_run(&options, function), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void the_name_goes_at_once(void **state)
{
    (void)state;
    run(1, false, false, no_name_while_open);
    run(3, false, false, no_name_while_open);
}

static void a_failure_is_everybodys(void **state)
{
    (void)state;
    run(3, false, true, name_is_taken);
    run(3, false, true, one_sees_another_size);
    run(3, false, true, one_has_other_wishes);
}

static void nodes_of_one_process_do_not_meet(void **state)
{
    (void)state;
    run(2, false, false, open_twice);
    run(2, true, false, open_twice);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    run(1, true, true, refuse);
}

// A million ranks' native segments alone would take terabytes.
static void a_trial_leaves_nothing(void **state)
{
    const uint64_t key = UINT64_C(0x7f1a100000000000) + (uint64_t)getpid();
    struct co_shm_segment left;
    char name[CO_SHM_NAME_MAX];

    (void)state;
    assert_int_equal(co_shm_node_try(2, key, 65536), 0);
    assert_int_equal(co_shm_node_try(1 << 20, key, 65536), -ENOSPC);
    co_shm_segment_name(name, key, 0);
    assert_int_equal(co_shm_segment_attach(&left, name, 4096), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_goes_at_once),
        cmocka_unit_test(a_failure_is_everybodys),
        cmocka_unit_test(nodes_of_one_process_do_not_meet),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_trial_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
