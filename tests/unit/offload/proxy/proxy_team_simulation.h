// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls of several teams in one process, by a seed: real cores over loopback carriers and windows of memory.
// Every member of a team makes its calls in one order; how the calls of several teams lie between each other each rank
// says for itself, and so does how late it is. The naive executor is a function: what a byte of a block has to be. Of
// each byte that is written it is asked whether its owner has begun that call.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_TEAM_SIMULATION_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_TEAM_SIMULATION_H

#include "loopback_carrier.h"
#include "memory_window.h"
#include "offload/proxy/proxy_core.h"
#include "offload/stage_window.h"

enum {
    TEAM_RANKS = 12,
    TEAM_TEAMS = 4,
    TEAM_PLANS = 3, // of a team: arguments that calls have
    TEAM_CALLS = 12,
    TEAM_BLOCK = 24, // the most that one has
    TEAM_SIDE = TEAM_RANKS * TEAM_BLOCK,
    TEAM_AREA = 2 * TEAM_SIDE, // send and receive buffer of a plan
    TEAM_USES = TEAM_TEAMS * TEAM_PLANS,
    TEAM_BASE = 0x10000, // address of a rank's memory
    TEAM_MEMORY = TEAM_USES * TEAM_AREA
};

struct team_limits {
    bool stage;         // some ranks have windows that stage
    bool deaths;        // a rank or a proxy ends in the middle
    bool faults;        // accesses fail now and then, calls are refused, blocks are longer than their place
    bool rooms;         // members of broadcasts have more or less room than comes, as their results say
    uint64_t first_max; // the first number is so or somewhat less
};

enum team_kind { TEAM_ALLTOALL, TEAM_ALLTOALLV, TEAM_BCAST, TEAM_ALLGATHER, TEAM_ALLGATHERV, TEAM_KINDS };

struct team_plan {
    enum team_kind kind;
    int root;
    uint64_t bytes; // of equal blocks
    // By place; from, to. An allgather sends the same to all, so only to the first; a broadcast takes from the first.
    uint8_t sends[TEAM_RANKS][TEAM_RANKS], takes[TEAM_RANKS][TEAM_RANKS];
};

struct team {
    uint64_t id;
    int count, calls;
    int members[TEAM_RANKS];
    struct team_plan plans[TEAM_PLANS];
    int plan_of[TEAM_CALLS];
};

struct team_use { // of a plan, by a rank
    bool is_open; // called, and not over
    int call;
    uint64_t group; // number of its definition, 0: none
};

struct team_rank {
    struct team_simulation *simulation;
    int rank, proxy;
    int patience; // the higher, the later
    bool is_over, is_lost;
    uint64_t next_group;
    int place[TEAM_TEAMS]; // -1: no member
    bool is_open[TEAM_TEAMS], is_closed[TEAM_TEAMS];
    int next[TEAM_TEAMS]; // call
    struct team_use uses[TEAM_USES];
    int refused; // under way
    unsigned char memory[TEAM_MEMORY];
    struct memory_window window;
    struct co_stage_window stage;
};

struct team_simulation {
    unsigned seed;
    uint64_t random;
    struct team_limits limits;
    int ranks, teams;
    struct team team[TEAM_TEAMS];
    struct loopback_hub hub;
    struct co_proxy *proxies[LOOPBACK_PROXIES]; // NULL: dead
    int proxy_of_rank[TEAM_RANKS];
    bool is_mourned[LOOPBACK_PROXIES][LOOPBACK_PROXIES];
    struct team_rank rank[TEAM_RANKS];
    uint64_t activity;
    int death_in; // turns; -1: none
    uint64_t calls, cached_calls, errors;
};

unsigned team_roll(struct team_simulation *simulation, unsigned below);
// Makes it from the seed, runs it to its end, checks it (cmocka assertions), takes it down.
void team_simulation_run(struct team_simulation *simulation, unsigned seed, const struct team_limits *limits);

uint64_t team_begun(const struct team_rank *rank, int number); // numbers of its calls of that team so far

// proxy_team_simulation_rank.c
int team_touched(void *context, uint64_t address, uint64_t bytes, bool is_write); // of a rank's memory_window
void team_rank_act(struct team_rank *rank);
void team_rank_lose(struct team_rank *rank);
void team_completed(void *context, int number, uint32_t ticket, const struct co_offload_completion *completion);

#endif
