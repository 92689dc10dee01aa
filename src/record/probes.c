// SPDX-License-Identifier: BSD-3-Clause
//
// Probes, matched or not, and receives of matched messages, recorded. Looks in vain are counted. Hot; any thread.
#include "record/recorder.h"

static void note_asked(struct co_recorded *call, int source, int tag, MPI_Comm comm)
{
    co_record_value(call, source);
    co_record_value(call, tag);
    co_record_comm(call, comm);
}

static void note_message(struct co_recorded *call, const MPI_Message *message)
{
    co_record_value(call, call->has_failed ? 0 : (int64_t)(intptr_t)*message);
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Probe)) {
        return co_record_below()->Probe(source, tag, comm, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Probe(source, tag, comm, status);
    co_record_returned(&call, code);
    note_asked(&call, source, tag, comm);
    co_record_status(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Iprobe)) {
        return co_record_below()->Iprobe(source, tag, comm, flag, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Iprobe(source, tag, comm, flag, status);
    co_record_returned(&call, code);
    note_asked(&call, source, tag, comm);
    co_record_in_vain_unless(&call, flag);
    co_record_status(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Mprobe)) {
        return co_record_below()->Mprobe(source, tag, comm, message, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Mprobe(source, tag, comm, message, status);
    co_record_returned(&call, code);
    note_asked(&call, source, tag, comm);
    note_message(&call, message);
    co_record_status(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Improbe)) {
        return co_record_below()->Improbe(source, tag, comm, flag, message, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Improbe(source, tag, comm, flag, message, status);
    co_record_returned(&call, code);
    note_asked(&call, source, tag, comm);
    co_record_in_vain_unless(&call, flag);
    note_message(&call, message);
    co_record_status(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Mrecv(void *address, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Mrecv)) {
        return co_record_below()->Mrecv(address, count, type, message, status);
    }
    MPI_Message matched = message == NULL ? NULL : *message;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Mrecv(address, count, type, message, status);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    co_record_type(&call, type);
    note_message(&call, &matched);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Imrecv(void *address, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *handle)
{
    struct co_recorded call;
    if (!co_record_begin(&call, CO_TRACE_Imrecv)) {
        return co_record_below()->Imrecv(address, count, type, message, handle);
    }
    MPI_Message matched = message == NULL ? NULL : *message;
    int code = co_recorder.below.Imrecv(address, count, type, message, handle);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    co_record_type(&call, type);
    note_message(&call, &matched);
    co_record_request(&call, handle);
    co_record_end(&call);
    return code;
}

CO_EXPORT(Probe);
CO_EXPORT(Iprobe);
CO_EXPORT(Mprobe);
CO_EXPORT(Improbe);
CO_EXPORT(Mrecv);
CO_EXPORT(Imrecv);
