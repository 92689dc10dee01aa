// SPDX-License-Identifier: BSD-3-Clause
//
// The job: what happens next; see the header.
#include "proxy_simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TURNS_MAX = 2000000 };

unsigned simulation_roll(struct simulation *simulation, unsigned below)
{
    return program_random(&simulation->program, below);
}

static void heard(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *record,
                  size_t bytes)
{
    struct simulation *simulation = context;
    int error = co_proxy_take(simulation->proxies[to], from, connection, record, bytes);
    if (error != 0) {
        fail_msg("seed %u: proxy %d refuses a record of %d: %d", simulation->program.seed, to, from, error);
    }
}

static void open_job(struct simulation *simulation, unsigned seed, const struct simulation_limits *limits)
{
    memset(simulation, 0, sizeof *simulation);
    simulation->program.random = seed;
    int proxies = 1 + (int)simulation_roll(simulation, LOOPBACK_PROXIES),
        ranks = 2 + (int)simulation_roll(simulation, PROGRAM_RANKS - 1);
    program_make(&simulation->program, seed, ranks);
    simulation->limits = *limits;
    simulation->death_in = limits->deaths ? (int)simulation_roll(simulation, 3000) : -1;
    loopback_open(&simulation->hub, proxies, 1 + simulation_roll(simulation, 4));
    for (int i = 0; i < ranks; i++) {
        simulation->proxy_of_rank[i] = (int)simulation_roll(simulation, (unsigned)proxies);
    }
    struct co_proxy_config config = {.proxies = proxies,
                                     .ranks = ranks,
                                     .proxy_of_rank = simulation->proxy_of_rank,
                                     .piece_bytes =
                                         1 + simulation_roll(simulation, simulation_roll(simulation, 2) ? 16 : 200),
                                     .groups_max = PROGRAM_TEMPLATES,
                                     .ends_max = 4096};
    config.first_number = limits->first_max > 0 ? limits->first_max - simulation_roll(simulation, 4) : 0;
    struct co_proxy_output output = {simulation, simulation_completed};
    for (int i = 0; i < proxies; i++) {
        config.self = i;
        assert_int_equal(co_proxy_open(&simulation->proxies[i], &config, &simulation->hub.ends[i].carrier, &output), 0);
    }
    for (int i = 0; i < ranks; i++) {
        simulation_rank_open(simulation, i);
    }
}

// A rank, or a proxy with all of its own.
static void strike(struct simulation *simulation)
{
    int victim = (int)simulation_roll(simulation, (unsigned)simulation->program.ranks);
    int proxy = simulation->ranks[victim].proxy;

    if (simulation_roll(simulation, 2)) {
        simulation_rank_lose(&simulation->ranks[victim]);
        return;
    }
    co_proxy_close(simulation->proxies[proxy]);
    simulation->proxies[proxy] = NULL;
    loopback_kill(&simulation->hub, proxy);
    for (int i = 0; i < simulation->program.ranks; i++) {
        if (simulation->ranks[i].proxy == proxy) {
            simulation_rank_lose(&simulation->ranks[i]);
        }
    }
}

static void mourn(struct simulation *simulation, int dead, int by)
{
    if (simulation->proxies[dead] == NULL && simulation->proxies[by] != NULL && !simulation->is_mourned[dead][by]) {
        co_proxy_peer_lost(simulation->proxies[by], dead);
        simulation->is_mourned[dead][by] = true;
        simulation->activity++;
    }
}

static void deliver(struct simulation *simulation, int from, int to, int connection)
{
    if (loopback_deliver(&simulation->hub, from, to, (enum co_carrier_connection)connection, simulation, heard)) {
        simulation->activity++;
    }
}

static void progress(struct simulation *simulation, int proxy)
{
    if (simulation->proxies[proxy] != NULL) {
        simulation->activity += co_proxy_progress(simulation->proxies[proxy]);
    }
}

static void turn(struct simulation *simulation)
{
    unsigned proxies = (unsigned)simulation->hub.proxies;
    unsigned what = simulation_roll(simulation, 10);

    if (what == 0) {
        struct simulation_rank *rank =
            &simulation->ranks[simulation_roll(simulation, (unsigned)simulation->program.ranks)];
        if (simulation_roll(simulation, (unsigned)rank->patience) == 0) {
            simulation_rank_act(rank);
        }
    } else if (what < 6) {
        deliver(simulation, (int)simulation_roll(simulation, proxies), (int)simulation_roll(simulation, proxies),
                (int)simulation_roll(simulation, 2));
    } else if (what < 9) {
        progress(simulation, (int)simulation_roll(simulation, proxies));
    } else {
        mourn(simulation, (int)simulation_roll(simulation, proxies), (int)simulation_roll(simulation, proxies));
    }
    if (simulation->death_in >= 0 && simulation->death_in-- == 0) {
        strike(simulation);
    }
}

// Everything gets its turn once.
static void sweep(struct simulation *simulation)
{
    int proxies = simulation->hub.proxies;
    for (int i = 0; i < simulation->program.ranks; i++) {
        simulation_rank_act(&simulation->ranks[i]);
    }
    for (int i = 0; i < proxies * proxies; i++) {
        mourn(simulation, i / proxies, i % proxies);
        deliver(simulation, i / proxies, i % proxies, CO_CARRIER_CONTROL);
        deliver(simulation, i / proxies, i % proxies, CO_CARRIER_BULK);
        progress(simulation, i % proxies);
    }
}

static bool is_over(const struct simulation *simulation)
{
    for (int i = 0; i < simulation->program.ranks; i++) {
        if (!simulation->ranks[i].is_over) {
            return false;
        }
    }
    return true;
}

static void close_job(struct simulation *simulation)
{
    bool is_clean = !simulation->limits.deaths && !simulation->limits.faults;

    for (int i = 0; i < simulation->hub.proxies; i++) {
        if (simulation->proxies[i] != NULL) {
            if (is_clean && !co_proxy_is_idle(simulation->proxies[i])) {
                fail_msg("seed %u: proxy %d has something left", simulation->program.seed, i);
            }
            for (int rank = 0; rank < simulation->program.ranks; rank++) {
                co_proxy_rank_lost(simulation->proxies[i], rank); // those that are there, and its own
            }
            if (!co_proxy_is_idle(simulation->proxies[i])) {
                fail_msg("seed %u: proxy %d keeps something of ranks that are gone", simulation->program.seed, i);
            }
            simulation->calls += co_proxy_counts(simulation->proxies[i])->calls;
            simulation->cached_calls += co_proxy_counts(simulation->proxies[i])->cached_calls;
            co_proxy_close(simulation->proxies[i]);
        }
    }
    for (int i = 0; i < simulation->program.ranks; i++) {
        assert_int_equal(simulation->ranks[i].window.loans, 0);
        assert_int_equal(simulation->ranks[i].stage.used_bytes, 0);
    }
    loopback_close(&simulation->hub);
}

void simulation_run(struct simulation *simulation, unsigned seed, const struct simulation_limits *limits)
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
