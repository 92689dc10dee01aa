// SPDX-License-Identifier: BSD-3-Clause
//
// The job of the simulation of teams: what happens next; see the header.
#include "proxy_team_simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"

enum { TURNS_MAX = 2000000, STAGE_BYTES = 300 };

unsigned team_roll(struct team_simulation *simulation, unsigned below)
{
    simulation->random += UINT64_C(0x9E3779B97F4A7C15);
    return (unsigned)(co_mix_bits(simulation->random) >> 33) % below;
}

static void plan_make(struct team_simulation *simulation, const struct team *team, struct team_plan *plan)
{
    plan->kind = (enum team_kind)team_roll(simulation, TEAM_KINDS);
    plan->root = (int)team_roll(simulation, (unsigned)team->count);
    plan->bytes = team_roll(simulation, 5) == 0 ? 0 : team_roll(simulation, TEAM_BLOCK + 1);
    for (int from = 0; from < team->count; from++) {
        for (int to = 0; to < team->count; to++) {
            plan->sends[from][to] =
                (uint8_t)(team_roll(simulation, 4) == 0 ? 0 : team_roll(simulation, TEAM_BLOCK + 1));
            plan->takes[from][to] = // at least that, or less where calls may fail
                (uint8_t)(simulation->limits.faults && team_roll(simulation, 40) == 0
                              ? plan->sends[from][to] / 2
                              : plan->sends[from][to] +
                                    team_roll(simulation, (unsigned)(TEAM_BLOCK + 1 - plan->sends[from][to])));
        }
    }
    for (int to = 0; to < team->count; to++) { // room for a broadcast
        plan->takes[0][to] =
            (uint8_t)(simulation->limits.rooms && plan->kind == TEAM_BCAST ? team_roll(simulation, TEAM_BLOCK + 1)
                      : plan->kind == TEAM_BCAST                           ? plan->bytes
                                                                           : plan->takes[0][to]);
    }
}

static void teams_make(struct team_simulation *simulation)
{
    simulation->teams = 1 + (int)team_roll(simulation, TEAM_TEAMS);
    for (int i = 0; i < simulation->teams; i++) {
        struct team *team = &simulation->team[i];
        team->id = co_mix_bits((uint64_t)i + 1);
        int wanted = i == 0 ? simulation->ranks : 1 + (int)team_roll(simulation, (unsigned)simulation->ranks);
        bool is_in[TEAM_RANKS] = {false};
        while (team->count < wanted) {
            int rank = (int)team_roll(simulation, (unsigned)simulation->ranks);
            if (!is_in[rank]) {
                is_in[rank] = true;
                team->members[team->count++] = rank;
            }
        }
        team->calls = (int)team_roll(simulation, TEAM_CALLS + 1);
        for (int plan = 0; plan < TEAM_PLANS; plan++) {
            plan_make(simulation, team, &team->plans[plan]);
        }
        for (int call = 0; call < team->calls; call++) {
            team->plan_of[call] = (int)team_roll(simulation, TEAM_PLANS);
        }
    }
}

static void heard(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *record,
                  size_t bytes)
{
    struct team_simulation *simulation = context;
    int error = co_proxy_take(simulation->proxies[to], from, connection, record, bytes);
    if (error != 0) {
        fail_msg("seed %u: proxy %d refuses a record of %d: %d", simulation->seed, to, from, error);
    }
}

uint64_t team_begun(const struct team_rank *rank, int number)
{
    const struct team *team = &rank->simulation->team[number];
    uint64_t begun = 0;

    for (int call = 0; call < rank->next[number]; call++) { // an allgather has one for each member
        enum team_kind kind = team->plans[team->plan_of[call]].kind;
        begun += kind == TEAM_ALLGATHER || kind == TEAM_ALLGATHERV ? (uint64_t)team->count : 1;
    }
    return begun;
}

