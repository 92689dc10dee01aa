// SPDX-License-Identifier: BSD-3-Clause
//
// What waking a sleeping thread takes of the thread that wakes it: a write to an eventfd on which the other one sleeps
// in ppoll, as the start of an MPI_Iallgather wakes its worker thread. The part under figure M6 that is not castoff's.
// Prints median and 99th percentile.
//
//   wake_speed [ROUNDS]
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static int wake_fd;
static _Atomic int is_over;

static void *sleeper(void *arg)
{
    uint64_t calls;
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}); // as a worker thread
    while (!atomic_load(&is_over)) {
        struct pollfd descriptor = {.fd = wake_fd, .events = POLLIN};
        if (ppoll(&descriptor, 1, NULL, NULL) == 1 && read(wake_fd, &calls, sizeof calls) < 0) {
            perror("wake_speed");
        }
    }
    return arg;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {0, CO_NS_PER_MS};
    const uint64_t one = 1;
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
    uint64_t *took = calloc(rounds + 1, sizeof *took);
    pthread_t thread;
    wake_fd = eventfd(0, EFD_NONBLOCK);
    if (rounds == 0 || took == NULL || wake_fd < 0 || pthread_create(&thread, NULL, sleeper, NULL) != 0) {
        fputs("wake_speed: no thread, no memory, or no rounds\n", stderr);
        return 1;
    }
    for (size_t round = 0; round <= rounds; round++) {
        nanosleep(&pause, NULL); // it sleeps again
        atomic_store(&is_over, round == rounds);
        uint64_t start = co_clock_now_ns();
        if (write(wake_fd, &one, sizeof one) < 0) {
            perror("wake_speed");
        }
        took[round] = co_clock_now_ns() - start;
    }
    pthread_join(thread, NULL);
    qsort(took, rounds + 1, sizeof *took, compare);
    printf("waking a thread: p50 %.1f us, p99 %.1f us\n", (double)took[rounds / 2] / 1e3,
           (double)took[rounds * 99 / 100] / 1e3);
    free(took);
    return 0;
}
