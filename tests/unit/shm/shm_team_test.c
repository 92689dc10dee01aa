// SPDX-License-Identifier: BSD-3-Clause
//
// A team's edges: alone, no bytes, nonsense refused, nothing moves before the others come, credit that runs out, the
// line for the watchdog, and bytes and memory in the counters.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

static int alone(struct shm_rank *self)
{
    struct co_shm_team *team;
    struct co_shm_op op;
    char mine[5] = "abcd", all[5] = "";
    int members[1] = {self->rank};

    SHM_CHECK(shm_job_open_members(self, &team, 1, members, 1, 0) == 0);
    co_shm_bcast_start(&op, team, 0, mine, 5);
    SHM_CHECK(co_shm_op_progress(&op) == 1 && strcmp(mine, "abcd") == 0);
    co_shm_allgather_start(&op, team, mine, all, 5);
    SHM_CHECK(co_shm_op_progress(&op) == 1 && strcmp(all, "abcd") == 0);
    co_shm_allgather_start(&op, team, NULL, all, 5);
    SHM_CHECK(co_shm_op_progress(&op) == 1 && strcmp(all, "abcd") == 0);
    memset(all, 0, sizeof all);
    co_shm_gather_start(&op, team, 0, mine, all, 5);
    SHM_CHECK(co_shm_op_progress(&op) == 1 && strcmp(all, "abcd") == 0);
    co_shm_team_close(team);
    return 0;
}

static int no_bytes(struct shm_rank *self)
{
    struct co_shm_team *team;
    struct co_shm_op op;

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    if (self->rank == 0) { // needs nobody
        co_shm_bcast_start(&op, team, 1, NULL, 0);
        SHM_CHECK(co_shm_op_progress(&op) == 1);
        co_shm_allgather_start(&op, team, NULL, NULL, 0);
        SHM_CHECK(co_shm_op_progress(&op) == 1);
        co_shm_gather_start(&op, team, 1, NULL, NULL, 0);
        SHM_CHECK(co_shm_op_progress(&op) == 1);
    }
    co_shm_team_close(team);
    return 0;
}

static int refuse(struct shm_rank *self)
{
    struct co_shm_team *team = NULL;
    int members[2] = {self->rank, 0};

    SHM_CHECK(shm_job_open_members(self, &team, 1, members, 0, 0) == -EINVAL);
    SHM_CHECK(shm_job_open_members(self, &team, 1, members, 2, 0) == -EINVAL); // more than the node has
    SHM_CHECK(shm_job_open_members(self, &team, 1, members, 1, 1) == -EINVAL);
    SHM_CHECK(team == NULL);
    co_shm_team_close(NULL);
    return 0;
}

static struct co_shm_team *teams[2];

// One thread moves both members.
static int credit(struct shm_rank *self)
{
    struct co_shm_op ops[200], late;
    char given[200], taken, line[200];
    int ahead = 0;

    SHM_CHECK(shm_job_open_team(self, &teams[self->rank], 1) == 0);
    shm_job_barrier(self);
    if (self->rank == 0) {
        for (; ahead < 200; ahead++) {
            given[ahead] = (char)ahead;
            co_shm_bcast_start(&ops[ahead], teams[0], 0, &given[ahead], 1);
            if (co_shm_op_progress(&ops[ahead]) == 0) {
                break;
            }
        }
        SHM_CHECK(ahead == (int)teams[0]->shape.ring[CO_SHM_LINES].mask + 1); // all slots, then it waits
        co_shm_op_describe(&ops[ahead], line, sizeof line);
        SHM_CHECK(strstr(line, "bcast of 1 bytes") && strstr(line, "root 0"));
        for (int i = 0; i <= ahead; i++) {
            co_shm_bcast_start(&late, teams[1], 0, &taken, 1);
            SHM_CHECK((co_shm_op_progress(&late) == 1) == (i < ahead));
            SHM_CHECK(i == ahead || taken == (char)i);
        }
        SHM_CHECK(co_shm_op_progress(&ops[ahead]) == 1);
        SHM_CHECK(co_shm_op_progress(&late) == 1 && taken == (char)ahead);
    }
    shm_job_barrier(self);
    co_shm_team_close(teams[self->rank]);
    return 0;
}

