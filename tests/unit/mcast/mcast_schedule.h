// SPDX-License-Identifier: BSD-3-Clause
//
// Random jobs for the protocol tests: from one seed come members, sizes, settings, groups that share endpoints (and the
// low half of their ids), a program of operations, pauses, late starts, faults, an eavesdropper who replays and forges,
// and a death. Each member checks its bytes the moment an operation is done and then scribbles over the buffer, as a
// program may. Everything is in virtual time.
#ifndef CASTOFF_TESTS_MCAST_SCHEDULE_H
#define CASTOFF_TESTS_MCAST_SCHEDULE_H

#include <stdbool.h>

#include "mcast/mcast.h"
#include "transport/loopback/loopback.h"
#include "transport/transport.h"

#define SCHEDULE_MEMBERS 9
#define SCHEDULE_GROUPS 4
#define SCHEDULE_STEPS 60
#define SCHEDULE_TAPES 64

// What a seed may make use of.
struct schedule_limits {
    bool faults;   // loss and damage of every kind
    bool pauses;   // members that are not progressed for up to 200 ms
    bool tiny;     // windows and staging of a few chunks
    bool overruns; // receivers that drop what their queue cannot hold
    bool attacker; // replays, damages and invents datagrams
    bool death;    // one member is killed
    bool verbs;    // the transport has the manners of verbs
};

struct schedule_group {
    uint64_t id;
    int count, steps_left[SCHEDULE_MEMBERS]; // by rank
    int members[SCHEDULE_MEMBERS], units[SCHEDULE_MEMBERS];
    struct co_mcast_seed *seed[SCHEDULE_MEMBERS];  // by rank
    struct co_mcast_group *open[SCHEDULE_MEMBERS]; // ... once its program has used it
};

struct schedule_step {
    int group, root;                     // root -1: allgather
    size_t bytes;                        // of the Bcast, or of a unit
    uint64_t pause_ns[SCHEDULE_MEMBERS]; // by rank: idle before it is started
    struct co_mcast_op *op[SCHEDULE_MEMBERS];
    unsigned char *buffer[SCHEDULE_MEMBERS];
};

struct schedule_rank {
    struct co_transport *transport;
    struct co_auth *auth;
    struct co_mcast *mcast;
    int next_step, outstanding;
    uint64_t start_ns;               // when the next step may be started
    uint64_t stopped_ns, resumed_ns; // not progressed in between
};

struct schedule {
    unsigned seed;
    uint64_t random;
    int members, group_count, step_count, most_outstanding, victim;
    uint64_t death_ns;
    enum co_auth_form form;
    bool closes_early;
    char faults[200];
    struct co_mcast_config config;
    struct co_loopback_config hub_config;
    struct co_loopback_hub *hub;
    struct schedule_group groups[SCHEDULE_GROUPS];
    struct schedule_step steps[SCHEDULE_STEPS];
    struct schedule_rank ranks[SCHEDULE_MEMBERS];
    struct co_transport *attacker;
    unsigned attack_percent;
    uint32_t operation_base, chunk_base; // where the counts start, often just before they wrap
    uint64_t sent_bytes_expected;
    int failed; // operations
    // Results.
    uint64_t end_ns, idle_ns;
    uint64_t longest_step_ns;
    struct co_loopback_read_counts reads;
};

// Makes it from the seed, runs it, checks all invariants (cmocka assertions), takes it down.
void schedule_run(struct schedule *schedule, unsigned seed, const struct schedule_limits *limits);

// mcast_schedule_make.c
unsigned schedule_random(struct schedule *schedule, unsigned below);
void schedule_make(struct schedule *schedule, unsigned seed, const struct schedule_limits *limits);
size_t schedule_step_bytes(const struct schedule *schedule, const struct schedule_step *step);

#endif
