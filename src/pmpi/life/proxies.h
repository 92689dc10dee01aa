// SPDX-License-Identifier: BSD-3-Clause
//
// The job's proxies (src/offload): processes beside the ranks that carry MPI_Ialltoall and its like. Opened by the
// start on all ranks, or on none; then the engine knows them, for decisions and for waiting calls.
#ifndef CASTOFF_PMPI_LIFE_PROXIES_H
#define CASTOFF_PMPI_LIFE_PROXIES_H

#include "engine/engine.h"
#include "offload/collective/proxied_collective.h"

// Collective, once the engine is open and before there is a communicator. Where settings want none: nothing.
void co_proxies_open(const struct co_bootstrap *bootstrap);
// Local, once nothing can begin any more and the engine is closed.
void co_proxies_close(void);

struct co_proxied_world *co_proxies_world(void); // NULL: there are none

extern struct co_proxies co_proxies; // who begins a call counts it in under_way

// For the report, also once they are closed.
const char *co_proxies_state(struct co_proxied_counts *counts); // "": no proxies were wanted
// Of MPI calls that found none, where none were wanted: why. `large`: MPI_Ialltoall and its like of long blocks between
// hosts, for which proxies are worth a try.
const char *co_proxies_why_none(uint64_t large);

#endif
