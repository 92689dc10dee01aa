// SPDX-License-Identifier: BSD-3-Clause
// The stall watchdog of a message that does not come: each completion call says what it waits for. Nothing here is
// timed: the sender sends when it reads the line of the rank that waits.
// ranks: 2
// environment: CASTOFF_P2P=yes CASTOFF_STALL_S=1
// modes: on
// expect: a line for each call, which names the message
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum call { WAIT, WAITALL, WAITANY, WAITSOME, CALLS };
static const char *const names[CALLS] = {"MPI_Wait ", "MPI_Waitall ", "MPI_Waitany ", "MPI_Waitsome "};

static char pattern[200]; // of the log files; %r is the rank

// The line of the waiting rank, or an empty one.
static void find_line(const char *name, char *line, int room)
{
    char path[220];
    snprintf(path, sizeof path, "%.*s1", (int)strlen(pattern) - 2, pattern);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, room, file) != NULL) {
        if (strstr(line, "no progress in ") != NULL && strstr(line, name) != NULL) {
            fclose(file);
            return;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    line[0] = '\0';
}

static void send_when_told(enum call call)
{
    char line[1000], message[80];
    struct timespec pause = {0, 10000000};
    do {
        nanosleep(&pause, NULL);
        find_line(names[call], line, sizeof line);
    } while (line[0] == '\0');
    snprintf(message, sizeof message, "no message from rank 0, tag %d, has come", (int)call);
    co_test_expect(strstr(line, message) != NULL, "%sdid not say what it waits for: %s", names[call], line);
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 1, (int)call, MPI_COMM_WORLD);
}

static void receive(enum call call)
{
    int value = 0, index = 0, count = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(&value, 1, MPI_INT, 0, (int)call, MPI_COMM_WORLD, &requests[1]);
    switch (call) {
    case WAIT:
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case WAITALL:
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case WAITANY:
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Waitsome(2, requests, &count, &index, MPI_STATUSES_IGNORE);
    }
    co_test_expect(value == 1, "%s: no message", names[call]);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    // All ranks are children of one launcher.
    snprintf(pattern, sizeof pattern, "%s/castoff-p2p-stall.%d.%%r", folder != NULL ? folder : "/tmp", (int)getppid());
    setenv("CASTOFF_LOG_FILE", pattern, 1);
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (enum call call = WAIT; call < CALLS; call++) {
        if (co_test_rank() == 0) {
            send_when_told(call);
        } else {
            receive(call);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    char path[220];
    snprintf(path, sizeof path, "%.*s%d", (int)strlen(pattern) - 2, pattern, co_test_rank());
    remove(path);
    return co_test_finish();
}
