// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a request of ours between its start and its completion. Nothing here holds a lock across a native call.
#include "pmpi/request/requests.h"

#include "base/clock.h"
#include "base/plain_counters.h"
#include "pmpi/life/failure.h"
#include "pmpi/p2p/freed_receives.h"
#include "pmpi/p2p/messages.h"
#include "pmpi/request/persistent.h"
#include "pmpi/life/progress_hook.h"

#include <sched.h>

_Atomic size_t co_requests_outstanding;

#define CLOCK_EVERY 32 // turns of a wait, the longest of which take a millisecond

static const struct co_request_kind *kind_of(const struct co_mpi_request *request)
{
    return co_load_acquire(&request->kind); // acquire E1
}

bool co_request_is_done(const struct co_mpi_request *request)
{
    return request->is_settled || kind_of(request)->is_done(request->operation);
}

bool co_request_poll(const struct co_mpi_request *request)
{
    co_freed_receives_finish();
    if (co_request_is_done(request)) {
        return true;
    }
    co_engine_poll(co_process.engine);
    if (co_request_is_done(request)) {
        return true;
    }
    // A peer may need our native side before it can join the operation.
    co_progress_native_in_vain();
    return co_request_is_done(request);
}

static struct co_wait wait_of(const struct co_mpi_request *request, const char *call)
{
    const struct co_request_kind *kind = kind_of(request);
    return (struct co_wait){.call = call,
                            .is_over = kind->is_done,
                            .for_message = kind->is_message,
                            .describe = kind->describe,
                            .waited_for = request->operation};
}

struct co_wait co_request_wait_of_any(int count, const MPI_Request handles[], const char *call)
{
    for (int i = 0; i < count; i++) {
        struct co_mpi_request *request = co_request_of(handles[i]);
        if (request != NULL && kind_of(request)->is_message) {
            return wait_of(request, call);
        }
    }
    return (struct co_wait){.call = call};
}

void co_request_wait(const struct co_mpi_request *request, const char *call)
{
    co_freed_receives_finish();
    if (co_request_is_done(request)) {
        return;
    }
    struct co_wait wait = wait_of(request, call);
    while (!co_request_is_done(request)) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
}

bool co_request_wait_for(const struct co_mpi_request *request, struct co_wait *wait, const char *call,
                         uint64_t patience_ns)
{
    co_freed_receives_finish();
    if (co_request_is_done(request)) {
        return true;
    }
    if (wait->waited_for != request->operation) {
        *wait = wait_of(request, call);
    }
    uint64_t end_ns = 0; // known with the first look at the clock
    for (unsigned turns = 1;; turns++) {
        co_engine_wait_turn(co_process.engine, wait);
        if (co_request_is_done(request)) {
            return true;
        }
        if (turns % CLOCK_EVERY == 0) {
            uint64_t now_ns = co_clock_now_ns();
            end_ns = end_ns == 0 ? now_ns + patience_ns : end_ns;
            if (now_ns >= end_ns) {
                return false;
            }
        }
    }
}

// A thread may look at requests that others complete (co_requests_drain): a guard is held while one looks, while the
// operation is settled, behind which nobody looks into it, and while the kind goes. Where threads take turns there is
// nobody else.
static bool guard_try(struct co_mpi_request *request)
{
    return co_threads_take_turns ||
           !atomic_exchange_explicit(&request->is_guarded, true, memory_order_acquire); // acquire J1
}

static void guard_drop(struct co_mpi_request *request)
{
    if (!co_threads_take_turns) {
        co_store_release(&request->is_guarded, false); // release J1
    }
}

// Messages are not looked at so.
static void guard_take(struct co_mpi_request *request, bool is_message)
{
    while (!is_message && !guard_try(request)) {
        sched_yield(); // who has it may have been preempted
    }
}

static void settle(struct co_mpi_request *request)
{
    if (!request->is_settled) {
        const struct co_request_kind *kind = kind_of(request);
        guard_take(request, kind->is_message);
        if (!request->is_settled) { // by another thread that looks at it, meanwhile
            request->result = kind->settle(request->operation);
            request->is_settled = true;
        }
        if (!kind->is_message) {
            guard_drop(request);
        }
    }
}

bool co_request_has_failed(struct co_mpi_request *request)
{
    settle(request);
    return request->result != 0;
}

void co_request_peek(struct co_mpi_request *request, MPI_Status *status)
{
    settle(request);
    if (status != MPI_STATUS_IGNORE) {
        kind_of(request)->fill_status(request->operation, status);
    }
}

