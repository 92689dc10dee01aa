// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Barrier and MPI_Allreduce, which castoff does not carry: all members wait for each other in them, so it is behind
// them that they may try broadcasts both ways. One that native has refused on this rank has not been made, and the
// others know nothing of it. Any thread; hot: a look-up of the communicator.
#include "engine/decide/meetings.h"
#include "pmpi/collective/routing.h"
#include "pmpi/life/failure.h"
#include "pmpi/life/process.h"

#include <errno.h>
#include <limits.h>

static int broadcast(void *arg, void *data, size_t bytes)
{
    const struct co_communicator *entry = arg;
    return bytes > INT_MAX ? -EINVAL : co_failure_errno(co_next.Bcast(data, (int)bytes, co_next.byte, 0, entry->comm));
}

static int barrier(void *arg)
{
    const struct co_communicator *entry = arg;
    return co_failure_errno(co_next.Barrier(entry->comm));
}

static int minimum(void *arg, int *values, int count)
{
    const struct co_communicator *entry = arg;
    return co_failure_errno(
        co_next.Allreduce(MPI_IN_PLACE, values, count, co_next.integer, co_next.minimum, entry->comm));
}

static __attribute__((noinline)) void meet(struct co_communicator *entry)
{
    struct co_meetings_below below = {.broadcast = broadcast, .barrier = barrier, .minimum = minimum, .arg = entry};
    struct co_team *team = co_communicator_need_team(entry) == 0 ? entry->team : NULL;
    co_meetings_hold(entry->meetings, co_process.engine, team, &entry->seed.facts, entry->seed.rank, &below);
}

// The code of the call, which is over.
static int take_chance(MPI_Comm comm, int code)
{
    struct co_communicator *entry = NULL;
    if (!co_process_is_off() && co_route_took_part(code) && co_route_communicator(comm, &entry) == CO_TAKE &&
        entry->meetings != NULL) {
        entry->meetings->chances++;
        if (__builtin_expect(co_meetings_are_due(entry->meetings), 0)) {
            meet(entry);
        }
    }
    return code;
}

int PMPI_Barrier(MPI_Comm comm)
{
    return take_chance(comm, co_next.Barrier(comm));
}

// Of nothing nobody waits for anybody.
int PMPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm)
{
    int code = co_next.Allreduce(send, receive, count, type, operation, comm);
    return count > 0 ? take_chance(comm, code) : code;
}

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Allreduce_c(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op operation,
                     MPI_Comm comm)
{
    int code = co_next.Allreduce_c(send, receive, count, type, operation, comm);
    return count > 0 ? take_chance(comm, code) : code;
}

#endif
