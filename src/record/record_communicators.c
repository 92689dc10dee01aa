// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that make and free communicators, and free types, recorded. What is new is described before the call that
// made it. Not hot.
#include "record/recorder.h"

static void note_new(struct co_recorded *call, MPI_Comm parent, const MPI_Comm *created, bool as_parent)
{
    co_record_value(call, call->has_failed
                              ? 0
                              : co_record_communicator_made(call->thread, *created, parent, call->record.kind,
                                                            as_parent, call->record.end_ns));
}

static void note_made(struct co_recorded *call, MPI_Comm parent, const MPI_Comm *created, bool as_parent)
{
    co_record_comm(call, parent);
    note_new(call, parent, created, as_parent);
}

CO_RECORD(Comm_dup, (MPI_Comm comm, MPI_Comm *created), (comm, created), note_made(&call, comm, created, true));
CO_RECORD(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *created), (comm, info, created),
          note_made(&call, comm, created, true));
CO_RECORD(Comm_idup, (MPI_Comm comm, MPI_Comm *created, MPI_Request *handle), (comm, created, handle),
          note_made(&call, comm, created, true);
          co_record_request(&call, handle));
CO_RECORD(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *created), (comm, group, created),
          note_made(&call, comm, created, false));
CO_RECORD(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *created), (comm, group, tag, created),
          co_record_comm(&call, comm);
          co_record_value(&call, tag); note_new(&call, comm, created, false));
CO_RECORD(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *created), (comm, color, key, created),
          note_made(&call, comm, created, false));
CO_RECORD(Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *created),
          (comm, split_type, key, info, created), note_made(&call, comm, created, false));
CO_RECORD(Cart_create,
          (MPI_Comm comm, int dimensions, const int dims[], const int periods[], int reorder, MPI_Comm *created),
          (comm, dimensions, dims, periods, reorder, created), note_made(&call, comm, created, false));
CO_RECORD(Cart_sub, (MPI_Comm comm, const int remains[], MPI_Comm *created), (comm, remains, created),
          note_made(&call, comm, created, false));
CO_RECORD(Graph_create,
          (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *created),
          (comm, nodes, index, edges, reorder, created), note_made(&call, comm, created, false));
CO_RECORD(Dist_graph_create,
          (MPI_Comm comm, int count, const int nodes[], const int degrees[], const int targets[], const int weights[],
           MPI_Info info, int reorder, MPI_Comm *created),
          (comm, count, nodes, degrees, targets, weights, info, reorder, created),
          note_made(&call, comm, created, false));
CO_RECORD(Dist_graph_create_adjacent,
          (MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
           const int destinations[], const int destination_weights[], MPI_Info info, int reorder, MPI_Comm *created),
          (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info, reorder,
           created),
          note_made(&call, comm, created, false));
CO_RECORD(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag, MPI_Comm *created),
          (comm, leader, bridge, remote_leader, tag, created), co_record_comm(&call, comm);
          co_record_value(&call, tag); note_new(&call, comm, created, false));
CO_RECORD(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *created), (comm, high, created),
          note_made(&call, comm, created, false));

// Its number goes before the handle does: another thread may get the handle for a new one at once.
#define FREES(name, handle_type, forget)                                                                               \
    int PMPI_##name(handle_type *handle)                                                                               \
    {                                                                                                                  \
        struct co_recorded call;                                                                                       \
        if (!co_record_begin(&call, CO_TRACE_##name)) {                                                                \
            return co_record_below()->name(handle);                                                                    \
        }                                                                                                              \
        uint32_t number = forget(handle);                                                                              \
        int code = co_recorder.below.name(handle);                                                                     \
        co_record_returned(&call, code);                                                                               \
        co_record_value(&call, number);                                                                                \
        co_record_end(&call);                                                                                          \
        return code;                                                                                                   \
    }                                                                                                                  \
    CO_EXPORT(name)

FREES(Comm_free, MPI_Comm, co_record_communicator_forget);
FREES(Comm_disconnect, MPI_Comm, co_record_communicator_forget);
FREES(Type_free, MPI_Datatype, co_record_datatype_forget);
