// SPDX-License-Identifier: BSD-3-Clause
//
// More calls, and more communicators, than a proxy takes of a rank at a time: what waits for room waits here, and
// nobody for what others do later.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "proxied_ranks.h"

enum { CALLS = 2500 }; // more than there is room for

static const char *const each_a_node[] = {"CASTOFF_NODE_RANKS=1", NULL}, *const copied[] = {"CASTOFF_PROXY_LEND=copy",
                                                                                            NULL};
static const char *const *settings; // of the test that runs

static unsigned char send[CALLS][2], receive[CALLS][2];
static struct co_proxied_call *calls[CALLS];

static void all_begin(struct co_proxied_team *team)
{
    for (unsigned i = 0; i < CALLS; i++) {
        proxied_fill(send[i], 2, 1, ranks_own, i);
        MUST(co_proxied_alltoall(&calls[i], team, send[i], receive[i], 1) == 0);
    }
}

static void all_end(struct co_proxied_world *world)
{
    for (unsigned i = 0; i < CALLS; i++) {
        MUST(proxied_wait(world, calls[i]).error == 0 && proxied_has(receive[i], 2, 1, ranks_own, i));
    }
}

struct co_rank_client;
struct co_rank_group;
static uint64_t asked; // whether a call is over
static uint64_t tried; // to give one to the proxy

bool __real_co_rank_client_is_done(const struct co_rank_client *client, uint32_t ticket);
bool __wrap_co_rank_client_is_done(const struct co_rank_client *client, uint32_t ticket);

bool __wrap_co_rank_client_is_done(const struct co_rank_client *client, uint32_t ticket)
{
    asked++;
    return __real_co_rank_client_is_done(client, ticket);
}

int __real_co_rank_group_call(struct co_rank_group *group, uint32_t *ticket);
int __wrap_co_rank_group_call(struct co_rank_group *group, uint32_t *ticket);

int __wrap_co_rank_group_call(struct co_rank_group *group, uint32_t *ticket)
{
    tried++;
    return __real_co_rank_group_call(group, ticket);
}

// Nothing is over, so there is something to look at again only where the proxy has taken one more command.
static void looks_at_what_waits_are_cheap(struct co_proxied_world *world)
{
    enum { LOOKS = 100000, COMMANDS = 1024 }; // that the proxy has at most not taken yet
    asked = tried = 0;
    for (int i = 0; i < LOOKS; i++) {
        co_proxied_move(world);
    }
    MUST(co_proxied_is_crowded(world));
    MUST(asked == 0 && tried <= COMMANDS + 1);
}

// Nothing ends, so those under way are not asked by each call that finds no room.
static void begins_behind_what_waits_are_cheap(struct co_proxied_team *team)
{
    asked = 0;
    all_begin(team);
    MUST(asked <= CALLS);
}

// Rank 1 begins the many calls of one team only when that of the other one, which rank 0 has begun behind them, is
// over.
static void others_come_later(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *many = proxied_team(world, 8), *one = proxied_team(world, 9);

    if (ranks_own == 0) {
        begins_behind_what_waits_are_cheap(many);
        looks_at_what_waits_are_cheap(world);
        proxied_exchange(world, one, 100, 7);
    } else {
        proxied_exchange(world, one, 100, 7);
        all_begin(many);
    }
    all_end(world);
    MUST(!co_proxied_is_crowded(world));
    co_proxied_team_close(many);
    co_proxied_team_close(one);
    co_proxied_close(world);
}

static void others_come_later_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, others_come_later);
    settings = copied;
    ranks_run(2, others_come_later);
}

