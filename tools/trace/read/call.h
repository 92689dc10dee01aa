// SPDX-License-Identifier: BSD-3-Clause
//
// One recorded MPI call in the open, whatever format it came from: readers fill it, the tracker (tracker.h) makes
// events of it. Numbers of communicators and requests are those of the rank's own trace; wildcards and ranks that are
// none have one value each here. Cold, but for the struct.
#ifndef CASTOFF_TOOLS_TRACE_READ_CALL_H
#define CASTOFF_TOOLS_TRACE_READ_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As a source or tag that was asked for. No rank and no tag has one of these values.
#define CO_CALL_ANY (-1)
#define CO_CALL_NOBODY (-2) // MPI_PROC_NULL
#define CO_CALL_NOT_KNOWN INT32_MIN

// Communicators, as DUMPI numbers them.
enum { CO_COMM_NULL = 1, CO_COMM_WORLD = 2, CO_COMM_SELF = 3, CO_COMM_FIRST = 4 };
// Groups; those of a program come behind.
enum { CO_GROUP_EMPTY = 2 };
// Requests: those below are none.
enum { CO_REQUEST_FIRST = 2 };

enum co_call_family {
    CO_FAMILY_POINT,
    CO_FAMILY_COLLECTIVE,
    CO_FAMILY_ONE_SIDED,
    CO_FAMILY_PROGRESS,
    CO_FAMILY_OTHER,
    CO_FAMILIES
};

// What a call means for matching.
enum co_call_op {
    CO_CALL_NOTHING,
    CO_CALL_SEND,
    CO_CALL_ISEND,
    CO_CALL_RECEIVE,
    CO_CALL_IRECEIVE,
    CO_CALL_SENDRECV,
    CO_CALL_SEND_INIT,
    CO_CALL_RECEIVE_INIT,
    CO_CALL_START,
    CO_CALL_STARTALL,
    CO_CALL_WAIT,
    CO_CALL_WAITANY,
    CO_CALL_WAITALL,
    CO_CALL_WAITSOME,
    CO_CALL_TEST,
    CO_CALL_TESTANY,
    CO_CALL_TESTALL,
    CO_CALL_TESTSOME,
    CO_CALL_PROBE,
    CO_CALL_IPROBE,
    CO_CALL_MPROBE,
    CO_CALL_IMPROBE,
    CO_CALL_MRECEIVE,
    CO_CALL_IMRECEIVE,
    CO_CALL_CANCEL,
    CO_CALL_REQUEST_FREE,
    CO_CALL_START_OTHER, // a request that is no message's
    CO_CALL_TOGETHER,    // nobody leaves before all have come
    CO_CALL_FROM_ROOT,   // ... before the root has
    CO_CALL_TO_ROOT,     // the root leaves when all have come
    CO_CALL_COMM_SIZE,
    CO_CALL_COMM_RANK,
    CO_CALL_CART_SHIFT, // direction in `color`, displacement in `key`
    CO_CALL_CART_GET,   // own place in the grid in `numbers`
    CO_CALL_COMM_GROUP,
    CO_CALL_COMM_REMOTE_GROUP,
    CO_CALL_GROUP_INCL,
    CO_CALL_GROUP_EXCL,
    CO_CALL_GROUP_RANGE_INCL,
    CO_CALL_GROUP_RANGE_EXCL,
    CO_CALL_GROUP_UNION,
    CO_CALL_GROUP_INTERSECTION,
    CO_CALL_GROUP_DIFFERENCE,
    CO_CALL_GROUP_UNKNOWN, // makes one that cannot be followed
    CO_CALL_COMM_DUP,
    CO_CALL_COMM_SPLIT,
    CO_CALL_COMM_CREATE,
    CO_CALL_CART_CREATE,
    CO_CALL_CART_SUB,
    CO_CALL_GRAPH_CREATE,
    CO_CALL_INTERCOMM_CREATE, // leaders: `root` here, `peer` in the communicator that `other_group` numbers
    CO_CALL_INTERCOMM_MERGE,  // `reorder`: this group comes last
    CO_CALL_COMM_MEMBERS,     // tells the members of a communicator: castoff's own traces
    CO_CALL_COMM_BETWEEN,     // ... of the other group, of one between groups
    CO_CALL_COMM_UNKNOWN,     // makes one of which nothing more can be known
    CO_CALL_INIT,
    CO_CALL_FINALIZE
};

struct co_call_row {
    const char *name;      // "MPI_Send"
    const char *arguments; // of DUMPI's record
    uint8_t family, op;
};

#define CO_CALL(name, family, op, arguments) CO_CALL_ID_##name,
#define CO_CALL_DUMPI_END CO_CALL_DUMPI_COUNT, CO_CALL_BEFORE_MORE = CO_CALL_DUMPI_COUNT - 1,
enum co_call_id {
#include "tools/trace/read/call_table.h"
    CO_CALL_COUNT
};
#undef CO_CALL
#undef CO_CALL_DUMPI_END

// What stands for a record that is no call, such as that of a communicator: a call that touches none.
#define CO_CALL_NO_CALL CO_CALL_ID_Wtime

extern const struct co_call_row co_call_rows[CO_CALL_COUNT];

// By its name with MPI_; CO_CALL_COUNT: none of the table. Any thread.
unsigned co_call_find(const char *name, size_t length);

struct co_call_status {
    int32_t source, tag; // CO_CALL_NOT_KNOWN: nobody asked
    int32_t bytes;
    bool is_cancelled;
};

enum { CO_CALL_NUMBERS_MAX = 1 << 22 };

// Arrays belong to the reader, and hold until its next call.
struct co_traced_call {
    uint16_t id;               // enum co_call_id
    uint8_t op;                // of its row
    bool has_failed;           // MPI gave an error
    bool is_in_vain;           // a test or probe that found nothing
    uint64_t times;            // of equal looks in vain, else 1
    uint64_t begin_ns, end_ns; // on the rank's own clock
    int64_t bytes;             // of the message that is sent; -1: not known
    int32_t peer, tag;
    int32_t source, receive_tag; // of the receiving half of MPI_Sendrecv
    uint32_t comm, new_comm;
    uint32_t group, other_group, new_group;
    int32_t root, color, key;
    int32_t reorder;  // of MPI_Cart_create and MPI_Graph_create; `high` of MPI_Intercomm_merge
    int32_t result;   // of MPI_Comm_rank and MPI_Comm_size
    uint64_t request; // that it makes, waits for, starts, ...
    int32_t index;    // MPI_Waitany: which has completed
    uint32_t request_count, index_count, status_count, number_count;
    const uint64_t *requests;
    const int32_t *indices;
    const struct co_call_status *statuses;
    const int32_t *numbers; // ranks or ranges of a group, dimensions of a grid or a place in it, members
};

void co_call_clear(struct co_traced_call *call, unsigned id);

#endif
