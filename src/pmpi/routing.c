// SPDX-License-Identifier: BSD-3-Clause
//
// The reasons that are found above the engine, and the check of arguments.
#include "pmpi/routing.h"

#include "pmpi/layer.h"

enum co_reason co_route_communicator(MPI_Comm comm, struct co_communicator **communicator)
{
    if (co_layer.engine == NULL) {
        return co_layer.idle_reason;
    }
    struct co_communicator *found = co_communicators_find(comm);
    if (found == NULL) {
        return CO_UNKNOWN_COMMUNICATOR;
    }
    if (found->reason != CO_TAKE) {
        return found->reason;
    }
    if (co_load_acquire(&found->is_switched_off)) { // acquire C3
        return CO_HINT_OFF;
    }
    *communicator = found;
    return CO_TAKE;
}

// Native checks the arguments of a send to nobody as it checks those of the call, and says so on our own communicator,
// where errors are returned. The buffer is not part of the question.
static bool is_valid_to_send(int count, MPI_Datatype type)
{
    static char anything;
    return co_next.Send(&anything, count, type, MPI_PROC_NULL, 0, co_layer.self) == MPI_SUCCESS;
}

bool co_route_arguments(int count, MPI_Datatype type, bool sends, struct co_datatype *facts)
{
    if (count < 0 || !co_datatype_read(type, facts)) {
        return false;
    }
    return facts->is_predefined || !sends || is_valid_to_send(count, type);
}

enum co_reason co_route_explain(enum co_reason reason, MPI_Comm comm, int code)
{
    int is_inter = 0, size = 0;
    // After an error the handle may be no communicator at all.
    if (reason != CO_UNKNOWN_COMMUNICATOR || !co_layer.counts || code != MPI_SUCCESS) {
        return reason;
    }
    co_next.Comm_test_inter(comm, &is_inter);
    if (is_inter) {
        return CO_INTERCOMMUNICATOR;
    }
    co_next.Comm_size(comm, &size);
    return size == 1 ? CO_ONE_RANK : reason;
}
