// SPDX-License-Identifier: BSD-3-Clause
//
// The recorder: a preload of its own in front of castoff's (libcastoff-record.so), loaded only when a trace is wanted,
// so that castoff pays nothing for it. It defines the functions of MPI that a trace tells of, calls the ones behind it,
// castoff's or native MPI's, and writes a record when they return. What is below the program's call (castoff's own
// messages) never comes by. Hot; any thread.
#ifndef CASTOFF_RECORD_RECORDER_H
#define CASTOFF_RECORD_RECORDER_H

#include "base/clock.h"
#include "mpi_below/next_mpi.h"
#include "record/record_handles.h"
#include "record/trace/trace_writer.h"

// C programs call MPI_X, Fortran and tools PMPI_X.
#define CO_EXPORT(name) CO_EXPORT_AS(MPI_##name, PMPI_##name)

// The functions behind ours.
#define CO_TRACE_CALL(name, family, fields) __typeof__(PMPI_##name) *name;
#define CO_TRACE_MARK(name, fields)
struct co_record_below {
#include "record/trace/trace_kinds.h"
};
#undef CO_TRACE_CALL
#undef CO_TRACE_MARK

// A thread that calls MPI.
struct co_record_thread {
    struct co_trace_stream *stream;
    unsigned depth; // of calls within calls
    struct co_record_known communicators[CO_RECORD_COMMUNICATORS], types[CO_RECORD_TYPES];
    int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX];
};

struct co_recorder {
    _Atomic bool is_on;
    _Atomic bool is_resolved;
    struct co_record_below below;
    MPI_Request complete; // native's handle for what is complete when it is made; NULL: it has none
    struct co_trace_writer writer;
};

extern struct co_recorder co_recorder;
extern _Thread_local struct co_record_thread *co_record_this_thread __attribute__((tls_model("initial-exec")));

void co_record_resolve(void);
// The calling thread's; NULL: there is no memory, or no room on the disk.
struct co_record_thread *co_record_join(void);

static inline const struct co_record_below *co_record_below(void)
{
    if (!co_load_acquire(&co_recorder.is_resolved)) { // acquire R1
        co_record_resolve();
    }
    return &co_recorder.below;
}

// One call on its way.
struct co_recorded {
    struct co_record_thread *thread;
    struct co_trace_record record;
    int64_t *next; // value
    uint32_t before;
    bool has_failed;
};

static inline bool co_record_begin(struct co_recorded *call, enum co_trace_kind kind)
{
    if (!co_load_acquire(&co_recorder.is_on)) { // acquire R2: all that the start wrote
        return false;
    }
    struct co_record_thread *thread = co_record_this_thread;
    if (thread == NULL) {
        thread = co_record_join();
        if (thread == NULL) {
            return false;
        }
    }
    call->thread = thread;
    call->record.kind = (uint16_t)kind;
    call->record.flags = thread->depth++ > 0 ? CO_TRACE_NESTED : 0;
    call->record.begin_ns = co_clock_now_ns();
    call->before = co_trace_stream_enter(thread->stream, kind, call->record.begin_ns);
    return true;
}

// The function behind has answered; values follow.
static inline void co_record_returned(struct co_recorded *call, int code)
{
    struct co_trace_record *record = &call->record;
    record->end_ns = co_clock_now_ns();
    record->row_count = record->text_bytes = 0;
    record->times = 1;
    record->rows = call->thread->rows;
    call->next = record->value;
    call->has_failed = code != MPI_SUCCESS;
    if (call->has_failed) {
        record->flags |= CO_TRACE_FAILED;
        record->error = (uint32_t)code;
    }
}

static inline void co_record_end(struct co_recorded *call)
{
    co_trace_stream_put(call->thread->stream, &call->record);
    co_trace_stream_leave(call->thread->stream, call->before);
    call->thread->depth--;
}

// A further row; what is full is written.
static inline int64_t *co_record_row(struct co_recorded *call)
{
    struct co_trace_record *record = &call->record;
    if (record->row_count == CO_TRACE_ROWS_MAX) {
        co_trace_stream_put(call->thread->stream, record);
        record->flags |= CO_TRACE_CONTINUED;
        record->row_count = 0;
    }
    return record->rows[record->row_count++];
}

