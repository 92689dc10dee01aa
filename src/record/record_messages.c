// SPDX-License-Identifier: BSD-3-Clause
//
// Sends, receives, both at once, and the persistent ones, recorded. Hot; any thread.
#include "record/recorder.h"

#define SEND_PARAMETERS const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm
#define SEND_ARGUMENTS address, count, type, destination, tag, comm
#define SEND_NOTES co_record_message(&call, count, type, destination, tag, comm)

#define BLOCKING_SEND(name) CO_RECORD(name, (SEND_PARAMETERS), (SEND_ARGUMENTS), SEND_NOTES)
#define STARTED_SEND(name)                                                                                             \
    CO_RECORD(name, (SEND_PARAMETERS, MPI_Request * handle), (SEND_ARGUMENTS, handle), SEND_NOTES;                     \
              co_record_request(&call, handle))

BLOCKING_SEND(Send);
BLOCKING_SEND(Bsend);
BLOCKING_SEND(Ssend);
BLOCKING_SEND(Rsend);
STARTED_SEND(Isend);
STARTED_SEND(Ibsend);
STARTED_SEND(Issend);
STARTED_SEND(Irsend);
STARTED_SEND(Send_init);
STARTED_SEND(Bsend_init);
STARTED_SEND(Ssend_init);
STARTED_SEND(Rsend_init);

#define RECEIVE_PARAMETERS                                                                                             \
    void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *handle
#define STARTED_RECEIVE(name)                                                                                          \
    CO_RECORD(name, (RECEIVE_PARAMETERS), (address, count, type, source, tag, comm, handle),                           \
              co_record_message(&call, count, type, source, tag, comm);                                                \
              co_record_request(&call, handle))

STARTED_RECEIVE(Irecv);
STARTED_RECEIVE(Recv_init);

int PMPI_Recv(void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Recv)) {
        return co_record_below()->Recv(address, count, type, source, tag, comm, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Recv(address, count, type, source, tag, comm, status);
    co_record_returned(&call, code);
    co_record_message(&call, count, type, source, tag, comm);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Sendrecv(const void *send_address, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                  void *address, int count, MPI_Datatype type, int source, int receive_tag, MPI_Comm comm,
                  MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Sendrecv)) {
        return co_record_below()->Sendrecv(send_address, send_count, send_type, destination, send_tag, address, count,
                                           type, source, receive_tag, comm, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Sendrecv(send_address, send_count, send_type, destination, send_tag, address, count,
                                          type, source, receive_tag, comm, status);
    co_record_returned(&call, code);
    co_record_message(&call, send_count, send_type, destination, send_tag, comm);
    co_record_value(&call, count);
    co_record_type(&call, type);
    co_record_value(&call, source);
    co_record_value(&call, receive_tag);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Sendrecv_replace(void *address, int count, MPI_Datatype type, int destination, int send_tag, int source,
                          int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Sendrecv_replace)) {
        return co_record_below()->Sendrecv_replace(address, count, type, destination, send_tag, source, receive_tag,
                                                   comm, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Sendrecv_replace(address, count, type, destination, send_tag, source, receive_tag,
                                                  comm, status);
    co_record_returned(&call, code);
    co_record_message(&call, count, type, destination, send_tag, comm);
    co_record_value(&call, source);
    co_record_value(&call, receive_tag);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

CO_EXPORT(Recv);
CO_EXPORT(Sendrecv);
CO_EXPORT(Sendrecv_replace);

CO_RECORD(Buffer_attach, (void *address, int bytes), (address, bytes), co_record_value(&call, bytes));
CO_RECORD(Buffer_detach, (void *address, int *bytes), (address, bytes),
          co_record_value(&call, code == MPI_SUCCESS && bytes != NULL ? *bytes : 0));