static void rank_open(struct team_simulation *simulation, int number)
{
    struct team_rank *rank = &simulation->rank[number];

    *rank = (struct team_rank){
        .simulation = simulation, .rank = number, .proxy = simulation->proxy_of_rank[number], .next_group = 1};
    rank->patience = team_roll(simulation, 4) == 0 ? 1 + (int)team_roll(simulation, 200) : 1;
    for (int team = 0; team < TEAM_TEAMS; team++) {
        rank->place[team] = -1;
        for (int i = 0; i < simulation->team[team].count; i++) {
            rank->place[team] = simulation->team[team].members[i] == number ? i : rank->place[team];
        }
    }
    memory_window_open(&rank->window, rank->memory, TEAM_BASE, TEAM_MEMORY);
    rank->window.context = rank;
    rank->window.touch = team_touched;
    struct co_rank_window *window = &rank->window.window;
    if (simulation->limits.stage && team_roll(simulation, 3) > 0) {
        co_stage_window_open(&rank->stage, window, team_roll(simulation, STAGE_BYTES));
        window = &rank->stage.window;
    }
    assert_int_equal(co_proxy_rank_join(simulation->proxies[rank->proxy], number, window), 0);
}

static void open_job(struct team_simulation *simulation, unsigned seed, const struct team_limits *limits)
{
    memset(simulation, 0, sizeof *simulation);
    simulation->seed = seed;
    simulation->random = co_mix_bits(seed);
    simulation->limits = *limits;
    int proxies = 1 + (int)team_roll(simulation, LOOPBACK_PROXIES);
    simulation->ranks = 2 + (int)team_roll(simulation, TEAM_RANKS - 1);
    teams_make(simulation);
    simulation->death_in = limits->deaths ? (int)team_roll(simulation, 3000) : -1;
    loopback_open(&simulation->hub, proxies, 1 + team_roll(simulation, 4));
    for (int i = 0; i < simulation->ranks; i++) {
        simulation->proxy_of_rank[i] = (int)team_roll(simulation, (unsigned)proxies);
    }
    struct co_proxy_config config = {.proxies = proxies,
                                     .ranks = simulation->ranks,
                                     .proxy_of_rank = simulation->proxy_of_rank,
                                     .piece_bytes = 1 + team_roll(simulation, 30),
                                     .groups_max = TEAM_USES,
                                     .ends_max = 4096,
                                     .sources = team_roll(simulation, 4)};
    config.first_number = limits->first_max > 0 ? limits->first_max - team_roll(simulation, 4) : 0;
    struct co_proxy_output output = {simulation, team_completed};
    for (config.self = 0; config.self < proxies; config.self++) {
        assert_int_equal(co_proxy_open(&simulation->proxies[config.self], &config,
                                       &simulation->hub.ends[config.self].carrier, &output),
                         0);
    }
    for (int i = 0; i < simulation->ranks; i++) {
        rank_open(simulation, i);
    }
}

// A rank, or a proxy with all of its own.
static void strike(struct team_simulation *simulation)
{
    int victim = (int)team_roll(simulation, (unsigned)simulation->ranks), proxy = simulation->rank[victim].proxy;

    if (team_roll(simulation, 2)) {
        team_rank_lose(&simulation->rank[victim]);
        return;
    }
    co_proxy_close(simulation->proxies[proxy]);
    simulation->proxies[proxy] = NULL;
    loopback_kill(&simulation->hub, proxy);
    for (int i = 0; i < simulation->ranks; i++) {
        if (simulation->rank[i].proxy == proxy) {
            team_rank_lose(&simulation->rank[i]);
        }
    }
}

static void mourn(struct team_simulation *simulation, int dead, int by)
{
    if (simulation->proxies[dead] == NULL && simulation->proxies[by] != NULL && !simulation->is_mourned[dead][by]) {
        co_proxy_peer_lost(simulation->proxies[by], dead);
        simulation->is_mourned[dead][by] = true;
        simulation->activity++;
    }
}

