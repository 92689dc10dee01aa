// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are processes, with memory of their own: two proxies in the test's process serve four children through
// segments and by windows into them. Each child runs a program with a client, and ends well if all it must see is so.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_PROCESSES_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_PROCESSES_H

#include "loopback_carrier.h"
#include "offload/attach_window.h"
#include "offload/proxy/proxy_service.h"
#include "offload/rank/rank_client.h"

enum { PROCESSES_RANKS = 4, PROCESSES_PROXIES = 2 };

struct processes {
    struct loopback_hub hub;
    struct co_proxy_service *services[PROCESSES_PROXIES];
    struct co_segment_memory *segments[PROCESSES_RANKS];
    struct co_attach_window windows[PROCESSES_RANKS];
    pid_t children[PROCESSES_RANKS];
    int to_proxies[2], to_rank[PROCESSES_RANKS][2];
    int hung_up; // ranks
};

extern struct processes processes;

// In a child.
extern int process_rank;
void process_must(bool holds, int line);
#define MUST(condition) process_must((condition), __LINE__)
void process_ring(void *context);                                   // the proxies
int process_finish(struct co_rank_client *client, uint32_t ticket); // sleeps until it is over, and has its error
void process_record(struct co_rank_group *group, uint32_t kind, int to, int from, void *memory, uint64_t bytes);
bool process_is_all(const unsigned char *memory, size_t bytes, int value);

// In the parent. Children begin with start, and are let go by join: false where the kernel lets nobody look into them.
void processes_start(void (*program)(struct co_rank_client *client));
bool processes_join(void);
void processes_serve(void);          // until nothing moves
void processes_serve_all(void);      // until all have ended
void processes_end(bool is_allowed); // all have ended well; skips the test where it was not allowed
void processes_run(void (*program)(struct co_rank_client *client)); // all of it

#endif
