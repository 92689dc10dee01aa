// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that end communicators. castoff's entry leaves by its attribute (communicators.h), whoever frees the
// handle. Not hot.
#include "p2p/p2p.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/p2p/freed_receives.h"
#include "pmpi/life/process.h"
#include "pmpi/request/requests.h"

#include <stdio.h>

int PMPI_Comm_free(MPI_Comm *comm)
{
    return co_next_mpi_get()->Comm_free(comm);
}

static void describe(const void *waited_for, char *text, size_t room)
{
    (void)waited_for;
    snprintf(text, room, "sends or receives of the communicator are under way");
}

// Those, too, whose requests the program has freed.
static void wait_for_messages(struct co_p2p_context *context)
{
    struct co_wait wait = {.call = "MPI_Comm_disconnect", .for_message = true, .describe = describe};
    while (co_p2p_context_is_busy(context)) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
    co_freed_receives_finish();
}

// Unlike MPI_Comm_free it returns only when everything pending on the communicator has ended.
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    if (co_process_is_serving()) {
        struct co_communicator *entry = co_communicators_find(*comm);
        if (entry != NULL) {
            co_requests_drain(entry);
        }
        if (entry != NULL && entry->messages != NULL) {
            wait_for_messages(entry->messages);
        }
    }
    return co_next_mpi_get()->Comm_disconnect(comm);
}