// The request is free for others, or for the next start; its operation is gone, or looks after itself.
static void unbind(struct co_mpi_request *request)
{
    struct co_communicator *communicator = request->communicator;
    bool is_message = kind_of(request)->is_message;
    guard_take(request, is_message);
    co_store_release(&request->kind, NULL); // release E1
    if (!is_message) {
        guard_drop(request);
        co_plain_counter_let_go(&communicator->pending); // release E2, read by E2 in change_side: the operation is over
    }
    co_communicator_drop(communicator);
    co_plain_counter_add(&co_requests_outstanding, (size_t)-1); // relaxed: see co_requests_exist
    if (request->persistent == NULL) {
        co_request_handles_give(request);
    }
}

// Its result; the operation is gone. The request is still bound.
static int conclude(struct co_mpi_request *request, const struct co_request_kind *kind, MPI_Status *status)
{
    if (kind->conclude != NULL && !request->is_settled) {
        return kind->conclude(request, status);
    }
    co_request_peek(request, status);
    kind->release(request->operation);
    return request->result;
}

// The handle leads nowhere any more.
static void give_up_handle(MPI_Request *handle, struct co_mpi_request *request)
{
    if (request->persistent != NULL) {
        co_persistent_release(request->persistent);
        request->persistent = NULL;
    }
    *handle = co_next.request_null;
}

// Its error; the first of several is noted.
static int complete(MPI_Request *handle, struct co_mpi_request *request, MPI_Status *status,
                    struct co_request_failure *failure)
{
    const struct co_request_kind *kind = kind_of(request);
    int error = conclude(request, kind, status);
    if (error != 0 && failure->error == 0) {
        *failure = (struct co_request_failure){error, kind->call, request->communicator->comm};
    }
    if (request->persistent == NULL || error != 0) {
        give_up_handle(handle, request);
    }
    unbind(request);
    return error;
}

static int raise(const struct co_request_failure *failure, const char *call)
{
    co_failure_log(failure->call, failure->error);
    return co_failure_raise_code(failure->comm, call, co_failure_code(failure->error));
}

int co_request_complete(MPI_Request *handle, struct co_mpi_request *request, MPI_Status *status, const char *call)
{
    struct co_request_failure failure = {.error = 0};
    return complete(handle, request, status, &failure) == 0 ? MPI_SUCCESS : raise(&failure, call);
}

void co_request_complete_entry(MPI_Request *handle, struct co_mpi_request *request, MPI_Status *statuses, int index,
                               struct co_request_failure *failure)
{
    MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
    int error = complete(handle, request, status, failure);
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = error == 0 ? MPI_SUCCESS : co_failure_code(error);
    }
}

int co_request_conclude_array(const struct co_request_failure *failure, int code, const char *call)
{
    if (failure->error == 0) {
        return code;
    }
    if (code == MPI_SUCCESS) {
        raise(failure, call);
    }
    return MPI_ERR_IN_STATUS;
}

int co_request_cancel(struct co_mpi_request *request)
{
    const struct co_request_kind *kind = kind_of(request);
    if (kind->cancel == NULL) {
        return co_failure_raise_code(co_next.comm_null, "MPI_Cancel", MPI_ERR_REQUEST);
    }
    kind->cancel(request->operation);
    return MPI_SUCCESS;
}

int co_request_free(MPI_Request *handle, struct co_mpi_request *request)
{
    const struct co_request_kind *kind = kind_of(request);
    if (!co_request_is_done(request) && kind->detach == NULL) {
        return co_failure_raise_code(co_next.comm_null, "MPI_Request_free", MPI_ERR_REQUEST);
    }
    bool is_under_way = !co_request_is_done(request) && kind->detach(request->operation);
    if (!is_under_way) {
        settle(request); // its error is nobody's
        kind->release(request->operation);
    }
    give_up_handle(handle, request);
    unbind(request);
    co_add_relaxed(&co_request_handles_renewed, 1); // relaxed: another thread's look sees it the next time
    return MPI_SUCCESS;
}

struct drain {
    const struct co_communicator *communicator;
    struct co_wait wait;
};

// Another thread may complete it at any moment: then its kind is gone, or it is one of other things. Messages are
// waited for by their context.
static bool is_under_way(struct co_mpi_request *request, const struct co_communicator *communicator)
{
    if (!guard_try(request)) {
        return true; // who has it is about to end it
    }
    const struct co_request_kind *kind = kind_of(request);
    bool is_ours = kind != NULL && !kind->is_message && request->communicator == communicator;
    bool is_under_way = is_ours && !request->is_settled && !kind->is_done(request->operation);
    guard_drop(request);
    return is_under_way;
}

static void drain_one(struct co_mpi_request *request, void *arg)
{
    struct drain *drain = arg;
    while (is_under_way(request, drain->communicator)) {
        co_engine_wait_turn(co_process.engine, &drain->wait);
    }
}

void co_requests_drain(const struct co_communicator *communicator)
{
    struct drain drain = {.communicator = communicator, .wait = {.call = "MPI_Comm_disconnect"}};
    co_request_handles_visit(drain_one, &drain);
}
