// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a nonblocking collective, and what of it is the engine's.
#include "pmpi/collective/nonblocking.h"

#include "pmpi/collective/offloaded.h"
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/datatype/datatypes.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/report_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int need_team(struct co_nonblocking *operation)
{
    int error = co_communicator_need_team(operation->communicator);
    operation->team = operation->communicator->team;
    return error;
}

struct own_team {
    struct co_team *team; // NULL: none was opened
    bool has_no_seed;     // although it tried
    uint64_t id;
};

static int open_own(void *arg, uint64_t id, const int *members, int size, int rank)
{
    struct own_team *own = arg;
    struct co_team_seed seed;
    int error = co_team_seed_open(&seed, co_process.engine, id, members, size, rank);
    own->id = id;
    own->has_no_seed = error != 0;
    if (error != 0) {
        return error;
    }
    error = co_team_open(&own->team, co_process.engine, &seed, members);
    if (error != 0) {
        co_team_seed_close(&seed, co_process.engine);
        own->team = NULL;
    }
    return error;
}

static enum co_reason open_own_team(struct co_nonblocking *operation, enum co_reason reason)
{
    const struct co_communicator *entry = operation->communicator;
    struct own_team own = {.team = NULL};
    int *members;
    reason = co_communicator_agree_on_team(entry, reason, &members, open_own, &own);
    if (own.has_no_seed) {
        co_team_seed_decline(co_process.engine, own.id, members, entry->seed.facts.ranks, entry->seed.rank);
    }
    free(members);
    if (reason == CO_TAKE) {
        operation->team = own.team;
    } else if (own.team != NULL) {
        co_team_close(own.team);
    }
    return reason;
}

static void close_team(const struct co_nonblocking *operation)
{
    co_team_close(operation->team);
}

static void give_up(const struct co_nonblocking *operation, int error)
{
    co_team_give_up(operation->team, error);
}

static void forget(const struct co_nonblocking *operation)
{
    co_task_release(operation->task);
}

const struct co_nonblocking_backend co_nonblocking_by_engine = {.need_team = need_team,
                                                                .open_own_team = open_own_team,
                                                                .close_team = close_team,
                                                                .give_up = give_up,
                                                                .forget = forget};

bool co_nonblocking_is_done(const void *operation)
{
    return co_task_is_done(((const struct co_nonblocking *)operation)->task);
}

int co_nonblocking_settle(void *operation)
{
    struct co_nonblocking *nonblocking = operation;
    return co_nonblocking_end(nonblocking, co_task_result(nonblocking->task), co_task_bytes(nonblocking->task));
}

// As native leaves it after a nonblocking collective (measured): nothing received from anybody in particular.
void co_nonblocking_fill_status(const void *operation, MPI_Status *status)
{
    (void)operation;
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    co_status_set_bytes(status, 0, false);
}

void co_nonblocking_let_go(void *operation)
{
    struct co_nonblocking *nonblocking = operation;
    nonblocking->kind->close(operation);
    while (nonblocking->held > 0) {
        co_next.Type_free(&nonblocking->held_types[--nonblocking->held]);
    }
    free(nonblocking->held_arrays);
    free(nonblocking);
}

void co_nonblocking_rest(void *operation)
{
    (void)operation;
}

void co_nonblocking_release(void *operation)
{
    forget(operation);
    co_nonblocking_let_go(operation);
}

int co_nonblocking_hold_type(struct co_nonblocking *operation, MPI_Datatype *type)
{
    MPI_Datatype held;
    if (co_datatype_predefined(*type) != NULL) {
        return 0;
    }
    int error = co_datatype_hold(*type, &held);
    if (error == 0) {
        operation->held_types[operation->held++] = *type = held;
    }
    return error;
}

struct co_nonblocking *co_nonblocking_copy(const struct co_nonblocking *operation)
{
    struct co_nonblocking *copy = malloc(operation->kind->operation_bytes);
    if (copy != NULL) {
        memcpy((void *)copy, operation, operation->kind->operation_bytes);
    }
    return copy;
}

// Of a call whose site has counted it, and that nothing will complete.
static int fail(const struct co_nonblocking *operation, MPI_Comm comm, int error)
{
    co_call_end(&operation->ticket, CO_TAKE, 0, MPI_ERR_OTHER);
    return co_failure_raise(comm, operation->kind->once[0].call, error);
}

// Of what there is of a start; the members have decided alike, so nobody may wait for this one.
static int fail_to_start(const struct co_nonblocking *operation, struct co_nonblocking *started,
                         struct co_mpi_request *request, MPI_Comm comm, int error)
{
    if (started != NULL) {
        co_nonblocking_let_go(started);
    }
    if (request != NULL) {
        co_request_handles_give(request);
    }
    co_nonblocking_backend_of(operation)->give_up(operation, error);
    return fail(operation, comm, error);
}

// For each backend by itself.
static inline __attribute__((always_inline)) int take(struct co_nonblocking *operation, bool is_offloaded,
                                                      MPI_Comm comm, MPI_Request *handle)
{
    if (operation->ticket.began_ns != 0) {
        co_report_sites_add(operation->ticket.call, CO_TAKE);
    }
    int error = is_offloaded ? co_nonblocking_by_proxies.need_team(operation) : need_team(operation);
    if (error != 0) {
        return fail(operation, comm, error);
    }
    const struct co_nonblocking_kind *kind = operation->kind;
    struct co_mpi_request *request = co_request_handles_take();
    struct co_nonblocking *started = request == NULL ? NULL : co_nonblocking_copy(operation);
    error = started == NULL ? -ENOMEM : kind->prepare(started);
    if (error == 0) {
        error = is_offloaded ? co_nonblocking_by_proxies.begin(started) : kind->begin(started);
    }
    if (error != 0) {
        return fail_to_start(operation, started, request, comm, error);
    }
    co_request_start(request, &kind->once[is_offloaded], started, operation->communicator);
    *handle = request->handle;
    return MPI_SUCCESS;
}

int co_nonblocking_take(struct co_nonblocking *operation, MPI_Comm comm, MPI_Request *handle)
{
    return __builtin_expect(operation->is_offloaded, 0) ? take(operation, true, comm, handle)
                                                        : take(operation, false, comm, handle);
}
