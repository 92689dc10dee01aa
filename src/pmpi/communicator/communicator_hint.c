// SPDX-License-Identifier: BSD-3-Clause
//
// The hint and MPI_Comm_set_info, which may change it on a living communicator. Native MPI forgets hints that it does
// not know, so the info argument is read here.
#include "pmpi/communicator/communicator_hint.h"

#include "pmpi/communicator/communicators.h"
#include "pmpi/life/process.h"

#include <strings.h>

enum co_hint co_communicator_hint_read(MPI_Info info)
{
    static const char *const off[] = {"no", "off", "false", "0"};
    char value[16] = "";
    int is_set = 0;
    if (info == co_next.info_null || info == CO_NO_HANDLE) {
        return CO_HINT_ABSENT;
    }
    co_next.Info_get(info, "castoff", (int)sizeof value - 1, value, &is_set);
    if (!is_set) {
        return CO_HINT_ABSENT;
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        if (strcasecmp(value, off[i]) == 0) {
            return CO_HINT_SAYS_OFF;
        }
    }
    return CO_HINT_ON;
}

// All members change sides together, or none: operations under way belong to the side on which they began.
static void change_side(struct co_communicator *entry, MPI_Info info)
{
    enum co_hint hint = co_communicator_hint_read(info);
    bool is_busy = co_load_acquire(&entry->pending) > 0; // acquire E2
    int mine[3] = {hint == CO_HINT_SAYS_OFF, hint == CO_HINT_ON, is_busy};
    int any[3] = {0, 0, 1};
    co_next.exchange_allreduce(mine, any, 3, co_next.integer, co_next.maximum, entry->comm);
    if (any[2] == 0 && (any[0] || any[1])) {
        co_store_release(&entry->is_switched_off, any[0] != 0); // release C3, read by the routing of the next call
    }
}

int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    int code = co_next_mpi_get()->Comm_set_info(comm, info);
    if (code == MPI_SUCCESS && co_process_is_serving()) {
        struct co_communicator *entry = co_communicators_find(comm);
        if (entry != NULL && entry->reason == CO_TAKE) {
            change_side(entry, info);
        }
    }
    return code;
}
