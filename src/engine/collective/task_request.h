// SPDX-License-Identifier: BSD-3-Clause
//
// What a collective asks of a team, in plain numbers: all that an engine in another process, one that serves a node as
// a proxy, would be told of an operation. The pointers to carry it out with are found from here, by
// whoever does it. Filled in by team_run.c.
#ifndef CASTOFF_ENGINE_COLLECTIVE_TASK_REQUEST_H
#define CASTOFF_ENGINE_COLLECTIVE_TASK_REQUEST_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

// The same in every process, whatever compiled it. Buffers are addresses in the process of the caller.
struct co_task_request {
    uint64_t team_id;
    uint64_t bytes;  // of the message, or of one rank's block
    uint64_t buffer; // bcast: the message; allgather: the result
    uint64_t mine;   // allgather: the own block; 0: it stands in the result
    uint32_t call;   // enum co_call
    int32_t root;    // of a bcast, else 0
};

static_assert(sizeof(struct co_task_request) == 40, "no padding, nothing that another process reads otherwise");
static_assert(offsetof(struct co_task_request, call) == 32, "four words and two halves");

#endif
