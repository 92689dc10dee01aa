// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that end communicators. castoff's entry leaves by its attribute (communicators.h), whoever frees the
// handle. Not hot.
#include "pmpi/layer.h"
#include "pmpi/communicators.h"
#include "pmpi/requests.h"

int PMPI_Comm_free(MPI_Comm *comm)
{
    return co_next_mpi_get()->Comm_free(comm);
}

// Unlike MPI_Comm_free it returns only when everything pending on the communicator has ended.
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    if (co_layer_is_serving()) {
        struct co_communicator *entry = co_communicators_find(*comm);
        if (entry != NULL) {
            co_requests_drain(entry);
        }
    }
    return co_next_mpi_get()->Comm_disconnect(comm);
}

CO_EXPORT(Comm_free);
CO_EXPORT(Comm_disconnect);
