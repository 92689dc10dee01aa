// SPDX-License-Identifier: BSD-3-Clause
//
// The counts, and the reason of a call that was declined: found when the call is over, by the facts that decided.
#include "pmpi/report/message_counts.h"

#include "base/atomics.h"
#include "base/settings.h"
#include "pmpi/collective/routing.h"

#define WORDS (sizeof(struct co_message_counts) / sizeof(uint64_t))
#define WORD_OF(field) (offsetof(struct co_message_counts, field) / sizeof(uint64_t))

static _Atomic uint64_t counted[CO_MESSAGE_CALL_COUNT][WORDS];

#define CALL_TEXT(name) "MPI_" #name,
static const char *const texts[CO_MESSAGE_CALL_COUNT] = {CO_MESSAGE_CALLS(CALL_TEXT)};
#undef CALL_TEXT

const char *co_message_call_text(enum co_message_call call)
{
    return texts[call];
}

void co_message_count_taken(enum co_message_call call, size_t bytes)
{
    co_message_count_reason(call, CO_TAKE);
    co_add_relaxed(&counted[call][WORD_OF(bytes_taken)], bytes); // relaxed: a statistic
}

static enum co_reason reason_of(MPI_Comm comm, int peer, int code)
{
    struct co_communicator *communicator = NULL;
    enum co_reason reason = co_route_communicator(comm, &communicator);
    if (reason == CO_TAKE && communicator->messages == NULL) {
        reason = co_messages_decide(co_process.engine, &communicator->seed.facts);
        return reason == CO_TAKE ? CO_HINT_OFF : reason; // by a hint that was taken back since
    }
    if (reason == CO_TAKE) {
        return code == MPI_SUCCESS && peer == MPI_PROC_NULL ? CO_NOBODY : CO_BAD_ARGUMENT;
    }
    return co_route_explain(reason, comm, code);
}

void co_message_count_reason(enum co_message_call call, enum co_reason reason)
{
    co_add_relaxed(&counted[call][WORD_OF(by_reason) + reason], 1); // relaxed: a statistic
}

enum co_reason co_message_reason_of_handle(void)
{
    if (co_process_is_off()) {
        return co_process.idle_reason;
    }
    return co_setting_number(CO_SET_P2P) == CO_NO ? CO_DISABLED : CO_NATIVE_HANDLE;
}

void co_message_count_declined(enum co_message_call call, MPI_Comm comm, int peer, int code)
{
    co_message_count_reason(call, reason_of(comm, peer, code));
}

void co_message_counts_snapshot(struct co_message_counts counts[CO_MESSAGE_CALL_COUNT])
{
    uint64_t *words = (uint64_t *)counts;
    for (size_t i = 0; i < CO_MESSAGE_CALL_COUNT * WORDS; i++) {
        words[i] = co_load_relaxed(&counted[i / WORDS][i % WORDS]); // relaxed: the calls are over
    }
}
