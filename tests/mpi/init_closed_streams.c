// SPDX-License-Identifier: BSD-3-Clause
// A program that starts MPI with standard streams closed, and opens files of its own at their numbers afterwards: what
// stands there natively stands there, and the program goes on.
// ranks: 2
// arguments: 0
// arguments: 1
// arguments: 0 1
// expect: the same in every mode
#include "oracle/verdict.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 300000, ABOVE = 100 };

// Who puts a file of his own there spoils it, and libevent does not end then.
static bool is_epoll(int number)
{
    char path[40], name[80] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    return readlink(path, name, sizeof name - 1) > 0 && strstr(name, "eventpoll") != NULL;
}

static void exchange(void)
{
    static char block[BYTES];
    int other = 1 - co_test_rank();
    for (int round = 0; round < 50; round++) {
        memset(block, co_test_rank() == 0 ? round : -1, BYTES);
        MPI_Bcast(block, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
        co_test_expect(block[BYTES - 1] == round, "broadcast %d", round);
        memset(block, 60 + round, BYTES);
        MPI_Sendrecv_replace(block, BYTES, MPI_CHAR, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_test_expect(block[BYTES - 1] == 60 + round, "message %d", round);
    }
}

int main(int argc, char **argv)
{
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ABOVE), nothing = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    bool are_epolls = false;
    for (int i = 1; i < argc; i++) {
        close(atoi(argv[i]));
    }
    MPI_Init(NULL, NULL);
    co_test_begin();
    for (int i = 1; i < argc; i++) {
        are_epolls = are_epolls || is_epoll(atoi(argv[i]));
    }
    for (int i = 1; i < argc && !are_epolls; i++) {
        dup2(nothing, atoi(argv[i]));
    }
    dup2(output, STDOUT_FILENO);
    co_test_say("%s\n", are_epolls ? "an epoll" : "nothing that matters");
    exchange();
    return co_test_finish();
}