static int counted(struct shm_rank *self)
{
    uint64_t rings = co_counter_read(CO_COUNT_SHM_BYTES), single = co_counter_read(CO_COUNT_SINGLE_COPY_BYTES);
    struct co_shm_team *team;

    self->node->direct_bcast_min = 1 << 20;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (uint64_t i = 0; i < 10; i++) {
        SHM_CHECK(shm_job_check_bcast(self, team, i, 0, 1000) == 0);
        SHM_CHECK(shm_job_check_bcast(self, team, i, 1, 10) == 0);
    }
    SHM_CHECK(shm_job_check_bcast(self, team, 1, 1, 2 << 20) == 0);
    co_shm_team_close(team);
    SHM_CHECK(co_counter_read(CO_COUNT_SHM_BYTES) - rings == 10100);
    SHM_CHECK(co_counter_read(CO_COUNT_SINGLE_COPY_BYTES) - single == 2 << 20);
    return 0;
}

// What the members together have touched, page by page: lines for all, the other rings for who writes them. A page on
// which two of these meet counts twice, but all of them are not more than the area; and there is the entry.
static int pages_touched(struct shm_rank *self)
{
    static const struct {
        int root;
        size_t bytes;
        uint64_t pages;
    } steps[] = {{0, 1, 6}, {1, 1, 6}, {0, 600, 9}, {0, 600, 9}, {1, 5000, 12}, {1, 600, 14}, {0, 5000, 14}};
    struct co_shm_team *team;

    co_store_relaxed(&co_counter_values[CO_COUNT_COMMUNICATOR_SHARED_HIGH], 0); // relaxed: a barrier follows
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(team->shape.area_bytes == 14 * CO_SHM_PAGE);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        shm_job_barrier(self);
        SHM_CHECK(shm_job_check_bcast(self, team, i, steps[i].root, steps[i].bytes) == 0);
        shm_job_barrier(self);
        SHM_CHECK(co_counter_read(CO_COUNT_COMMUNICATOR_SHARED_HIGH) ==
                  steps[i].pages * CO_SHM_PAGE + sizeof(struct co_shm_entry));
    }
    co_shm_team_close(team);
    shm_job_barrier(self);
    SHM_CHECK(shm_job_open_team(self, &team, 2) == 0);
    SHM_CHECK(shm_job_check_bcast(self, team, 1, 0, 5000) == 0);
    SHM_CHECK(co_counter_read(CO_COUNT_COMMUNICATOR_SHARED_HIGH) ==
              14 * CO_SHM_PAGE + sizeof(struct co_shm_entry)); // counted anew, and less
    co_shm_team_close(team);
    return 0;
}

static void run(int size, bool threads, shm_rank_function *function)
{
    struct shm_job_options options = {.size = size, .threads = threads};

    assert_int_equal(shm_job_run(&options, function), 0);
}

static void a_team_of_one(void **state)
{
    (void)state;
    run(1, true, alone);
    run(2, false, alone);
}

static void no_bytes_need_nobody(void **state)
{
    (void)state;
    run(2, false, no_bytes);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    run(1, true, refuse);
}

static void a_writer_waits_when_all_slots_are_full(void **state)
{
    (void)state;
    run(2, true, credit);
}

static void bytes_are_counted(void **state)
{
    (void)state;
    run(2, false, counted);
}

static void memory_is_counted(void **state)
{
    struct shm_job_options options = {.size = 2, .threads = true, .single_copy = CO_NO, .team_bytes = 65536};

    (void)state;
    assert_int_equal(shm_job_run(&options, pages_touched), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_team_of_one),       cmocka_unit_test(no_bytes_need_nobody),
        cmocka_unit_test(nonsense_is_refused), cmocka_unit_test(a_writer_waits_when_all_slots_are_full),
        cmocka_unit_test(bytes_are_counted),   cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
