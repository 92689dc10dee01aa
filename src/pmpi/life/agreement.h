// SPDX-License-Identifier: BSD-3-Clause
//
// Do all ranks run with the same settings, and could each do what it needs no other for? Ranks that decide differently
// would wait for each other for ever. Start only; collective over co_process.world.
#ifndef CASTOFF_PMPI_LIFE_AGREEMENT_H
#define CASTOFF_PMPI_LIFE_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>

// Of this rank, and then of the job.
struct co_agreement {
    bool counts, names_sites; // some rank wants it
    bool takes_device_memory; // the MPI below, on some rank
    bool has_parts;           // all ranks: requests and attributes are there
    bool has_memory;          // all ranks: for what comes next
    bool knows_peers;         // all ranks: who shares a node with them
};

// 0, or -errno with a sentence, the same answer on all ranks. -EINVAL names the first setting that differs, -ENOTSUP:
// the MPI below tolerates faults on some rank, by whatever way it has come to that.
int co_agreement_reach(struct co_agreement *agreement, char *why, size_t room);

#endif
