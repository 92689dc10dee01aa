// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that send messages to their own rank at the same time, each with a tag of its own, so that requests go from
// one to the other as fast as can be. Some end, and others begin.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, GENERATIONS = 3, TURNS = 3000 };

static void *talk(void *argument)
{
    int tag = *(int *)argument, in[2] = {0, 0}, out[2] = {tag, tag};
    for (int i = 0; i < TURNS; i++) {
        MPI_Request requests[3];
        MPI_Irecv(&in[0], 1, MPI_INT, 0, tag, MPI_COMM_SELF, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_SELF, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_INT, 0, tag, MPI_COMM_SELF, &requests[2]);
        MPI_Send(&out[1], 1, MPI_INT, 0, tag, MPI_COMM_SELF);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        if (in[0] != tag || in[1] != tag) {
            printf("message %d of tag %d: %d and %d\n", i, tag, in[0], in[1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        in[0] = in[1] = 0;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, tags[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        puts("no threads");
        return MPI_Finalize();
    }
    for (int generation = 0; generation < GENERATIONS; generation++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            tags[i] = 100 + i;
            pthread_create(&threads[i], NULL, talk, &tags[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    return MPI_Finalize();
}
