// SPDX-License-Identifier: BSD-3-Clause
// Programs under a profiler: timers that interrupt every system call a thousand times a second, a handler that
// overwrites errno, signals from the program itself, and children that come and go (fork, system, popen) between calls
// and while an Iallgather is under way.
// ranks: 3
// environment: CASTOFF_P2P=yes
// expect: right bytes, and handlers that ran
// taken: MPI_Bcast MPI_Iallgather
#include "oracle/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTS 200000
#define ROUNDS 30

static volatile sig_atomic_t interruptions, children;
static int sent[INTS], all[3 * INTS];

static void on_signal(int number)
{
    (void)number;
    interruptions = interruptions + 1;
    errno = EINTR;
}

static void on_child(int number)
{
    (void)number;
    children = children + 1;
}

static void set_timers(suseconds_t period)
{
    struct itimerval timer = {{0, period}, {0, period}};
    setitimer(ITIMER_REAL, &timer, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void have_children(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(3);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    co_test_expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "a child ended with %d", status);
    co_test_expect(system("exit 0") == 0, "system() failed");
    FILE *pipe = popen("echo here", "r");
    co_test_expect(pipe != NULL, "popen() failed");
    if (pipe != NULL) {
        pclose(pipe);
    }
}

static void round_of(int round)
{
    int count = round % 3 == 0 ? INTS : round % 3 == 1 ? 1000 : 1, rank = co_test_rank(), size = co_test_size();
    MPI_Request request;
    for (int i = 0; i < count; i++) {
        sent[i] = rank == round % size ? round + i : -1;
    }
    MPI_Bcast(sent, count, MPI_INT, round % size, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        if (!co_test_expect(sent[i] == round + i, "broadcast %d: %d at %d", round, sent[i], i)) {
            break;
        }
    }
    sent[0] = rank;
    MPI_Iallgather(sent, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD, &request);
    raise(SIGUSR1);
    if (round % 10 == 0) {
        have_children();
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) {
        co_test_expect(all[r * count] == r, "allgather %d: %d of rank %d", round, all[r * count], r);
    }
    MPI_Sendrecv_replace(sent, count, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    co_test_expect(sent[0] == (rank + size - 1) % size, "message %d: from %d", round, sent[0]);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal}, child = {.sa_handler = on_child};
    MPI_Init(&argc, &argv);
    co_test_begin();
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    child.sa_flags = SA_RESTART;
    sigaction(SIGCHLD, &child, NULL);
    set_timers(1000);
    for (int round = 0; round < ROUNDS; round++) {
        round_of(round);
    }
    set_timers(0);
    co_test_expect(interruptions >= ROUNDS && children > 0, "%d signals, %d children", (int)interruptions,
                   (int)children);
    return co_test_finish();
}
