// SPDX-License-Identifier: BSD-3-Clause
//
// A job of proxies and ranks in one process: random programs (proxy_program.h) run on real cores over loopback carriers
// and windows of memory, in an order of everything that a seed says: which rank calls next, which connection delivers
// next, which proxy has a turn. Of each byte that is written the window asks whether its receive has begun; what a call
// has received is compared the moment it is said to be over.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_SIMULATION_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_SIMULATION_H

#include "loopback_carrier.h"
#include "memory_window.h"
#include "offload/proxy/proxy_core.h"
#include "offload/stage_window.h"
#include "proxy_program.h"

struct simulation_limits {
    bool stage;         // some ranks have windows that stage, with little room
    bool deaths;        // a rank or a proxy ends in the middle
    bool faults;        // an access to a rank's memory fails now and then
    uint64_t first_max; // of messages with a tag, the first number is so or somewhat less
};

enum { SIMULATION_TICKETS = 64 };

struct simulation_use { // of a template, by a rank
    bool is_open;       // called, and not over
    bool has_error;     // one of its calls has
    int step;
    uint64_t group;                     // number of its definition, 0: none
    int issued;                         // operations that may touch memory: all of a group, of basic ones those called
    int pending;                        // calls that are not over
    uint64_t moved[PROGRAM_OPERATIONS]; // bytes written by each operation
};

struct simulation_rank {
    struct simulation *simulation;
    int rank, proxy;
    int step;     // the next one
    int patience; // the higher, the later
    bool is_over, is_lost, has_error;
    uint64_t next_group;
    int ticket_template[SIMULATION_TICKETS];   // -1: free
    uint64_t ticket_bytes[SIMULATION_TICKETS]; // that its call has to receive
    struct simulation_use uses[PROGRAM_TEMPLATES];
    unsigned char memory[PROGRAM_MEMORY_BYTES];
    struct memory_window window;
    struct co_stage_window stage;
};

struct simulation {
    struct program program;
    struct simulation_limits limits;
    struct loopback_hub hub;
    struct co_proxy *proxies[LOOPBACK_PROXIES]; // NULL: dead
    int proxy_of_rank[PROGRAM_RANKS];
    bool is_mourned[LOOPBACK_PROXIES][LOOPBACK_PROXIES]; // of a dead one, by whom
    struct simulation_rank ranks[PROGRAM_RANKS];
    uint64_t activity; // counts what happens: without any, nothing will
    int death_in;      // turns; -1: none
    int errors;
    uint64_t calls, cached_calls, completions;
};

// proxy_simulation_rank.c
void simulation_rank_open(struct simulation *simulation, int number);
void simulation_rank_act(struct simulation_rank *rank);
void simulation_rank_lose(struct simulation_rank *rank);
void simulation_completed(void *context, int number, uint32_t ticket, const struct co_offload_completion *completion);

unsigned simulation_roll(struct simulation *simulation, unsigned below);
// Makes it from the seed, runs it to its end, checks it (cmocka assertions), takes it down.
void simulation_run(struct simulation *simulation, unsigned seed, const struct simulation_limits *limits);

#endif
