// SPDX-License-Identifier: BSD-3-Clause
//
// Slots are places in an array of native requests, so that a range of them is one call. Errors are returned, never
// raised: they belong to no call of the program. Hot.
#include "pmpi/p2p/native_transfers.h"

#include "base/settings.h"
#include "engine/decide/decide.h"
#include "pmpi/life/process.h"
#include "pmpi/life/progress_hook.h"

#include <errno.h>
#include <stdlib.h>

#define BYTES_MOST ((size_t)32 << 20) // of one operation: each that is done shows that a long message moves

static struct {
    MPI_Comm comm; // CO_NO_HANDLE: none
    MPI_Request *requests;
    MPI_Status *statuses;
    int *indices;
    unsigned slots;
} transfers;

static int reserve(void *arg, unsigned slots)
{
    (void)arg;
    transfers.requests = malloc(slots * sizeof *transfers.requests);
    transfers.statuses = malloc(slots * sizeof *transfers.statuses);
    transfers.indices = malloc(slots * sizeof *transfers.indices);
    transfers.slots = slots;
    for (unsigned i = 0; transfers.requests != NULL && i < slots; i++) {
        transfers.requests[i] = co_next.request_null;
    }
    return transfers.requests == NULL || transfers.statuses == NULL || transfers.indices == NULL ? -ENOMEM : 0;
}

static int send(void *arg, unsigned slot, const void *data, size_t bytes, int peer, int tag)
{
    (void)arg;
    int code = co_next.Isend(data, (int)bytes, co_next.byte, peer, tag, transfers.comm, &transfers.requests[slot]);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

static int receive(void *arg, unsigned slot, void *buffer, size_t bytes, int peer, int tag)
{
    (void)arg;
    int source = peer == CO_NATIVE_ANYBODY ? MPI_ANY_SOURCE : peer;
    int code = co_next.Irecv(buffer, (int)bytes, co_next.byte, source, tag, transfers.comm, &transfers.requests[slot]);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

static void fill(struct co_native_done *done, unsigned slot, bool is_error, const MPI_Status *status)
{
    done->slot = slot;
    done->result = is_error && status->MPI_ERROR != MPI_SUCCESS ? -EIO : 0;
    done->peer = status->MPI_SOURCE;
    done->bytes = co_status_bytes(status);
}

static unsigned collect(void *arg, unsigned first, unsigned count, struct co_native_done *done)
{
    (void)arg;
    int found = 0;
    int code = co_next.Testsome((int)count, &transfers.requests[first], &found, transfers.indices, transfers.statuses);
    bool is_error = code != MPI_SUCCESS;
    if (found == MPI_UNDEFINED || found < 0 || (is_error && found == 0)) {
        return 0;
    }
    for (int i = 0; i < found; i++) {
        fill(&done[i], first + (unsigned)transfers.indices[i], is_error, &transfers.statuses[i]);
    }
    return (unsigned)found;
}

// No MPI_Wait: a receive that a message has already cannot be cancelled, and where its sender is dead it never ends.
static bool cancel(void *arg, unsigned slot)
{
    (void)arg;
    int is_over;
    if (transfers.requests[slot] != co_next.request_null && co_next.Cancel(&transfers.requests[slot]) == MPI_SUCCESS) {
        co_next.Test(&transfers.requests[slot], &is_over, MPI_STATUS_IGNORE);
    }
    return transfers.requests[slot] == co_next.request_null;
}

static void abandon(void *arg, unsigned slot)
{
    (void)arg;
    if (transfers.requests[slot] != co_next.request_null) {
        co_next.Request_free(&transfers.requests[slot]);
    }
}

static struct co_native native = {.reserve = reserve,
                                  .send = send,
                                  .receive = receive,
                                  .collect = collect,
                                  .cancel = cancel,
                                  .abandon = abandon,
                                  .bytes_most = BYTES_MOST};

static bool is_wanted(bool has_hosts)
{
    int64_t transport = co_setting_number(CO_SET_TRANSPORT);
    return has_hosts && co_setting_number(CO_SET_P2P) == CO_YES && co_setting_number(CO_SET_P2P_CARRIER) &&
           transport != CO_ALLOW_SHM && transport != CO_ALLOW_NONE;
}

int co_native_transfers_open(bool has_hosts, const struct co_native **out)
{
    *out = NULL;
    if (!is_wanted(has_hosts)) {
        return 0;
    }
    int code = co_next.Comm_dup(co_process.world, &transfers.comm);
    if (code == MPI_SUCCESS) {
        code = co_next.Comm_set_errhandler(transfers.comm, co_next.errors_return);
    } else {
        transfers.comm = CO_NO_HANDLE;
    }
    int level;
    native.progress = co_progress_native;
    native.takes_all_threads = co_next.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
    *out = &native;
    return code == MPI_SUCCESS ? 0 : -EIO;
}

void co_native_transfers_close(void)
{
    if (transfers.comm != CO_NO_HANDLE) {
        co_next.Comm_free(&transfers.comm);
        transfers.comm = CO_NO_HANDLE;
    }
    free(transfers.requests);
    free(transfers.statuses);
    free(transfers.indices);
    transfers.requests = NULL;
    transfers.statuses = NULL;
    transfers.indices = NULL;
}
