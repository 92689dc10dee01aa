// SPDX-License-Identifier: BSD-3-Clause
//
// Which way a collective goes: taken by the engine, or native for a reason. Common to the calls. Hot; any thread.
#ifndef CASTOFF_PMPI_COLLECTIVE_ROUTING_H
#define CASTOFF_PMPI_COLLECTIVE_ROUTING_H

#include "pmpi/report/call_counts.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/datatype/datatypes.h"
#include "pmpi/life/process.h"

// CO_TAKE and a communicator with a team, or the reason that stands in the way whatever the arguments are.
static inline enum co_reason co_route_communicator(MPI_Comm comm, struct co_communicator **communicator)
{
    if (co_process.engine == NULL) {
        return co_process.idle_reason;
    }
    struct co_communicator *found = co_communicators_find(comm);
    if (found == NULL) {
        return CO_UNKNOWN_COMMUNICATOR;
    }
    if (found->reason != CO_TAKE) {
        return found->reason;
    }
    if (co_load_acquire(&found->is_switched_off)) { // acquire C3
        return CO_HINT_OFF;
    }
    *communicator = found;
    return CO_TAKE;
}

// Facts of the arguments that native checks on the sending side: false when it would raise an error, or castoff
// cannot read them. A receiving side that native does not check for being committed is not checked here either:
// a rank that goes native alone would wait for the others.
bool co_route_program_type(ptrdiff_t count, MPI_Datatype type, bool sends, struct co_datatype *facts);

static inline bool co_route_arguments(ptrdiff_t count, MPI_Datatype type, bool sends, struct co_datatype *facts)
{
    const struct co_datatype *predefined = co_datatype_predefined(type);
    if (predefined != NULL) {
        *facts = *predefined;
        return count >= 0;
    }
    return co_route_program_type(count, type, sends, facts);
}

// Takes, or why not, once the arguments are known to be right; blocking calls only. With trials the members exchange
// words at some calls, and *trial_ns is when a trial began. `root`: of a broadcast.
enum co_reason co_route_first_calls(struct co_communicator *communicator, enum co_call call, int root, size_t bytes,
                                    uint64_t *trial_ns);

static inline enum co_reason co_route_choose(struct co_communicator *communicator, enum co_call call, int root,
                                             size_t bytes, uint64_t *trial_ns)
{
    if (communicator->trials == CO_TRIALS_NONE) {
        return co_team_decide(co_process.engine, &communicator->seed.facts, call, bytes);
    }
    return communicator->trials == CO_TRIALS_OPEN ? co_team_choose(communicator->team, call, root, bytes, trial_ns)
                                                  : co_route_first_calls(communicator, call, root, bytes, trial_ns);
}

// The same for a call that waits for nobody.
static inline enum co_reason co_route_choose_at_once(const struct co_communicator *communicator, enum co_call call,
                                                     size_t bytes)
{
    return communicator->trials == CO_TRIALS_OPEN
               ? co_team_choose_at_once(communicator->team, call, bytes)
               : co_team_decide(co_process.engine, &communicator->seed.facts, call, bytes);
}

// Whether it is proxies that carry it where it is taken, by the rows of `other`. NULL: whatever it is, native has it.
static inline bool co_route_by_proxies(const struct co_communicator *communicator, enum co_call call,
                                       enum co_call other, size_t bytes)
{
    return communicator != NULL && __builtin_expect(communicator->seed.facts.has_proxies, 0) &&
           co_team_decide_by_proxies(co_process.engine, &communicator->seed.facts, call, other, bytes);
}

// An error handler may have freed the communicator.
static inline void co_route_trial_end(struct co_communicator *communicator, uint64_t trial_ns, int code)
{
    if (__builtin_expect(trial_ns != 0, 0) && code == MPI_SUCCESS) {
        co_team_trial_end(communicator->team, trial_ns);
    }
}

// Whether a call that ended with this code was refused for its arguments, so that the others know nothing of it.
bool co_route_was_refused(int code);

// Any other error, such as that of too little room, or in MPICH of unequal lengths, is that of a member that took part.
static inline bool co_route_took_part(int code)
{
    return __builtin_expect(code == MPI_SUCCESS, 1) || !co_route_was_refused(code);
}

// A communicator that is not followed may have a better reason. After an error it may be no communicator at all.
enum co_reason co_route_explain(enum co_reason reason, MPI_Comm comm, int code);

// The end of a call whose fate is known when it returns: counts it with its call site, when a report was asked for. The
// bytes are those of the arguments, which were not read where the call was declined before they mattered.
void co_route_count(const struct co_call_ticket *ticket, enum co_reason reason, MPI_Comm comm, ptrdiff_t count,
                    MPI_Datatype type, int code);

static inline void co_route_end(const struct co_call_ticket *ticket, enum co_reason reason, MPI_Comm comm,
                                ptrdiff_t count, MPI_Datatype type, int code)
{
    if (__builtin_expect(ticket->began_ns != 0, 0)) {
        co_route_count(ticket, reason, comm, count, type, code);
    }
}

#endif
