// SPDX-License-Identifier: BSD-3-Clause
//
// Calls on communicators in which castoff has nothing to add to native, or only to wait: entries leave by their
// attribute, idup and intercommunicators are not followed. Not hot.
#include "pmpi/layer.h"
#include "pmpi/communicators.h"
#include "pmpi/requests.h"

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return co_next_mpi_get()->Comm_idup(comm, newcomm, request);
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm bridge_comm, int remote_leader, int tag,
                          MPI_Comm *newintercomm)
{
    return co_next_mpi_get()->Intercomm_create(local_comm, local_leader, bridge_comm, remote_leader, tag, newintercomm);
}

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

CO_EXPORT(Comm_idup);
CO_EXPORT(Intercomm_create);
CO_EXPORT(Comm_free);
CO_EXPORT(Comm_disconnect);
