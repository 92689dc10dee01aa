// SPDX-License-Identifier: BSD-3-Clause
// Calls of the whole family, right ones and wrong ones mixed as chance chooses, under MPI_ERRORS_RETURN: a wrong root,
// a wrong count, a wrong type, in a blocking broadcast room that is too small (nonblocking ones end Open MPI 4.1.4 by a
// segmentation fault where others follow), while others are outstanding. All ranks choose alike. The class of each
// error is native's, and whatever was right before and after delivers its bytes.
// ranks: 2
// mpirun: --mca coll basic,self,libnbc
// arguments: 1
// arguments: 2
// expect: the same classes in every mode
// taken: MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv MPIX_Bcast_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, INTS = 3000, STEPS = 300, ROW = 6 };
enum {
    BCAST,
    IBCAST,
    BCAST_INIT,
    ALLGATHER,
    IALLGATHER,
    ALLGATHER_INIT,
    ALLGATHERV,
    IALLGATHERV,
    ALLGATHERV_INIT,
    CALLS
};
enum { RIGHT, WRONG_COUNT, WRONG_TYPE, WRONG_ROOT, TOO_LONG, MISTAKES };

struct operation {
    int call, ints, root, number;
    int room, counts[RANKS], places[RANKS];
    int one[INTS], all[RANKS * INTS];
    MPI_Request request;
};

static struct operation row[ROW];
static MPI_Comm comm;
static uint64_t state;
static int rank, size;

static int chance(int limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)(state >> 33) % limit;
}

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

static int value(const struct operation *operation, int of, int i)
{
    return operation->number * 10007 + of * 101 + i;
}

static void prepare(struct operation *operation, int call, int number)
{
    static const int sizes[] = {1, 50, 700, INTS};
    *operation = (struct operation){.call = call, .number = number, .request = MPI_REQUEST_NULL};
    operation->ints = operation->room = sizes[chance(4)];
    operation->root = chance(size);
    for (int of = 0; of < size; of++) {
        operation->counts[of] = call >= ALLGATHERV ? (operation->ints + of) / (of + 1) : operation->ints;
        operation->places[of] = of * INTS;
    }
    for (int i = 0; i < operation->counts[rank]; i++) {
        operation->one[i] = call > BCAST_INIT || rank == operation->root ? value(operation, rank, i) : 0;
    }
}

static int call(struct operation *o, int count, MPI_Datatype type, int root)
{
    int own = o->call < ALLGATHERV ? count : o->counts[rank];
    switch (o->call) {
    case BCAST:
        return MPI_Bcast(o->one, count, type, root, comm);
    case IBCAST:
        return MPI_Ibcast(o->one, count, type, root, comm, &o->request);
    case BCAST_INIT:
        return MPIX_Bcast_init(o->one, count, type, root, comm, MPI_INFO_NULL, &o->request);
    case ALLGATHER:
        return MPI_Allgather(o->one, count, MPI_INT, o->all, count, type, comm);
    case IALLGATHER:
        return MPI_Iallgather(o->one, count, MPI_INT, o->all, count, type, comm, &o->request);
    case ALLGATHER_INIT:
        return MPIX_Allgather_init(o->one, count, MPI_INT, o->all, count, type, comm, MPI_INFO_NULL, &o->request);
    case ALLGATHERV:
        return MPI_Allgatherv(o->one, count < 0 ? count : own, MPI_INT, o->all, o->counts, o->places, type, comm);
    case IALLGATHERV:
        return MPI_Iallgatherv(o->one, count < 0 ? count : own, MPI_INT, o->all, o->counts, o->places, type, comm,
                               &o->request);
    default:
        return MPIX_Allgatherv_init(o->one, count < 0 ? count : own, MPI_INT, o->all, o->counts, o->places, type, comm,
                                    MPI_INFO_NULL, &o->request);
    }
}

static void check(const struct operation *o)
{
    int wrong = 0;
    if (o->call <= BCAST_INIT) {
        for (int i = 0; i < o->room; i++) {
            wrong += o->one[i] != value(o, o->root, i);
        }
    } else {
        for (int of = 0; of < size; of++) {
            for (int i = 0; i < (o->call >= ALLGATHERV ? o->counts[of] : o->ints); i++) {
                wrong += o->all[of * (o->call >= ALLGATHERV ? INTS : o->ints) + i] != value(o, of, i);
            }
        }
    }
    co_test_expect(wrong == 0, "operation %d, call %d: %d wrong ints", o->number, o->call, wrong);
}

static bool is_blocking(int which)
{
    return which % 3 == 0;
}

static void end(struct operation *o)
{
    if (!is_blocking(o->call)) {
        if (o->call % 3 == 2) {
            MPI_Start(&o->request);
        }
        int class = class_of(MPI_Wait(&o->request, MPI_STATUS_IGNORE));
        co_test_say("%d: end %d\n", o->number, class);
        if (o->request != MPI_REQUEST_NULL) {
            MPI_Request_free(&o->request);
        }
        if (class != MPI_SUCCESS) {
            return;
        }
    }
    check(o);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int held = 0;
    for (int step = 0; step < STEPS; step++) {
        struct operation *o = &row[held];
        int mistake = chance(MISTAKES + 3) - 3, which = chance(CALLS), root, count;
        prepare(o, which, step);
        count = mistake == WRONG_COUNT ? -1 : o->ints;
        root = mistake == WRONG_ROOT ? size : o->root;
        bool is_bcast = which <= BCAST_INIT,
             is_wrong = mistake == WRONG_COUNT || mistake == WRONG_TYPE || (mistake == WRONG_ROOT && is_bcast);
        if (mistake == TOO_LONG && which == BCAST && rank != o->root) {
            count = o->room = (o->ints + 1) / 2;
        }
        int class = class_of(call(o, count, mistake == WRONG_TYPE ? MPI_DATATYPE_NULL : MPI_INT, root));
        co_test_say("%d: call %d mistake %d class %d %s\n", step, which, mistake, class,
                    o->request == MPI_REQUEST_NULL ? "none" : "request");
        if (class == MPI_SUCCESS && !is_wrong && is_blocking(which)) {
            end(o);
        } else if (o->request != MPI_REQUEST_NULL) {
            held++;
        }
        if (held == ROW || step == STEPS - 1) {
            for (int i = 0; i < held; i++) {
                end(&row[i]);
            }
            held = 0;
        }
    }
    MPI_Comm_free(&comm);
    return co_test_finish();
}
