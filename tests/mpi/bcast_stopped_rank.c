// SPDX-License-Identifier: BSD-3-Clause
// A rank is stopped by a signal for 200 ms, several times, while broadcasts and allgathers go on: nobody
// may lose data or give it up. The stopping is done by a child process of the rank, so this
// also shows that a fork in the middle does no harm.
// ranks: 3
// expect: right bytes everywhere
// taken: MPI_Bcast MPI_Iallgather
#include "oracle/verdict.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 150000
#define STOPS 3

static unsigned char send[BYTES];
static unsigned char receive[BYTES * 3];

// A child that stops and continues its parent; it touches nothing of MPI.
static pid_t start_stopper(void)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) {
        return child;
    }
    struct timespec stopped = {.tv_nsec = 200 * 1000 * 1000};
    struct timespec running = {.tv_nsec = 20 * 1000 * 1000};
    for (int i = 0; i < STOPS; i++) {
        kill(parent, SIGSTOP);
        nanosleep(&stopped, NULL);
        kill(parent, SIGCONT);
        nanosleep(&running, NULL);
    }
    _exit(0);
}

static void run(int operation)
{
    size_t bytes = operation % 4 == 3 ? BYTES : (size_t)(operation % 900);
    int root = operation % co_test_size();
    uint64_t seed = co_test_seed(root, operation, bytes);
    if (co_test_rank() == root) {
        co_test_pattern_fill(send, bytes, seed);
    }
    MPI_Bcast(send, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(send, bytes, seed, "broadcast %d", operation);
    MPI_Request request;
    co_test_pattern_fill(send, bytes, co_test_seed(co_test_rank(), -operation, bytes));
    MPI_Iallgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, -operation, bytes),
                         "allgather %d, block %d", operation, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    pid_t stopper = -1;
    run(0);
    if (co_test_rank() == 1) {
        stopper = start_stopper();
        co_test_expect(stopper > 0, "fork failed");
    }
    for (int operation = 1; operation < 400; operation++) {
        run(operation);
    }
    if (stopper > 0) {
        int status = -1;
        waitpid(stopper, &status, 0);
        co_test_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "stopper: %d", status);
    }
    return co_test_finish();
}