static inline void co_record_value(struct co_recorded *call, int64_t value)
{
    *call->next++ = value;
}

// 0 stands for the null handle, and one number for all requests that were complete when they were made.
static inline int64_t co_record_handle_of(MPI_Request handle)
{
    if (handle == co_recorder.complete) {
        return CO_TRACE_COMPLETE;
    }
    return handle == co_next.request_null ? 0 : (int64_t)(intptr_t)handle;
}

static inline void co_record_request(struct co_recorded *call, const MPI_Request *handle)
{
    co_record_value(call, call->has_failed ? 0 : co_record_handle_of(*handle));
}

// By number; what it is goes before the record when it is new. Of a call that has failed nothing is known: number 0.
static inline const struct co_record_known *co_record_look_up(struct co_recorded *call, MPI_Comm comm)
{
    static const struct co_record_known unknown;
    const struct co_record_known *slot = &call->thread->communicators[co_record_slot(comm, CO_RECORD_COMMUNICATORS)];
    if (call->has_failed) {
        return &unknown;
    }
    return co_record_is_remembered(slot, comm, &co_record_communicators_generation)
               ? slot
               : co_record_communicator(call->thread, comm, call->record.end_ns);
}

static inline void co_record_comm(struct co_recorded *call, MPI_Comm comm)
{
    co_record_value(call, co_record_look_up(call, comm)->number);
}

static inline void co_record_type(struct co_recorded *call, MPI_Datatype type)
{
    const struct co_record_known *slot = &call->thread->types[co_record_slot(type, CO_RECORD_TYPES)];
    if (!call->has_failed && !co_record_is_remembered(slot, type, &co_record_types_generation)) {
        slot = co_record_datatype(call->thread, type, call->record.end_ns);
    }
    co_record_value(call, call->has_failed ? 0 : slot->number);
}

static inline void co_record_message(struct co_recorded *call, int count, MPI_Datatype type, int peer, int tag,
                                     MPI_Comm comm)
{
    co_record_value(call, count);
    co_record_type(call, type);
    co_record_value(call, peer);
    co_record_value(call, tag);
    co_record_comm(call, comm);
}

static inline void co_record_status(struct co_recorded *call, const MPI_Status *status)
{
    co_record_value(call, status->MPI_SOURCE);
    co_record_value(call, status->MPI_TAG);
    co_record_value(call, (int64_t)status->_ucount);
}

// Of what can have been cancelled.
static inline void co_record_received(struct co_recorded *call, const MPI_Status *status)
{
    co_record_status(call, status);
    co_record_value(call, status->_cancelled != 0);
}

// Empty as native leaves it: before a call that may fail.
#define CO_RECORD_NO_STATUS ((MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG})

// A test or probe that found nothing; what was found need not be noted then.
static inline void co_record_in_vain_unless(struct co_recorded *call, const int *flag)
{
    if (!call->has_failed && !*flag) {
        call->record.flags |= CO_TRACE_IN_VAIN;
    }
}

// A function that is recorded: its name, parameters and arguments in parentheses, and what is noted when it has
// returned `code`, as statements about `call`.
#define CO_RECORD(name, parameters, arguments, ...)                                                                    \
    int PMPI_##name parameters                                                                                         \
    {                                                                                                                  \
        struct co_recorded call;                                                                                       \
        if (!co_record_begin(&call, CO_TRACE_##name)) {                                                                \
            return co_record_below()->name arguments;                                                                  \
        }                                                                                                              \
        int code = co_recorder.below.name arguments;                                                                   \
        co_record_returned(&call, code);                                                                               \
        __VA_ARGS__;                                                                                                   \
        co_record_end(&call);                                                                                          \
        return code;                                                                                                   \
    }                                                                                                                  \
    CO_EXPORT(name)

// Opens the trace when MPI_Init has returned; says why where it cannot.
void co_record_open(void);
void co_record_close(void);

#endif
