// SPDX-License-Identifier: BSD-3-Clause
//
// What ranks say before all else when a world is opened: whether each has what it needs to take part, and how long the
// words are that it says later. So a rank without memory is an error of all and nobody waits for it, and ranks of two
// versions of castoff find out that they do not understand each other. Of fixed layout in all versions; set-up.
#ifndef CASTOFF_OFFLOAD_API_OFFLOAD_READY_H
#define CASTOFF_OFFLOAD_API_OFFLOAD_READY_H

#include "offload/api/offload_world.h"

#define CO_OFFLOAD_OPENING_VERSION 1 // of what is said later: another one where that changes
#define CO_OFFLOAD_READY_BYTES 32

struct co_offload_ready {
    int error; // 0, or -errno: why this rank cannot take part
    uint32_t version, fact_bytes, verdict_bytes;
};

// Collective, by the job's allgather. 0: all are ready and alike. Else the same error at all of them, but where a rank
// of a large job has no memory for so much as this: then it alone has -ENOMEM.
int co_offload_ready_tell(const struct castoff_offload_job *job, const struct co_offload_ready *mine);

#endif
