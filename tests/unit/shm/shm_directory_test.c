// SPDX-License-Identifier: BSD-3-Clause
//
// The directory of teams: ten thousand in a row, hundreds alive, members that come when others have left, and that
// could not come at all, two teams with one id, a full directory, and areas that come back empty.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

static int ten_thousand(struct shm_rank *self)
{
    for (uint64_t id = 1; id <= 10000; id++) {
        struct co_shm_team *team;
        SHM_CHECK(shm_job_open_team(self, &team, id) == 0);
        if (id % 50 == 0) {
            int line = shm_job_check_allgather(self, team, id, 1 + id % 3000);
            SHM_CHECK(line == 0);
        }
        co_shm_team_close(team);
    }
    shm_job_barrier(self);
    for (uint32_t index = 0; index < self->node->plan.entries; index++) {
        SHM_CHECK(self->node->entries[index].key == 0);
    }
    return 0;
}

static int hundreds_alive(struct shm_rank *self)
{
    enum { TEAMS = 400 };
    static _Thread_local struct co_shm_team *teams[TEAMS];

    for (int i = 0; i < TEAMS; i++) {
        SHM_CHECK(shm_job_open_team(self, &teams[i], (uint64_t)i << 32) == 0);
    }
    for (int i = 0; i < TEAMS; i++) {
        SHM_CHECK(shm_job_check_bcast(self, teams[i], (uint64_t)i, i % self->size, (size_t)i) == 0);
    }
    for (int i = TEAMS; i-- > 0;) {
        SHM_CHECK(shm_job_check_allgather(self, teams[i], (uint64_t)i, 40) == 0);
        co_shm_team_close(teams[i]);
    }
    return 0;
}

// One member may have come and gone before the other comes.
static int come_and_go(struct shm_rank *self)
{
    struct co_shm_team *team;

    for (int first = 0; first < self->size; first++) {
        for (int turn = 0; turn < self->size; turn++) {
            if ((first + turn) % self->size == self->rank) {
                SHM_CHECK(shm_job_open_team(self, &team, 9) == 0);
                co_shm_team_close(team);
            }
            shm_job_barrier(self);
        }
    }
    SHM_CHECK(shm_job_open_team(self, &team, 9) == 0);
    SHM_CHECK(shm_job_check_bcast(self, team, 1, 1, 5000) == 0);
    co_shm_team_close(team);
    return 0;
}

