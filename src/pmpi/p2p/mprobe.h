// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Message handles of castoff's. Each is a genuine native message: one of no bytes that this rank sent to itself and
// that native has matched, from a pool. So whatever a program does with it (Fortran turns it into an integer), native
// knows it; and a handle that is not found here is native's, MPI_MESSAGE_NO_PROC included. Any thread.
#ifndef CASTOFF_PMPI_P2P_MPROBE_H
#define CASTOFF_PMPI_P2P_MPROBE_H

#include "p2p/p2p.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/life/process.h"

struct co_matched {
    MPI_Message handle; // for life
    struct co_matched *next;
    struct co_p2p_message *message;       // NULL: not in use
    struct co_communicator *communicator; // held while in use
    struct co_p2p_info info;
};

// One that is not in use; NULL: there is no memory.
struct co_matched *co_mprobe_take(void);
void co_mprobe_give(struct co_matched *matched);

struct co_matched *co_mprobe_find_slowly(MPI_Message handle);

// The one behind a handle, in use or not; NULL: native's.
static inline struct co_matched *co_mprobe_find(MPI_Message handle)
{
    return co_process_is_off() || !co_process.serves_messages ? NULL : co_mprobe_find_slowly(handle);
}

// A native message of no bytes from and to `rank`, which is this one, in `comm`. An MPI error code.
int co_mprobe_make(MPI_Message *handle, MPI_Comm comm, int rank);

// Before the communicators are closed: what was matched and never received is given up.
void co_mprobe_close(void);

#endif
