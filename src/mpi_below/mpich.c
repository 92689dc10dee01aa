// SPDX-License-Identifier: BSD-3-Clause
//
// MPICH 4, and whoever has its ABI and its launcher. Handles are numbers that mpi.h knows. Nobody can join its progress
// loop: a look for a message on a communicator where nobody sends moves it, and what castoff has to do while the
// program is inside native calls is done by worker threads. Who waits inside a call of MPICH's keeps his core however
// many others want it; what castoff itself exchanges is waited for by looking, and the core is offered between looks.
#include "mpi_below/next_mpi.h"

#include <stddef.h>

#include "base/core_offer.h"

#define LOOKS_ALONE 100 // for what comes soon, before the core is offered

static void find_handles(struct co_next_mpi *next)
{
    next->comm_world = MPI_COMM_WORLD;
    next->comm_self = MPI_COMM_SELF;
    next->comm_null = MPI_COMM_NULL;
    next->request_null = MPI_REQUEST_NULL;
    next->message_null = MPI_MESSAGE_NULL;
    next->datatype_null = MPI_DATATYPE_NULL;
    next->byte = MPI_BYTE;
    next->integer = MPI_INT;
    next->uint64 = MPI_UINT64_T;
    next->sum = MPI_SUM;
    next->minimum = MPI_MIN;
    next->maximum = MPI_MAX;
    next->info_null = MPI_INFO_NULL;
    next->errors_return = MPI_ERRORS_RETURN;
}

static const struct co_next_mpi *below;

static void move(void)
{
    int is_there;
    if (below->quiet != CO_NO_HANDLE) {
        below->Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, below->quiet, &is_there, MPI_STATUS_IGNORE);
    }
}

static __typeof__(PMPI_Iallreduce) *iallreduce;
static __typeof__(PMPI_Ibarrier) *ibarrier;

static int finish(int code, MPI_Request *request)
{
    static struct co_core_offer offer;
    int is_over = code != MPI_SUCCESS;
    for (unsigned looks = 0; !is_over; looks++) {
        code = below->Test(request, &is_over, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            return code;
        }
        if (!is_over && looks >= LOOKS_ALONE) {
            co_core_offer(&offer); // whom it waits for may want it
        }
    }
    return code;
}

static int allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return finish(iallreduce(send, receive, count, type, operation, comm, &request), &request);
}

static int barrier(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return finish(ibarrier(comm, &request), &request);
}

static void find(struct co_next_mpi *next)
{
    find_handles(next);
    next->progress = move;
    below = next;
    // Castoff alone calls these, and all members of a communicator do.
    *(void **)&iallreduce = co_next_mpi_find("PMPI_Iallreduce");
    *(void **)&ibarrier = co_next_mpi_find("PMPI_Ibarrier");
    next->exchange_allreduce = allreduce;
    next->exchange_barrier = barrier;
}

static bool predefined_type(const struct co_next_mpi *next, unsigned i, MPI_Datatype *type)
{
    static const MPI_Datatype types[] = {MPI_CHAR,
                                         MPI_SIGNED_CHAR,
                                         MPI_UNSIGNED_CHAR,
                                         MPI_BYTE,
                                         MPI_PACKED,
                                         MPI_SHORT,
                                         MPI_INT,
                                         MPI_LONG,
                                         MPI_LONG_LONG_INT,
                                         MPI_UNSIGNED_SHORT,
                                         MPI_UNSIGNED,
                                         MPI_UNSIGNED_LONG,
                                         MPI_FLOAT,
                                         MPI_DOUBLE,
                                         MPI_LONG_DOUBLE,
                                         MPI_UNSIGNED_LONG_LONG,
                                         MPI_WCHAR,
                                         MPI_C_BOOL,
                                         MPI_INT8_T,
                                         MPI_INT16_T,
                                         MPI_INT32_T,
                                         MPI_INT64_T,
                                         MPI_UINT8_T,
                                         MPI_UINT16_T,
                                         MPI_UINT32_T,
                                         MPI_UINT64_T,
                                         MPI_AINT,
                                         MPI_OFFSET,
                                         MPI_COUNT,
                                         MPI_C_FLOAT_COMPLEX,
                                         MPI_C_DOUBLE_COMPLEX,
                                         MPI_CHARACTER,
                                         MPI_LOGICAL,
                                         MPI_INTEGER,
                                         MPI_REAL,
                                         MPI_DOUBLE_PRECISION,
                                         MPI_COMPLEX,
                                         MPI_DOUBLE_COMPLEX,
                                         MPI_2INT,
                                         MPI_FLOAT_INT,
                                         MPI_CXX_BOOL};
    (void)next;
    if (i >= sizeof types / sizeof types[0]) {
        return false;
    }
    *type = types[i] == MPI_DATATYPE_NULL ? CO_NO_HANDLE : types[i];
    return true;
}

static const struct co_mpi_family mpich = {.name = "MPICH 4", .version = "MPICH Version: 4", .find = find};

const struct co_mpi_abi co_mpi_abi_mpich = {
    .predefined_type = predefined_type,
    .families = (const struct co_mpi_family *const[]){&mpich, NULL},
    .libraries = (const char *const[]){"libmpich.so.12", "libmpi.so.12", NULL},
    .mismatch = "the MPI library is not MPICH 4, which libcastoff-mpich.so serves; castoff run chooses the right one"};