static int check_half(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, size_t bytes)
{
    char mine[3000], all[6000];
    struct co_shm_op op;

    shm_job_fill(mine, operation, self->rank, bytes);
    co_shm_allgather_start(&op, team, mine, all, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    SHM_CHECK(shm_job_holds(all, operation, self->rank & ~1, bytes));
    SHM_CHECK(shm_job_holds(all + bytes, operation, self->rank | 1, bytes));
    return 0;
}

static int two_halves(struct shm_rank *self)
{
    int members[2] = {self->rank & ~1, self->rank | 1};
    struct co_shm_team *half, *whole;

    SHM_CHECK(shm_job_open_members(self, &half, 5, members, 2, self->rank & 1) == 0);
    SHM_CHECK(shm_job_open_team(self, &whole, 6) == 0);
    for (uint64_t i = 0; i < 300; i++) {
        SHM_CHECK(check_half(self, half, i, 1 + i * 7 % 2900) == 0);
        SHM_CHECK(i % 5 || shm_job_check_bcast(self, whole, i, (int)(i % 4), i * 30) == 0);
    }
    co_shm_team_close(half);
    co_shm_team_close(whole);
    return 0;
}

struct chains {
    uint32_t longest, entries;
};

static struct chains look_at_chains(const struct co_shm_node *node)
{
    struct chains found = {0, 0};
    for (uint32_t chain = 0; chain < node->plan.entries; chain++) {
        uint32_t length = 0;
        for (uint16_t at = node->entries[chain].first; at != 0 && length <= node->plan.entries; length++) {
            at = node->entries[at - 1].next;
        }
        found.entries += length;
        found.longest = length > found.longest ? length : found.longest;
    }
    return found;
}

// Nobody who opens or closes a team looks at more entries than stand in one chain, not even when all have been in use.
static int fill_up(struct shm_rank *self)
{
    static _Thread_local struct co_shm_team *teams[CO_SHM_ENTRIES_MAX];
    uint32_t room = self->node->plan.entries, opened = 0;
    struct co_shm_team *more;

    SHM_CHECK(room <= CO_SHM_ENTRIES_MAX);
    for (; opened < room; opened++) {
        SHM_CHECK(shm_job_open_team(self, &teams[opened], opened) == 0);
    }
    shm_job_barrier(self);
    struct chains full = look_at_chains(self->node);
    SHM_CHECK(full.entries == room && full.longest < 12);
    SHM_CHECK(shm_job_open_team(self, &more, room) == -ENOSPC);
    SHM_CHECK(shm_job_check_bcast(self, teams[room - 1], 1, 0, 100) == 0);
    shm_job_barrier(self);
    co_shm_team_close(teams[7]);
    shm_job_barrier(self);
    SHM_CHECK(shm_job_open_team(self, &more, room) == 0);
    SHM_CHECK(shm_job_check_bcast(self, more, 2, 1, 100) == 0);
    co_shm_team_close(more);
    for (uint32_t i = 0; i < room; i++) {
        if (i != 7) {
            co_shm_team_close(teams[i]);
        }
    }
    shm_job_barrier(self);
    SHM_CHECK(look_at_chains(self->node).entries == 0);
    return 0;
}

static int disagree(struct shm_rank *self)
{
    int members[3] = {0, 1, 2};
    struct co_shm_team *team = NULL;

    if (self->rank == 0) {
        SHM_CHECK(shm_job_open_members(self, &team, 1, members, 3, 0) == 0);
    }
    shm_job_barrier(self);
    if (self->rank == 1) {
        SHM_CHECK(shm_job_open_members(self, &team, 1, members, 2, 1) == -EINVAL);
        SHM_CHECK(team == NULL);
    }
    if (self->rank == 2) {
        SHM_CHECK(shm_job_open_members(self, &team, 1, members, 3, 1) == -EINVAL); // not our place
    }
    return 0;
}

// Rank 2 could take no seat in each second team, before or after the others have left theirs: as often as there is room
// for teams. Where nobody could, nothing is there to be left.
static int could_not_come(struct shm_rank *self)
{
    uint32_t room = self->node->plan.entries;
    bool is_left_out = self->rank == 2;
    for (uint64_t id = 1; id <= room + 2; id++) {
        int seat = is_left_out ? CO_SHM_NO_SEAT : co_shm_seat_take(self->node, id, 0, self->size);
        SHM_CHECK(is_left_out || seat >= 0);
        shm_job_barrier(self);
        if (is_left_out) {
            co_shm_seat_decline(self->node, id, 0);
        } else if (id % 2 == 0) {
            co_shm_seat_leave(self->node, seat);
        }
        shm_job_barrier(self);
        if (!is_left_out && id % 2 == 1) {
            co_shm_seat_leave(self->node, seat);
        }
    }
    co_shm_seat_decline(self->node, room + 3, 0);
    shm_job_barrier(self);
    for (uint32_t index = 0; index < room; index++) {
        SHM_CHECK(self->node->entries[index].key == 0);
    }
    shm_job_barrier(self);
    struct co_shm_team *team;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(shm_job_check_bcast(self, team, 1, 1, 5000) == 0);
    co_shm_team_close(team);
    return 0;
}

static int leave_nothing(struct shm_rank *self)
{
    enum { WARM = 8, TEAMS = 2 * WARM }; // some keep their pages, some do not
    struct co_shm_team *teams[TEAMS];
    const char *areas[TEAMS];

    SHM_CHECK(self->node->plan.warm_most > WARM);
    self->node->plan.warm_most = WARM;
    for (int again = 0; again < 3; again++) {
        for (uint64_t i = 0; i < TEAMS; i++) {
            SHM_CHECK(shm_job_open_team(self, &teams[i], 77 + i) == 0);
            areas[i] = teams[i]->area;
            SHM_CHECK(shm_job_check_allgather(self, teams[i], i, 100000) == 0);
            SHM_CHECK(shm_job_check_allgather(self, teams[i], i + 1, 600) == 0);
            SHM_CHECK(shm_job_check_allgather(self, teams[i], i + 2, 60) == 0);
        }
        for (int i = 0; i < TEAMS; i++) {
            co_shm_team_close(teams[i]);
        }
        shm_job_barrier(self);
        SHM_CHECK(self->node->header->warm_count == WARM);
        for (int i = 0; i < TEAMS; i++) {
            for (size_t byte = 0; byte < self->node->plan.area_bytes; byte++) {
                SHM_CHECK(areas[i][byte] == 0);
            }
        }
        shm_job_barrier(self);
    }
    return 0;
}

// The next team gets what the last one had; who only took a seat has not used it up.
static int come_after_each_other(struct shm_rank *self)
{
    const char *area = NULL;

    for (uint64_t id = 0; id < 40; id++) {
        struct co_shm_team *team;
        SHM_CHECK(shm_job_open_team(self, &team, id) == 0);
        SHM_CHECK(area == NULL || team->area == area);
        area = team->area;
        if (id % 3 == 0) {
            SHM_CHECK(shm_job_check_bcast(self, team, id, 0, 100) == 0);
        }
        co_shm_team_close(team);
        shm_job_barrier(self);
        SHM_CHECK(self->node->header->warm_count == 1);
        shm_job_barrier(self);
    }
    return 0;
}

static void run(int size, bool threads, shm_rank_function *function)
{
    struct shm_job_options options = {.size = size, .threads = threads, .single_copy = CO_NO};

    assert_int_equal(shm_job_run(&options, function), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void ten_thousand_in_a_row(void **state)
{
    (void)state;
    run(2, false, ten_thousand);
    run(3, true, ten_thousand);
}

static void hundreds_at_a_time(void **state)
{
    (void)state;
    run(3, false, hundreds_alive);
}

static void members_come_when_others_left(void **state)
{
    (void)state;
    run(3, false, come_and_go);
}

static void members_that_cannot_come_leave_no_seats(void **state)
{
    (void)state;
    run(3, false, could_not_come);
}

static void two_teams_with_one_id(void **state)
{
    (void)state;
    run(4, false, two_halves);
    run(4, true, two_halves);
}

static void a_full_directory_says_so(void **state)
{
    (void)state;
    run(2, false, fill_up);
}

static void members_who_disagree_are_refused(void **state)
{
    (void)state;
    run(3, false, disagree);
}

static void an_area_comes_back_empty(void **state)
{
    (void)state;
    run(2, false, leave_nothing);
    run(3, false, leave_nothing);
}

static void one_area_does_for_teams_in_a_row(void **state)
{
    (void)state;
    run(2, false, come_after_each_other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_in_a_row),
        cmocka_unit_test(hundreds_at_a_time),
        cmocka_unit_test(members_come_when_others_left),
        cmocka_unit_test(members_that_cannot_come_leave_no_seats),
        cmocka_unit_test(two_teams_with_one_id),
        cmocka_unit_test(a_full_directory_says_so),
        cmocka_unit_test(members_who_disagree_are_refused),
        cmocka_unit_test(an_area_comes_back_empty),
        cmocka_unit_test(one_area_does_for_teams_in_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
