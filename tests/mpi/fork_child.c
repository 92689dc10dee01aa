// SPDX-License-Identifier: BSD-3-Clause
// Children of a preloaded rank, made while operations are pending: one leaves by exit (exit handlers run
// in it), one by _exit, one by exec of another program, one through system(), which inherits the
// preload. None may touch the parent's engine, and the parent goes on.
// ranks: 2
// expect: children exit as they should; right bytes in the parent
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 400000

static unsigned char send[BYTES];
static unsigned char receive[BYTES * 2];

enum way { BY_EXIT, BY_UNDERSCORE_EXIT, BY_EXEC, BY_SYSTEM, WAYS };

static int run_child(enum way way)
{
    if (way == BY_SYSTEM) {
        return system("exit 7");
    }
    pid_t child = fork();
    if (child == 0) {
        if (way == BY_EXIT) {
            exit(7);
        } else if (way == BY_EXEC) {
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        }
        _exit(7);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int way = 0; way < WAYS; way++) {
        MPI_Request request;
        co_test_pattern_fill(send, BYTES, co_test_seed(co_test_rank(), way, BYTES));
        MPI_Iallgather(send, BYTES, MPI_BYTE, receive, BYTES, MPI_BYTE, MPI_COMM_WORLD, &request);
        int status = run_child((enum way)way);
        co_test_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "child %d: status %d", way, status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(receive + (size_t)r * BYTES, BYTES, co_test_seed(r, way, BYTES),
                             "after child %d: block %d", way, r);
        }
    }
    return co_test_finish();
}
