// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of all-to-alls: native's classes in every mode, and the communicator works afterwards. A wrong one is
// wrong on all ranks. Requests under way can be neither cancelled nor freed.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: the same classes in every mode
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static int out[64], in[64], counts[8], places[8], negative[8], twice[8];
static MPI_Request request;

static void tell(const char *what, int code)
{
    int class;
    MPI_Error_class(code, &class);
    co_test_say("%s: class %d\n", what, class);
}

static void call_wrongly(MPI_Comm comm)
{
    MPI_Datatype raw;
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw); // not committed
    tell("count", MPI_Ialltoall(out, -1, MPI_INT, in, -1, MPI_INT, comm, &request));
    tell("type", MPI_Ialltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm, &request));
    tell("receive type", MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_DATATYPE_NULL, comm, &request));
    tell("not committed", MPI_Ialltoall(out, 1, raw, in, 2, MPI_INT, comm, &request));
    tell("two lengths", MPI_Ialltoall(out, 2, MPI_INT, in, 1, MPI_INT, comm, &request));
    tell("receives in place", MPI_Ialltoall(out, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm, &request));
    tell("v count", MPI_Ialltoallv(out, negative, places, MPI_INT, in, negative, places, MPI_INT, comm, &request));
    tell("v type", MPI_Ialltoallv(out, counts, places, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, comm, &request));
    tell("v two lengths", MPI_Ialltoallv(out, twice, places, MPI_INT, in, counts, places, MPI_INT, comm, &request));
    tell("v receives in place",
         MPI_Ialltoallv(out, counts, places, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm, &request));
    tell("init count", MPIX_Alltoall_init(out, -1, MPI_INT, in, -1, MPI_INT, comm, MPI_INFO_NULL, &request));
    tell("init v count", MPIX_Alltoallv_init(out, negative, places, MPI_INT, in, negative, places, MPI_INT, comm,
                                             MPI_INFO_NULL, &request));
    MPI_Type_free(&raw);
}

static void call_rightly(MPI_Comm comm, int number)
{
    struct co_exchange exchange = {.comm = comm, .number = number, .bytes = 5000, .is_uneven = number % 2 == 1};
    co_exchange_open(&exchange);
    co_exchange_fill(&exchange);
    co_exchange_start(&exchange);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    co_exchange_check(&exchange, "after errors");
    co_exchange_close(&exchange);
}

// The first rank asks while the others have not called.
static void ask(MPI_Comm comm)
{
    struct co_exchange exchange = {.comm = comm, .number = 7, .bytes = 100};
    co_exchange_open(&exchange);
    co_exchange_fill(&exchange);
    if (co_test_rank() == 0) {
        co_exchange_start(&exchange);
        MPI_Request copy = exchange.request;
        tell("free", MPI_Request_free(&copy));
        tell("cancel", MPI_Cancel(&exchange.request));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (co_test_rank() != 0) {
        co_exchange_start(&exchange);
    }
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    co_exchange_check(&exchange, "asked");
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int rank = 0; rank < 8; rank++) {
        counts[rank] = 1;
        twice[rank] = 2;
        places[rank] = 2 * rank;
        negative[rank] = rank == 0 ? -1 : 1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call_wrongly(comm);
    for (int number = 0; number < 4; number++) {
        call_rightly(comm, number);
    }
    ask(comm);
    MPI_Comm_free(&comm);
    return co_test_finish();
}
