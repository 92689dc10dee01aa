// SPDX-License-Identifier: BSD-3-Clause
// The stall watchdog in a job: the root is late until the others have said so. Nothing here is timed: rank 2 enters
// the broadcast when it reads rank 1's line, the root when it reads rank 2's, so rank 1 waits for two periods at
// least, and yet says it once. Twice over, since a second stall is told again.
// ranks: 3
// modes: on
// expect: one line a stall from each waiting rank, with what it waits for and its stack
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 100
#define STALLS 2

static char pattern[200]; // of the log files; %r is the rank

static void choose_files(void)
{
    const char *folder = getenv("TMPDIR");
    // All ranks are children of one launcher.
    snprintf(pattern, sizeof pattern, "%s/castoff-stall.%d.%%r", folder != NULL ? folder : "/tmp", (int)getppid());
    setenv("CASTOFF_LOG_FILE", pattern, 1);
    setenv("CASTOFF_STALL_S", "1", 1);
}

static void file_of(int rank, char *path, size_t room)
{
    snprintf(path, room, "%.*s%d", (int)strlen(pattern) - 2, pattern, rank);
}

// How many lines of a rank's log have all three words.
static int count_lines(int rank, const char *one, const char *two, const char *three)
{
    char path[220];
    char line[1000];
    int count = 0;
    file_of(rank, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, one) != NULL && strstr(line, two) != NULL && strstr(line, three) != NULL;
    }
    fclose(file);
    return count;
}

static void await_lines(int rank, int count)
{
    while (count_lines(rank, "no progress", "", "") < count) {
        nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
    }
}

__attribute__((noinline)) static void stand_in_broadcast(int stall)
{
    static unsigned char buffer[BYTES];
    uint64_t seed = co_test_seed(0, stall, BYTES);
    if (co_test_rank() == 0) {
        co_test_pattern_fill(buffer, BYTES, seed);
    }
    MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    co_test_received(buffer, BYTES, seed, "broadcast %d", stall);
}

static void judge(int rank)
{
    co_test_expect(count_lines(rank, "no progress", "", "") == STALLS, "rank %d: not one line a stall", rank);
    co_test_expect(count_lines(rank, "warn: no progress in MPI_Bcast for ", " s: ", "bcast of 100 bytes, root 0") ==
                       STALLS,
                   "rank %d: what it waits for", rank);
    co_test_expect(count_lines(rank, "  #", "stand_in_broadcast+", "") == STALLS, "rank %d: stack", rank);
}

int main(int argc, char **argv)
{
    choose_files();
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int stall = 0; stall < STALLS; stall++) {
        if (co_test_rank() != 1) {
            await_lines(co_test_rank() == 0 ? 2 : 1, stall + 1);
        }
        stand_in_broadcast(stall);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (co_test_rank() == 0) {
        judge(1);
        judge(2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int status = co_test_print();
    char path[220];
    file_of(co_test_rank(), path, sizeof path);
    MPI_Finalize();
    unlink(path);
    return status;
}
