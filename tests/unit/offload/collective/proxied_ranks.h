// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are processes (offload_ranks.h) and call by proxies, with what each block has to be: the byte says from
// whom it is, for whom, and of which call.
#ifndef CASTOFF_TESTS_OFFLOAD_COLLECTIVE_RANKS_H
#define CASTOFF_TESTS_OFFLOAD_COLLECTIVE_RANKS_H

#include "offload/collective/proxied_collective.h"
#include "offload_ranks.h"

// In a rank. Settings as "NAME=VALUE", NULL behind the last; proxies are wanted where nothing else is said.
struct co_proxied_world *proxied_open(const char *const settings[]);
struct co_proxied_team *proxied_team(struct co_proxied_world *world, uint64_t id); // of all, in their order

// As if the proxy had all others open that it may have; none is told so far.
void proxied_leave_room_for_teams(struct co_proxied_world *world, uint32_t teams);

unsigned char proxied_byte(int from, int to, unsigned call);
void proxied_fill(unsigned char *send, int members, size_t bytes, int rank, unsigned call);
bool proxied_has(const unsigned char *receive, int members, size_t bytes, int rank, unsigned call);
bool proxied_is_all(const unsigned char *memory, size_t bytes, int value);

// Until it is over, or its proxy has gone; what became of it.
void proxied_await(struct co_proxied_world *world, const struct co_proxied_call *call); // until it is done
struct co_proxied_result proxied_wait(struct co_proxied_world *world, struct co_proxied_call *call);
// A whole call in fresh memory: right bytes, no error.
void proxied_exchange(struct co_proxied_world *world, struct co_proxied_team *team, size_t bytes, unsigned call);

#endif