static void deliver(struct team_simulation *simulation, int from, int to, int connection)
{
    simulation->activity +=
        loopback_deliver(&simulation->hub, from, to, (enum co_carrier_connection)connection, simulation, heard);
}

static void progress(struct team_simulation *simulation, int proxy)
{
    if (simulation->proxies[proxy] != NULL) {
        simulation->activity += co_proxy_progress(simulation->proxies[proxy]);
    }
}

static void turn(struct team_simulation *simulation)
{
    unsigned proxies = (unsigned)simulation->hub.proxies, what = team_roll(simulation, 10);

    if (what == 0) {
        struct team_rank *rank = &simulation->rank[team_roll(simulation, (unsigned)simulation->ranks)];
        if (team_roll(simulation, (unsigned)rank->patience) == 0) {
            team_rank_act(rank);
        }
    } else if (what < 6) {
        deliver(simulation, (int)team_roll(simulation, proxies), (int)team_roll(simulation, proxies),
                (int)team_roll(simulation, 2));
    } else if (what < 9) {
        progress(simulation, (int)team_roll(simulation, proxies));
    } else {
        mourn(simulation, (int)team_roll(simulation, proxies), (int)team_roll(simulation, proxies));
    }
    if (simulation->death_in >= 0 && simulation->death_in-- == 0) {
        strike(simulation);
    }
}

// Everything gets its turn once.
static void sweep(struct team_simulation *simulation)
{
    int proxies = simulation->hub.proxies;
    for (int i = 0; i < simulation->ranks; i++) {
        team_rank_act(&simulation->rank[i]);
    }
    for (int i = 0; i < proxies * proxies; i++) {
        mourn(simulation, i / proxies, i % proxies);
        deliver(simulation, i / proxies, i % proxies, CO_CARRIER_CONTROL);
        deliver(simulation, i / proxies, i % proxies, CO_CARRIER_BULK);
        progress(simulation, i % proxies);
    }
}

static bool is_over(const struct team_simulation *simulation)
{
    for (int i = 0; i < simulation->ranks; i++) {
        if (!simulation->rank[i].is_over) {
            return false;
        }
    }
    return true;
}

static void close_job(struct team_simulation *simulation)
{
    bool is_clean = !simulation->limits.deaths && !simulation->limits.faults;

    for (int i = 0; i < simulation->hub.proxies; i++) {
        if (simulation->proxies[i] == NULL) {
            continue;
        }
        if (is_clean && !co_proxy_is_idle(simulation->proxies[i])) {
            fail_msg("seed %u: proxy %d has something left", simulation->seed, i);
        }
        for (int rank = 0; rank < simulation->ranks; rank++) {
            co_proxy_rank_lost(simulation->proxies[i], rank); // those that are there, and its own
        }
        if (!co_proxy_is_idle(simulation->proxies[i])) {
            fail_msg("seed %u: proxy %d keeps something of ranks that are gone", simulation->seed, i);
        }
        simulation->calls += co_proxy_counts(simulation->proxies[i])->calls;
        simulation->cached_calls += co_proxy_counts(simulation->proxies[i])->cached_calls;
        co_proxy_close(simulation->proxies[i]);
    }
    for (int i = 0; i < simulation->ranks; i++) {
        assert_int_equal(simulation->rank[i].window.loans, 0);
        assert_int_equal(simulation->rank[i].stage.used_bytes, 0);
    }
    loopback_close(&simulation->hub);
}

void team_simulation_run(struct team_simulation *simulation, unsigned seed, const struct team_limits *limits)
{
    open_job(simulation, seed, limits);
    for (int turns = 0; !is_over(simulation); turns++) {
        turn(simulation);
        if (turns % 400 == 399) {
            uint64_t before = simulation->activity + simulation->hub.records;
            sweep(simulation);
            if (simulation->activity + simulation->hub.records == before && !is_over(simulation)) {
                fail_msg("seed %u: nothing moves any more", seed);
            }
        }
        assert_true(turns < TURNS_MAX);
    }
    close_job(simulation);
}
