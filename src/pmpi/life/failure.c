// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that is gone has no class in MPI 3.1. Programs that handle such errors need to tell it from others, so it
// gets a class of its own, with a string that says what happened; made on first use, because a class added at start
// would shift the numbers of the classes that the program adds itself. Without one: MPI_ERR_OTHER.
#include "pmpi/life/failure.h"

#include "base/log.h"
#include "base/atomics.h"

#include <errno.h>
#include <string.h>

#define OF_COMMUNICATOR 1

static const char peer_gone[] = "castoff: a peer of this operation is gone or has been silent too long "
                                "(CASTOFF_DEADLINE_S)";

static int make_peer_gone_code(void)
{
    int class, code;
    if (co_next.Add_error_class(&class) != MPI_SUCCESS || co_next.Add_error_code(class, &code) != MPI_SUCCESS) {
        return MPI_ERR_OTHER;
    }
    co_next.Add_error_string(class, peer_gone);
    co_next.Add_error_string(code, peer_gone);
    return code;
}

static int peer_gone_code(void)
{
    static _Atomic int known;           // 0: not made yet
    int code = co_load_acquire(&known); // acquire E3: the code has its class and its text
    if (code == 0) {
        int none = 0;
        code = make_peer_gone_code();
        // acq_rel E3. Two threads may fail at once: the first code stays, the other is never used.
        if (!atomic_compare_exchange_strong_explicit(&known, &none, code, memory_order_acq_rel, memory_order_acquire)) {
            code = none;
        }
    }
    return code;
}

int co_failure_code(int error)
{
    switch (-error) {
    case ETIMEDOUT:
    case ECONNRESET:
        return peer_gone_code();
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    case EMSGSIZE:
        return MPI_ERR_TRUNCATE;
    case ENOBUFS:
    case EFAULT:
        return MPI_ERR_BUFFER;
    default:
        return MPI_ERR_OTHER;
    }
}

// MPI_Comm_call_errhandler would give its own name to the handler, and to the text with which the default one aborts.
int co_failure_raise_code(MPI_Comm comm, const char *call, int code)
{
    MPI_Errhandler handler;
    MPI_Comm of = comm == co_next.comm_null ? co_next.comm_world : comm;
    if (co_next.errhandler_invoke == NULL || co_next.Comm_get_errhandler(of, &handler) != MPI_SUCCESS) {
        co_next.Comm_call_errhandler(of, code);
        return code;
    }
    co_next.errhandler_invoke(handler, of, OF_COMMUNICATOR, code, call);
    co_next.Errhandler_free(&handler);
    return code;
}

void co_failure_log(const char *call, int error)
{
    if (error != -EMSGSIZE && error != -ENOBUFS) { // the program's own, as native says it
        co_log(CO_LOG_ERROR, CO_SUBSYS_PMPI, "%s failed: %s", call, strerror(-error));
    }
}

int co_failure_raise(MPI_Comm comm, const char *call, int error)
{
    co_failure_log(call, error);
    return co_failure_raise_code(comm, call, co_failure_code(error));
}