// One ends at a time, the oldest: those behind it are not asked for its sake.
static void ends_are_found_cheaply(void)
{
    enum { ENDS = 300 };
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    uint64_t asked_in_looks = 0;

    if (ranks_own == 0) {
        all_begin(team);
        for (int i = 0; i < ENDS; i++) {
            ranks_shared->words[0] = i + 1; // rank 1 may begin so many
            RANKS_UNTIL(co_proxied_is_done(calls[i]));
            asked = 0;
            co_proxied_move(world);
            asked_in_looks += asked;
        }
        MUST(asked_in_looks <= 3 * ENDS);
        ranks_shared->words[0] = CALLS;
    } else {
        for (int i = 0; i < CALLS; i++) {
            RANKS_UNTIL(ranks_shared->words[0] > i);
            proxied_fill(send[i], 2, 1, ranks_own, (unsigned)i);
            MUST(co_proxied_alltoall(&calls[i], team, send[i], receive[i], 1) == 0);
        }
    }
    all_end(world);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void ends_are_found_cheaply_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, ends_are_found_cheaply);
}

// A call that cannot be made keeps its place behind those that wait for room.
static void a_refused_one_waits_in_line(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;
    unsigned char one[2] = {0, 0}, other[2];

    all_begin(team);
    if (ranks_own == 0) {
        MUST(co_proxied_refuse(team) == 0);
    } else {
        MUST(co_proxied_alltoall(&call, team, one, other, 1) == 0);
    }
    proxied_exchange(world, team, 100, 7);
    all_end(world);
    if (ranks_own == 1) {
        MUST(proxied_wait(world, call).error == -ECONNRESET);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void a_refused_one_waits_in_line_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, a_refused_one_waits_in_line);
}

// What waits for room ends with the proxy, as all else does.
static void a_break_ends_what_waits(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);

    if (ranks_own == 0) {
        all_begin(team);
        MUST(co_proxied_refuse(team) == 0);
        co_proxied_break(world);
        for (unsigned i = 0; i < CALLS; i++) {
            MUST(proxied_wait(world, calls[i]).error == -ECONNRESET);
        }
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void a_break_ends_what_waits_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, a_break_ends_what_waits);
}

// Each rank has room for other ones of its communicators than the others have: those that are idle come and go, with
// what is kept of their arguments, and their calls are numbered on.
static void more_teams_than_room(void)
{
    enum { TEAMS = 6, ROUNDS = 5, BYTES = 70 };
    static unsigned char out[TEAMS][4 * BYTES], in[TEAMS][4 * BYTES];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *teams[TEAMS];
    struct co_proxied_call *under_way[TEAMS];

    proxied_leave_room_for_teams(world, 2 + (uint32_t)ranks_own);
    for (int i = 0; i < TEAMS; i++) {
        teams[i] = proxied_team(world, 20 + (uint64_t)i);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TEAMS; i++) { // one by one: each finds idle ones before it
            int team = ((int)round + i * 5) % TEAMS;
            proxied_fill(out[team], ranks_count, BYTES, ranks_own, round);
            MUST(co_proxied_alltoall(&under_way[0], teams[team], out[team], in[team], BYTES) == 0);
            MUST(proxied_wait(world, under_way[0]).error == 0);
            MUST(proxied_has(in[team], ranks_count, BYTES, ranks_own, round));
        }
        for (int i = 0; i < TEAMS; i++) { // together: some wait until others are idle
            proxied_fill(out[i], ranks_count, BYTES, ranks_own, 100 + round);
            MUST(co_proxied_alltoall(&under_way[i], teams[i], out[i], in[i], BYTES) == 0);
        }
        for (int i = 0; i < TEAMS; i++) {
            MUST(proxied_wait(world, under_way[i]).error == 0);
            MUST(proxied_has(in[i], ranks_count, BYTES, ranks_own, 100 + round));
        }
    }
    for (int i = 0; i < TEAMS; i++) {
        co_proxied_team_close(teams[i]);
    }
    co_proxied_close(world);
}

static void more_teams_than_room_test(void **state)
{
    (void)state;
    settings = NULL;
    ranks_run(3, more_teams_than_room);
    settings = each_a_node;
    ranks_run(4, more_teams_than_room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_come_later_test),           cmocka_unit_test(ends_are_found_cheaply_test),
        cmocka_unit_test(a_refused_one_waits_in_line_test), cmocka_unit_test(a_break_ends_what_waits_test),
        cmocka_unit_test(more_teams_than_room_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
