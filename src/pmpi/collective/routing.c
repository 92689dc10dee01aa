// SPDX-License-Identifier: BSD-3-Clause
//
// The reasons that are found above the engine, and the check of arguments.
#include "pmpi/collective/routing.h"

#include "base/log.h"
#include "pmpi/datatype/known_types.h"
#include "pmpi/report/report_sites.h"

#include <limits.h>

// Native checks the arguments of a send to nobody as it checks those of the call, and says so on our own communicator,
// where errors are returned. The buffer is not part of the question, and of the count it is the sign alone.
static bool is_valid_to_send(ptrdiff_t count, MPI_Datatype type)
{
    static char anything;
    return co_next.Send(&anything, (int)(count > INT_MAX ? INT_MAX : count), type, MPI_PROC_NULL, 0, co_process.self) ==
           MPI_SUCCESS;
}

bool co_route_program_type(ptrdiff_t count, MPI_Datatype type, bool sends, struct co_datatype *facts)
{
    const struct co_known_type *known = co_known_type_find(type);
    if (known != NULL && count >= 0 && (!sends || co_known_type_is_accepted(known, true))) {
        *facts = known->facts;
        return true;
    }
    if (count < 0 || !co_datatype_read(type, facts) || (sends && !is_valid_to_send(count, type))) {
        return false;
    }
    if (sends) {
        co_known_type_meet(type, facts, true);
    }
    return true;
}

enum co_reason co_route_first_calls(struct co_communicator *communicator, enum co_call call, int root, size_t bytes,
                                    uint64_t *trial_ns)
{
    if (!co_trials_count(co_process.engine, &communicator->seed.facts, call, bytes)) {
        return co_team_decide(co_process.engine, &communicator->seed.facts, call, bytes);
    }
    unsigned class = co_trials_class(call, bytes);
    if (communicator->trials == CO_TRIALS_COUNTED) {
        communicator->first_class = (uint16_t) class;
    } else if (communicator->first_class != class) {
        communicator->first_class = CO_TRIALS_NO_CLASS;
    }
    if (++communicator->trials == CO_TRIALS_OPEN) {
        if (co_communicator_need_team(communicator) == 0) {
            co_team_trials_open(communicator->team, communicator->first_class);
            return co_team_choose(communicator->team, call, root, bytes, trial_ns);
        }
        communicator->trials = CO_TRIALS_NONE; // the others have been told, and their exchange fails
    }
    return co_team_decide(co_process.engine, &communicator->seed.facts, call, bytes);
}

bool co_route_was_refused(int code)
{
    static const int refusals[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_COMM,
                                   MPI_ERR_ROOT,   MPI_ERR_OP,    MPI_ERR_ARG};
    int class = MPI_ERR_UNKNOWN;
    if (co_next.Error_class(code, &class) != MPI_SUCCESS) {
        return true;
    }
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (class == refusals[i]) {
            return true;
        }
    }
    return false;
}

enum co_reason co_route_explain(enum co_reason reason, MPI_Comm comm, int code)
{
    int is_inter = 0, size = 0;
    if (reason != CO_UNKNOWN_COMMUNICATOR || code != MPI_SUCCESS) {
        return reason;
    }
    co_next.Comm_test_inter(comm, &is_inter);
    if (is_inter) {
        return CO_INTERCOMMUNICATOR;
    }
    co_next.Comm_size(comm, &size);
    return size == 1 ? CO_ONE_RANK : reason;
}

// Native has accepted the arguments, so it can be asked for the size; after an error they may be anything.
static size_t bytes_of(ptrdiff_t count, MPI_Datatype type, int code)
{
    const struct co_datatype *predefined = co_datatype_predefined(type);
    struct co_datatype facts;
    if (code != MPI_SUCCESS || count <= 0) {
        return 0;
    }
    if (predefined == NULL) {
        predefined = co_datatype_read(type, &facts) ? &facts : NULL;
    }
    return predefined == NULL ? 0 : (size_t)count * predefined->bytes;
}

void co_route_count(const struct co_call_ticket *ticket, enum co_reason reason, MPI_Comm comm, ptrdiff_t count,
                    MPI_Datatype type, int code)
{
    enum co_reason explained = co_route_explain(reason, comm, code);
    size_t bytes = bytes_of(count, type, code);
    co_call_count(ticket, explained, bytes, code);
    co_log(CO_LOG_TRACE, CO_SUBSYS_PMPI, "%s of %zu bytes: %s%s%s", co_call_text(ticket->call), bytes,
           explained == CO_TAKE ? "taken" : "declined: ", explained == CO_TAKE ? "" : co_reason_text(explained),
           code == MPI_SUCCESS ? "" : ", failed");
    co_report_sites_add(ticket->call, explained);
}
