// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Init, MPI_Init_thread, MPI_Finalize and MPI_Abort, recorded.
#include "base/settings.h"
#include "record/recorder.h"

// The beginning of a call that could not be recorded when it began.
static void note_start(enum co_trace_kind kind, uint64_t began_ns, int code)
{
    struct co_recorded call;
    if (code != MPI_SUCCESS) {
        return;
    }
    co_record_open();
    if (co_record_begin(&call, kind)) {
        co_record_returned(&call, code);
        co_record_look_up(&call, co_next.comm_world); // numbers 1 and 2
        co_record_look_up(&call, co_next.comm_self);
        call.record.begin_ns = began_ns;
        co_record_end(&call);
    }
}

int PMPI_Init(int *argc, char ***argv)
{
    const struct co_record_below *below = co_record_below();
    co_settings_load();
    uint64_t began_ns = co_clock_now_ns();
    int code = below->Init(argc, argv);
    note_start(CO_TRACE_Init, began_ns, code);
    return code;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const struct co_record_below *below = co_record_below();
    co_settings_load();
    uint64_t began_ns = co_clock_now_ns();
    int code = below->Init_thread(argc, argv, required, provided);
    note_start(CO_TRACE_Init_thread, began_ns, code);
    return code;
}

int PMPI_Finalize(void)
{
    struct co_recorded call;
    if (!co_record_begin(&call, CO_TRACE_Finalize)) {
        return co_record_below()->Finalize();
    }
    int code = co_recorder.below.Finalize();
    co_record_returned(&call, code);
    co_record_end(&call);
    co_record_close();
    return code;
}

CO_EXPORT(Init);
CO_EXPORT(Init_thread);
CO_EXPORT(Finalize);

CO_RECORD(Abort, (MPI_Comm comm, int error_code), (comm, error_code), co_record_comm(&call, comm));
