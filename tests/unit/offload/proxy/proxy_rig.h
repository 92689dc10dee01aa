// SPDX-License-Identifier: BSD-3-Clause
//
// Two or three proxies with a few ranks, for tests of one thing: commands are given by hand, and records are delivered
// all at once or kept where they are. One thread.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_RIG_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_RIG_H

#include "loopback_carrier.h"
#include "memory_window.h"
#include "offload/proxy/proxy_core.h"

enum { RIG_RANKS = 4, RIG_BYTES = 1024, RIG_PIECE = 16, RIG_PENDING = 1, RIG_BASE = 4096 };

struct proxy_rig {
    struct loopback_hub hub;
    struct co_proxy *proxies[LOOPBACK_PROXIES];
    int proxy_of_rank[RIG_RANKS];
    unsigned char memory[RIG_RANKS][RIG_BYTES];
    struct memory_window windows[RIG_RANKS];
    uint32_t with[RIG_RANKS][8]; // of completions
    int result[RIG_RANKS][8];    // by ticket: RIG_PENDING, or the error of its completion
    uint64_t bytes[RIG_RANKS][8];
    bool is_held[LOOPBACK_PROXIES][LOOPBACK_PROXIES][CO_CARRIER_CONNECTIONS]; // delivers nothing
    int refusal;                                                              // of the last record that was refused
};

extern uint32_t proxy_rig_ends_max; // 6, unless a test's main says otherwise
extern uint32_t proxy_rig_sources;  // 0, likewise

// Rank i is of proxy proxy_of_rank[i], below `proxies`. Memory of rank i is filled with i + 1.
void proxy_rig_open(struct proxy_rig *rig, int proxies, const int proxy_of_rank[RIG_RANKS]);
void proxy_rig_close(struct proxy_rig *rig);
// Set-up and tear-down of cmocka for a rig that is the test's initial state: two ranks a proxy, or one.
int proxy_rig_open_pairs(void **state);
int proxy_rig_open_each(void **state);
int proxy_rig_close_state(void **state);

int proxy_rig_send(struct proxy_rig *rig, int rank, uint32_t ticket, int to, uint32_t at, uint64_t bytes);
int proxy_rig_receive(struct proxy_rig *rig, int rank, uint32_t ticket, int from, uint32_t at, uint64_t bytes);
int proxy_rig_group(struct proxy_rig *rig, int rank, uint64_t group, const struct co_offload_operation *operations,
                    uint32_t count);
int proxy_rig_call(struct proxy_rig *rig, int rank, uint64_t group, uint32_t ticket);
int proxy_rig_say(struct proxy_rig *rig, int rank, uint32_t kind, uint64_t group); // FORGET, BYE

struct co_offload_operation proxy_rig_sends(int to, uint32_t at, uint64_t bytes); // tag 0
struct co_offload_operation proxy_rig_receives(int from, uint32_t at, uint64_t bytes);
struct co_offload_operation proxy_rig_forwards(int from, int to, uint32_t at, uint64_t bytes);
struct co_offload_operation proxy_rig_barrier(void);

// Until nothing moves.
void proxy_rig_run(struct proxy_rig *rig);
// The oldest record of a connection, held or not. False: there is none.
bool proxy_rig_deliver_one(struct proxy_rig *rig, int from, int to, enum co_carrier_connection connection);
// So many bytes there, all with that value.
bool proxy_rig_has(const struct proxy_rig *rig, int rank, uint32_t at, uint64_t bytes, unsigned char value);
// A record of `from` as the proxy of rank 0 takes it.
int proxy_rig_take(struct proxy_rig *rig, int from, enum co_carrier_connection connection, const void *record,
                   size_t bytes);

#endif
