// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Probe and MPI_Mprobe, blocking and not. A look without success moves the engine and native MPI once, so that a
// program that does nothing but look gets there. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/p2p/mprobe.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/messages.h"
#include "pmpi/life/progress_hook.h"

#include <errno.h>

struct look {
    struct co_communicator *communicator;
    int32_t source, tag;
    struct co_matched *matched; // takes what is found, NULL: it stays
    struct co_p2p_info info;    // of what was found
};

static bool route(struct look *look, int source, int tag, MPI_Comm comm)
{
    look->communicator = co_message_communicator(comm);
    look->source = co_message_wildcard(source, MPI_ANY_SOURCE);
    look->tag = co_message_wildcard(tag, MPI_ANY_TAG);
    look->matched = NULL;
    return look->communicator != NULL && co_message_is_from(look->communicator, source, tag);
}

static bool find(struct look *look)
{
    struct co_matched *matched = look->matched;
    if (matched == NULL) {
        return co_p2p_probe(look->communicator->messages, look->source, look->tag, &look->info);
    }
    matched->message = co_p2p_take(look->communicator->messages, look->source, look->tag, &look->info);
    return matched->message != NULL;
}

// What has come from who has ended since is still found. 0 or -ECONNRESET.
static int find_unless_ended(struct look *look, bool *is_found)
{
    *is_found = find(look);
    if (*is_found || !co_p2p_source_has_ended(look->communicator->messages, look->source)) {
        return 0;
    }
    *is_found = find(look);
    return *is_found ? 0 : -ECONNRESET;
}

static int find_or_move(struct look *look, int *flag)
{
    bool is_found = find(look);
    if (!is_found) {
        co_engine_poll(co_process.engine);
        is_found = find(look);
    }
    int error = 0;
    if (!is_found) {
        co_progress_native_in_vain();
        error = find_unless_ended(look, &is_found);
    }
    *flag = is_found;
    return error;
}

static void describe(const void *waited_for, char *text, size_t room)
{
    const struct look *look = waited_for;
    co_message_describe_wanted(look->source, look->tag, text, room);
}

static int wait_until_found(struct look *look, const char *call)
{
    struct co_wait wait = {.call = call, .for_message = true, .describe = describe, .waited_for = look};
    bool is_found;
    int error;
    while ((error = find_unless_ended(look, &is_found)) == 0 && !is_found) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
    return error;
}

static void fill_status(const struct look *look, MPI_Status *status)
{
    co_message_fill_status(status, look->info.source, look->info.tag, look->info.bytes, false);
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct look look;
    if (!route(&look, source, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Probe, comm, source, co_next_mpi_get()->Probe(source, tag, comm, status));
    }
    co_message_taken(CO_MESSAGE_Probe, 0);
    int error = wait_until_found(&look, "MPI_Probe");
    if (error != 0) {
        return co_failure_raise(comm, "MPI_Probe", error);
    }
    fill_status(&look, status);
    return MPI_SUCCESS;
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct look look;
    if (flag == NULL || !route(&look, source, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Iprobe, comm, source,
                                   co_next_mpi_get()->Iprobe(source, tag, comm, flag, status));
    }
    co_message_taken(CO_MESSAGE_Iprobe, 0);
    int error = find_or_move(&look, flag);
    if (*flag) {
        fill_status(&look, status);
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Iprobe", error);
}

// What has been found is the program's.
static void hand_out(struct look *look, MPI_Message *message, MPI_Status *status)
{
    struct co_matched *matched = look->matched;
    matched->communicator = look->communicator;
    matched->info = look->info;
    co_communicator_hold(matched->communicator);
    *message = matched->handle;
    fill_status(look, status);
}

// Nothing was found: 0, or an error.
static int give_up(const struct look *look, MPI_Message *message, const char *call, int error)
{
    co_mprobe_give(look->matched);
    *message = co_next.message_null;
    return error == 0 ? MPI_SUCCESS : co_failure_raise(look->communicator->comm, call, error);
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct look look;
    if (message == NULL || !route(&look, source, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Mprobe, comm, source,
                                   co_next_mpi_get()->Mprobe(source, tag, comm, message, status));
    }
    co_message_taken(CO_MESSAGE_Mprobe, 0);
    look.matched = co_mprobe_take();
    if (look.matched == NULL) {
        return co_failure_raise(comm, "MPI_Mprobe", -ENOMEM);
    }
    int error = wait_until_found(&look, "MPI_Mprobe");
    if (error != 0) {
        return give_up(&look, message, "MPI_Mprobe", error);
    }
    hand_out(&look, message, status);
    return MPI_SUCCESS;
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    struct look look;
    if (flag == NULL || message == NULL || !route(&look, source, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Improbe, comm, source,
                                   co_next_mpi_get()->Improbe(source, tag, comm, flag, message, status));
    }
    co_message_taken(CO_MESSAGE_Improbe, 0);
    look.matched = co_mprobe_take();
    if (look.matched == NULL) {
        return co_failure_raise(comm, "MPI_Improbe", -ENOMEM);
    }
    int error = find_or_move(&look, flag);
    if (!*flag) {
        return give_up(&look, message, "MPI_Improbe", error);
    }
    hand_out(&look, message, status);
    return MPI_SUCCESS;
}
