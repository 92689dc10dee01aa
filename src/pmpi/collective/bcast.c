// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Bcast: the program's buffer when its bytes lie in a row of the host's memory, else packed at the root and
// unpacked elsewhere. Hot.
#include "base/spare_memory.h"
#include "pmpi/life/failure.h"
#include "pmpi/life/layer.h"
#include "pmpi/datatype/packing.h"
#include "pmpi/collective/routing.h"

#include <errno.h>

struct broadcast {
    void *buffer;
    int count, root;
    MPI_Datatype type;
    struct co_communicator *communicator;
    struct co_datatype facts;
    size_t bytes;
    bool is_packed;
    uint64_t trial_ns; // 0: it is none
};

static enum co_reason route(struct broadcast *broadcast, MPI_Comm comm)
{
    enum co_reason reason = co_route_communicator(comm, &broadcast->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    if (broadcast->root < 0 || broadcast->root >= broadcast->communicator->seed.facts.ranks ||
        broadcast->buffer == MPI_IN_PLACE ||
        !co_route_arguments(broadcast->count, broadcast->type, true, &broadcast->facts)) {
        return CO_BAD_ARGUMENT;
    }
    broadcast->bytes = (size_t)broadcast->count * broadcast->facts.bytes;
    return co_route_choose(broadcast->communicator, CO_CALL_BCAST, broadcast->bytes, &broadcast->trial_ns);
}

static int broadcast_packed(const struct broadcast *broadcast)
{
    bool is_root = broadcast->root == broadcast->communicator->seed.rank;
    size_t count = (size_t)broadcast->count;
    size_t came = 0;
    void *packed = co_spare_memory_take(broadcast->bytes);
    int error = packed == NULL ? -ENOMEM : 0;
    if (error == 0 && is_root) {
        error = co_pack(packed, broadcast->buffer, count, broadcast->type, &broadcast->facts);
    }
    if (error == 0) {
        error = co_team_bcast(broadcast->communicator->team, broadcast->root, packed, broadcast->bytes, &came);
    } else {
        co_team_give_up(broadcast->communicator->team, error);
    }
    int unpack_error = 0;
    if ((error == 0 || error == -EMSGSIZE) && !is_root) {
        unpack_error = co_unpack_part(broadcast->buffer, packed, came, count, broadcast->type, &broadcast->facts);
    }
    co_spare_memory_give(packed);
    return error != 0 ? error : unpack_error;
}

static int take(struct broadcast *broadcast, MPI_Comm comm)
{
    broadcast->is_packed =
        co_packing_is_needed(broadcast->buffer, (size_t)broadcast->count, broadcast->type, &broadcast->facts);
    int error = co_communicator_need_team(broadcast->communicator);
    if (error == 0) {
        error = !broadcast->is_packed ? co_team_bcast(broadcast->communicator->team, broadcast->root, broadcast->buffer,
                                                      broadcast->bytes, NULL)
                                      : broadcast_packed(broadcast);
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Bcast", error);
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (co_layer_is_off()) {
        return co_next.Bcast(buffer, count, type, root, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_BCAST);
    struct broadcast broadcast = {.buffer = buffer, .count = count, .root = root, .type = type};
    enum co_reason reason = route(&broadcast, comm);
    int code = reason == CO_TAKE ? take(&broadcast, comm) : co_next.Bcast(buffer, count, type, root, comm);
    co_route_trial_end(broadcast.communicator, broadcast.trial_ns, code);
    // Between groups, a rank of the root's group that is not the root has no part in it: what it gives is not looked
    // at.
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : count, type, code);
    return code;
}

CO_EXPORT(Bcast);
