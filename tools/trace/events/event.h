// SPDX-License-Identifier: BSD-3-Clause
//
// What matters for matching of one rank's calls, in order: what the replay and the published metric go over. Requests
// have become numbers of receives, persistent ones are sent and posted anew by each start, and a receive knows which
// message it got where the trace told. Events of fixed size, in files (event_file.h).
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_EVENT_H
#define CASTOFF_TOOLS_TRACE_EVENTS_EVENT_H

#include <stdint.h>

enum co_event_op {
    CO_EVENT_NOTHING,
    CO_EVENT_SEND,   // a message to `peer`
    CO_EVENT_POST,   // receive `number` of the rank is posted
    CO_EVENT_DONE,   // it is known to be complete: the rank goes on from here when it has its message
    CO_EVENT_CANCEL, // it was cancelled, and got none
    CO_EVENT_FREE,   // its request was freed: nobody will ask
    CO_EVENT_PROBE,  // finds a message, which stays
    CO_EVENT_TAKE,   // finds one and takes it (MPI_Mprobe)
    CO_EVENT_POINT,  // a wait, or a test that found something, is over: what it completed was DONE before
    CO_EVENT_TOGETHER,
    CO_EVENT_FROM_ROOT,
    CO_EVENT_TO_ROOT,
    CO_EVENT_COMM,    // `comm` gets a child, `number` here (1: this rank is no member); `flags` says how
    CO_EVENT_NUMBERS, // up to CO_EVENT_NUMBERS_MAX more of a list that belongs to the event before
    CO_EVENT_RANK,    // MPI_Comm_rank of `comm` tells `number`
    CO_EVENT_SIZE,    // ... MPI_Comm_size
    CO_EVENT_OPS
};

// How a communicator was made: flags of CO_EVENT_COMM.
enum co_event_comm {
    CO_COMM_BY_DUP,
    CO_COMM_BY_SPLIT,   // color in `peer`, key in `tag`
    CO_COMM_BY_GROUP,   // of a group that `tag` numbers tell: enum co_event_group
    CO_COMM_BY_PART,    // of a grid: its lengths and which of them are kept, `tag` numbers
    CO_COMM_BY_GRID,    // of the first `tag` ranks; `peer`: they may have been reordered
    CO_COMM_BY_MEMBERS, // ranks of the world that follow, `tag` many; needs nobody else
    CO_COMM_BY_MERGE,   // of both groups of one between groups; `peer`: this one comes last
    CO_COMM_BY_LEADERS, // between groups: the leader here, the other one's communicator and rank there, the tag follow
    CO_COMM_BETWEEN,    // ... of the other group; its own is that of the parent
    CO_COMM_BY_UNKNOWN,
    CO_COMM_WAYS
};

// How a group was made, for a machine with a stack of lists of ranks: each of these is a number, and what is said of it
// follows.
enum co_event_group {
    CO_GROUP_SET, // communicator; 1: the other group of it; a set of its ranks: has a rest, head, tail, outs, and these
    CO_GROUP_UNITE, // the last two, and so on
    CO_GROUP_INTERSECT,
    CO_GROUP_SUBTRACT,
    CO_GROUP_INCLUDE, // how many places in the last one, and these
    CO_GROUP_EXCLUDE
};

// Flags of CO_EVENT_POST.
enum { CO_EVENT_NONBLOCKING = 1 };

struct co_event {
    uint8_t op, flags;
    uint16_t call; // enum co_call_id
    uint32_t comm; // the rank's own number
    int32_t peer, tag;
    int32_t got_source, got_tag; // of the message that came; CO_CALL_NOT_KNOWN
    uint32_t number;             // of the receive, from 0; root; child
    uint32_t unused;
    uint64_t time_ns; // since the rank's first call began
    uint64_t bytes;   // of a message
};

enum { CO_EVENT_NUMBERS_MAX = 8 }; // in place of comm ... time_ns

_Static_assert(sizeof(struct co_event) == 48, "as it stands in files");

#endif
