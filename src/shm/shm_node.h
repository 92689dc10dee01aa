// SPDX-License-Identifier: BSD-3-Clause
//
// Insides of a process's view of its node, shared by the files of this folder. Constant after co_shm_node_open but
// for the fields that say otherwise.
#ifndef CASTOFF_SHM_NODE_H
#define CASTOFF_SHM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/descriptors.h"
#include "base/memory/shm_segment.h"
#include "shm/shm.h"
#include "shm/shm_layout.h"

// Bytes of what both paths are tried for (base/copy_trials.h); shorter ones would show the price of the clock.
#define CO_SHM_TRIAL_LEAST ((size_t)32 << 10) // of an allgather's blocks
#define CO_SHM_BCAST_TRIAL_LEAST ((size_t)64 << 10)

struct co_shm_node {
    struct co_shm_config config;
    struct co_shm_segment segment;
    struct co_shm_plan plan;
    struct co_shm_header *header;
    struct co_shm_process *processes;
    struct co_shm_entry *entries;
    struct co_shm_loan *loans;
    char *areas;

    int *watched;                             // [size] pidfds; -1: not watched, BY_NUMBER of shm_peers.c
    struct co_descriptor_file *watched_files; // [size] behind them
    uint64_t *started;                        // [size] as /proc says of a peer here; 0: it does not tell
    _Atomic uint64_t *seen_ns;                // [size] when the process was last seen to be the one that met us
    bool single_copy;
    bool shares_cores;                                                // more ranks than cores
    bool lets_others_in;                                              // we told Yama
    size_t direct_bcast_min, direct_allgather_min, direct_gather_min; // smallest blocks copied straight; SIZE_MAX: none
    size_t tried_bcast_min, tried_allgather_min; // smallest blocks of which both are tried in use; SIZE_MAX: none
    size_t stream_most;                          // co_shm_node_stream_most
    size_t cache_bytes;                          // last level
    char reason[200];
    uint64_t probe_word;   // read by the neighbour that probes us
    uint64_t probe_target; // written by him
};

// Of the team of this entry.
static inline char *co_shm_node_area(const struct co_shm_node *node, uint32_t entry)
{
    return node->areas + (size_t)entry * node->plan.area_bytes;
}

// shm_peers.c: who is still there.
int co_shm_peers_open(struct co_shm_node *node);
void co_shm_peers_close(struct co_shm_node *node);
uint64_t co_shm_peers_started(void); // this process; see co_shm_process
// Does the number of this rank still mean its process? Asked before bytes are copied.
bool co_shm_peer_is_same(const struct co_shm_node *node, int rank);

// shm_cma.c: straight between processes. The whole length or -errno; part of it may have been copied then.
int co_shm_cma_read(pid_t pid, void *local, uint64_t remote, size_t bytes);
int co_shm_cma_write(pid_t pid, const void *local, uint64_t remote, size_t bytes);
// Like co_shm_node_read, which is their other half; -ESRCH from both: the process is gone.
int co_shm_node_write(const struct co_shm_node *node, int rank, const void *local, uint64_t remote, size_t bytes);
// shm_single_copy_probe.c. Collective over the node, once all have mapped it: sets single_copy and reason. Negative
// when `status`, which rides along, is on some rank, or when an exchange failed.
int co_shm_single_copy_probe(struct co_shm_node *node, int status);
void co_shm_single_copy_end(struct co_shm_node *node);

// shm_directory.c: the entry of a team.
int co_shm_directory_init(struct co_shm_header *header);
// Index of the entry, made when it is not there, or -ENOSPC, -EINVAL (another member sees another count).
int co_shm_directory_join(struct co_shm_node *node, uint64_t key, int count);
// For who could not join, once nobody joins any more: counts as one that has joined and left, if others have joined.
void co_shm_directory_decline(struct co_shm_node *node, uint64_t key);

// shm_loan.c: what the team of this entry has of the node's staging goes back; all its members are done with it.
void co_shm_loans_return(struct co_shm_node *node, uint32_t entry);

#endif
