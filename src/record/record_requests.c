// SPDX-License-Identifier: BSD-3-Clause
//
// What starts persistent requests, and what ends requests otherwise than by completing them, recorded. Hot.
#include "record/recorder.h"

// The handle as it was before.
#define ON_REQUEST(name)                                                                                               \
    int PMPI_##name(MPI_Request *handle)                                                                               \
    {                                                                                                                  \
        struct co_recorded call;                                                                                       \
        if (!co_record_begin(&call, CO_TRACE_##name)) {                                                                \
            return co_record_below()->name(handle);                                                                    \
        }                                                                                                              \
        MPI_Request before = handle == NULL ? co_next.request_null : *handle;                                          \
        int code = co_recorder.below.name(handle);                                                                     \
        co_record_returned(&call, code);                                                                               \
        co_record_value(&call, co_record_handle_of(before));                                                           \
        co_record_end(&call);                                                                                          \
        return code;                                                                                                   \
    }                                                                                                                  \
    CO_EXPORT(name)

ON_REQUEST(Start);
ON_REQUEST(Cancel);
ON_REQUEST(Request_free);

static void note_started(struct co_recorded *call, int count, const MPI_Request handles[])
{
    co_record_value(call, count);
    for (int i = 0; !call->has_failed && i < count; i++) {
        co_record_row(call)[0] = co_record_handle_of(handles[i]);
    }
}

CO_RECORD(Startall, (int count, MPI_Request handles[]), (count, handles), note_started(&call, count, handles));
