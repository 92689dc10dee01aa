// SPDX-License-Identifier: BSD-3-Clause
//
// The collectives, blocking and not, recorded: what this rank gives and gets. Only arguments that MPI reads on this
// rank are looked at; the others count as nothing. Calls with a count for each rank are noted by the sum. Hot; any
// thread.
#include "record/recorder.h"

static void note_buffer(struct co_recorded *call, bool counts, int64_t count, MPI_Datatype type)
{
    co_record_value(call, counts ? count : 0);
    if (counts) {
        co_record_type(call, type);
    } else {
        co_record_value(call, 0);
    }
}

static int64_t sum(struct co_recorded *call, MPI_Comm comm, const int counts[])
{
    int64_t all = 0;
    int size = counts == NULL ? 0 : co_record_look_up(call, comm)->size;
    for (int i = 0; i < size; i++) {
        all += counts[i];
    }
    return all;
}

// Between groups the root says MPI_ROOT, and the others of its group MPI_PROC_NULL: they take no part.
static bool is_root(struct co_recorded *call, int root, MPI_Comm comm)
{
    const struct co_record_known *known = co_record_look_up(call, comm);
    return root == MPI_ROOT || (root >= 0 && !known->is_between_groups && known->number != 0 && root == known->rank);
}

// Everybody but those two.
static bool is_leaf_or_inside(int root)
{
    return root != MPI_ROOT && root != MPI_PROC_NULL;
}

static void note_end(struct co_recorded *call, int root, MPI_Comm comm)
{
    co_record_value(call, root);
    co_record_comm(call, comm);
}

static void note_rooted(struct co_recorded *call, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    note_buffer(call, root != MPI_PROC_NULL, count, type);
    note_end(call, root, comm);
}

static void note_unrooted(struct co_recorded *call, int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    note_buffer(call, true, count, type);
    co_record_comm(call, comm);
}

static void note_gather(struct co_recorded *call, const void *send, int count, MPI_Datatype type, const int *counts,
                        int one_count, MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    bool gets = is_root(call, root, comm);
    note_buffer(call, is_leaf_or_inside(root) && send != MPI_IN_PLACE, count, type);
    note_buffer(call, gets, gets && counts != NULL ? sum(call, comm, counts) : one_count, receive_type);
    note_end(call, root, comm);
}

static void note_scatter(struct co_recorded *call, const int *counts, int one_count, MPI_Datatype type,
                         const void *receive, int count, MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    bool gives = is_root(call, root, comm);
    note_buffer(call, gives, gives && counts != NULL ? sum(call, comm, counts) : one_count, type);
    note_buffer(call, is_leaf_or_inside(root) && receive != MPI_IN_PLACE, count, receive_type);
    note_end(call, root, comm);
}

static void note_everybody(struct co_recorded *call, const void *send, int64_t count, MPI_Datatype type,
                           int64_t receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    note_buffer(call, send != MPI_IN_PLACE, count, type);
    note_buffer(call, true, receive_count, receive_type);
    co_record_comm(call, comm);
}

// Both forms of a call: parameters and arguments as lists, without parentheses around them in the end.
#define LIST(...) __VA_ARGS__
#define BOTH(name, started, parameters, arguments, notes)                                                              \
    CO_RECORD(name, (LIST parameters), (LIST arguments), notes);                                                       \
    CO_RECORD(started, (LIST parameters, MPI_Request * handle), (LIST arguments, handle), notes;                       \
              co_record_request(&call, handle))

BOTH(Barrier, Ibarrier, (MPI_Comm comm), (comm), co_record_comm(&call, comm));
BOTH(Bcast, Ibcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (buffer, count, type, root, comm), note_rooted(&call, count, type, root, comm));
BOTH(Reduce, Ireduce,
     (const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (send, receive, count, type, op, root, comm), note_rooted(&call, count, type, root, comm));

#define REDUCTION(name, started)                                                                                       \
    BOTH(name, started, (const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),     \
         (send, receive, count, type, op, comm), note_unrooted(&call, count, type, comm))

REDUCTION(Allreduce, Iallreduce);
REDUCTION(Scan, Iscan);
REDUCTION(Exscan, Iexscan);
REDUCTION(Reduce_scatter_block, Ireduce_scatter_block);
BOTH(Reduce_scatter, Ireduce_scatter,
     (const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, receive, counts, type, op, comm), note_unrooted(&call, sum(&call, comm, counts), type, comm));

BOTH(Gather, Igather,
     (const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type,
      int root, MPI_Comm comm),
     (send, count, type, receive, receive_count, receive_type, root, comm),
     note_gather(&call, send, count, type, NULL, receive_count, receive_type, root, comm));
BOTH(Gatherv, Igatherv,
     (const void *send, int count, MPI_Datatype type, void *receive, const int counts[], const int places[],
      MPI_Datatype receive_type, int root, MPI_Comm comm),
     (send, count, type, receive, counts, places, receive_type, root, comm),
     note_gather(&call, send, count, type, counts, 0, receive_type, root, comm));
BOTH(Scatter, Iscatter,
     (const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type,
      int root, MPI_Comm comm),
     (send, count, type, receive, receive_count, receive_type, root, comm),
     note_scatter(&call, NULL, count, type, receive, receive_count, receive_type, root, comm));
BOTH(Scatterv, Iscatterv,
     (const void *send, const int counts[], const int places[], MPI_Datatype type, void *receive, int receive_count,
      MPI_Datatype receive_type, int root, MPI_Comm comm),
     (send, counts, places, type, receive, receive_count, receive_type, root, comm),
     note_scatter(&call, counts, 0, type, receive, receive_count, receive_type, root, comm));

#define EVERYBODY(name, started)                                                                                       \
    BOTH(name, started,                                                                                                \
         (const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type, \
          MPI_Comm comm),                                                                                              \
         (send, count, type, receive, receive_count, receive_type, comm),                                              \
         note_everybody(&call, send, count, type, receive_count, receive_type, comm))

EVERYBODY(Allgather, Iallgather);
EVERYBODY(Alltoall, Ialltoall);
BOTH(Allgatherv, Iallgatherv,
     (const void *send, int count, MPI_Datatype type, void *receive, const int counts[], const int places[],
      MPI_Datatype receive_type, MPI_Comm comm),
     (send, count, type, receive, counts, places, receive_type, comm),
     note_everybody(&call, send, count, type, sum(&call, comm, counts), receive_type, comm));
BOTH(Alltoallv, Ialltoallv,
     (const void *send, const int send_counts[], const int send_places[], MPI_Datatype type, void *receive,
      const int counts[], const int places[], MPI_Datatype receive_type, MPI_Comm comm),
     (send, send_counts, send_places, type, receive, counts, places, receive_type, comm),
     note_everybody(&call, send, send == MPI_IN_PLACE ? 0 : sum(&call, comm, send_counts), type,
                    sum(&call, comm, counts), receive_type, comm));
BOTH(Alltoallw, Ialltoallw,
     (const void *send, const int send_counts[], const int send_places[], const MPI_Datatype types[], void *receive,
      const int counts[], const int places[], const MPI_Datatype receive_types[], MPI_Comm comm),
     (send, send_counts, send_places, types, receive, counts, places, receive_types, comm),
     co_record_comm(&call, comm));
