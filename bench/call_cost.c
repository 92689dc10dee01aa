// SPDX-License-Identifier: BSD-3-Clause
//
// What a call costs more because a library stands in front of MPI: nanoseconds of cheap calls by name (through
// whatever is preloaded) and straight into libmpi, in turn in one process. One rank suffices:
//   mpirun -n 1 castoff run --off build/bench/call_cost
// Lines: call direct_ns named_ns difference_ns, medians of rounds.
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 301, CALLS = 20000 };

static int (*direct_bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
static int (*direct_test)(MPI_Request *, int *, MPI_Status *);
static int (*direct_wait)(MPI_Request *, MPI_Status *);
static int (*direct_allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
static int (*named_bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
static int (*named_test)(MPI_Request *, int *, MPI_Status *);
static int (*named_wait)(MPI_Request *, MPI_Status *);
static int (*named_allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);

static char from[64], to[64];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// Both sides call through a pointer, so that the difference is what stands in between.
static double time_calls(int call, int is_named)
{
    int flag;
    MPI_Request none = MPI_REQUEST_NULL;
    double start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        switch (call) {
        case 0:
            (is_named ? named_bcast : direct_bcast)(from, 8, MPI_BYTE, 0, MPI_COMM_SELF);
            break;
        case 1:
            (is_named ? named_allgather : direct_allgather)(from, 8, MPI_BYTE, to, 8, MPI_BYTE, MPI_COMM_SELF);
            break;
        case 2:
            (is_named ? named_test : direct_test)(&none, &flag, MPI_STATUS_IGNORE);
            break;
        default:
            (is_named ? named_wait : direct_wait)(&none, MPI_STATUS_IGNORE);
            break;
        }
    }
    return (now_ns() - start) / CALLS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void measure(int call, const char *name)
{
    static double direct[ROUNDS], named[ROUNDS], difference[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2) {
            named[round] = time_calls(call, 1);
            direct[round] = time_calls(call, 0);
        } else {
            direct[round] = time_calls(call, 0);
            named[round] = time_calls(call, 1);
        }
        difference[round] = named[round] - direct[round];
    }
    printf("%s %.2f %.2f %.2f\n", name, median(direct), median(named), median(difference));
}

int main(int argc, char **argv)
{
    void *mpi = dlopen("libmpi.so.40", RTLD_NOLOAD | RTLD_LAZY);
    MPI_Init(&argc, &argv);
    if (!mpi) {
        fputs("call_cost: this is not Open MPI with libmpi.so.40\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    // POSIX wants these casts spelled like this.
    *(void **)&direct_bcast = dlsym(mpi, "PMPI_Bcast");
    *(void **)&direct_allgather = dlsym(mpi, "PMPI_Allgather");
    *(void **)&direct_test = dlsym(mpi, "PMPI_Test");
    *(void **)&direct_wait = dlsym(mpi, "PMPI_Wait");
    *(void **)&named_bcast = dlsym(RTLD_DEFAULT, "MPI_Bcast");
    *(void **)&named_allgather = dlsym(RTLD_DEFAULT, "MPI_Allgather");
    *(void **)&named_test = dlsym(RTLD_DEFAULT, "MPI_Test");
    *(void **)&named_wait = dlsym(RTLD_DEFAULT, "MPI_Wait");
    if (!direct_bcast || !direct_allgather || !direct_test || !direct_wait || !named_bcast || !named_allgather ||
        !named_test || !named_wait) {
        fputs("call_cost: a function of MPI is missing\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (named_bcast == direct_bcast) {
        puts("# nothing stands in front of MPI");
    }
    puts("# call direct_ns named_ns difference_ns");
    measure(0, "MPI_Bcast");
    measure(1, "MPI_Allgather");
    measure(2, "MPI_Test");
    measure(3, "MPI_Wait");
    MPI_Finalize();
    return 0;
}
