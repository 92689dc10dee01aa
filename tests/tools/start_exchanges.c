// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded behind castoff: counts the collective calls of the MPI below that castoff makes while a program starts and
// while it ends, which of them make a communicator, and how many at the start have native look for connections at its
// leisure alone (Open MPI: every 10 ms, until somebody wants events). The first rank says it on standard error when
// MPI_Finalize returns. The program itself is to call none of them.
#define _GNU_SOURCE // RTLD_NEXT
#include <mpi.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

enum { START, END, PHASES };

static int exchanges[PHASES], communicators[PHASES], phase = START;
static int watchers, unwatched;

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void told_of(MPI_Comm comm, int *counts)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    counts[phase] += size > 1;
    unwatched += size > 1 && phase == START && watchers == 0;
}

#define PASS_ON(counts, comm, name, types, arguments)                                                                  \
    int PMPI_##name types                                                                                              \
    {                                                                                                                  \
        int(*below) types;                                                                                             \
        *(void **)&below = next("PMPI_" #name);                                                                        \
        told_of(comm, counts);                                                                                         \
        return below arguments;                                                                                        \
    }

PASS_ON(exchanges, comm, Allreduce,
        (const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm),
        (from, to, count, type, operation, comm))
PASS_ON(exchanges, comm, Reduce,
        (const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm comm),
        (from, to, count, type, operation, root, comm))
PASS_ON(exchanges, comm, Allgather,
        (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, MPI_Comm comm),
        (from, count, type, to, to_count, to_type, comm))
PASS_ON(exchanges, comm, Gather,
        (const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
         MPI_Comm comm),
        (from, count, type, to, to_count, to_type, root, comm))
PASS_ON(exchanges, comm, Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
        (data, count, type, root, comm))
PASS_ON(exchanges, comm, Barrier, (MPI_Comm comm), (comm))
PASS_ON(communicators, comm, Comm_dup, (MPI_Comm comm, MPI_Comm *copy), (comm, copy))
PASS_ON(communicators, comm, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *part), (comm, color, key, part))
PASS_ON(communicators, comm, Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *part),
        (comm, kind, key, info, part))
PASS_ON(communicators, comm, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *part),
        (comm, group, tag, part))

void opal_progress_event_users_increment(void)
{
    void (*below)(void);
    *(void **)&below = next("opal_progress_event_users_increment");
    watchers++;
    below();
}

void opal_progress_event_users_decrement(void)
{
    void (*below)(void);
    *(void **)&below = next("opal_progress_event_users_decrement");
    watchers--;
    below();
}

// The end begins in it.
int PMPI_Finalize(void)
{
    int (*below)(void), rank = 0;
    *(void **)&below = next("PMPI_Finalize");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    phase = END;
    int code = below();
    if (rank == 0) {
        fprintf(stderr, "start: %d exchanges, %d communicators, %d unwatched; end: %d exchanges, %d communicators\n",
                exchanges[START], communicators[START], unwatched, exchanges[END], communicators[END]);
    }
    return code;
}
