// SPDX-License-Identifier: BSD-3-Clause
// 100,000 receives that wait, matched from the end and from the front, as many messages that come before their
// receives, and what the receives take: less than 20 MB beyond what native takes for the same. Only with castoff, for
// native would search for minutes. The communicator that is left to native measures native's memory alone, and last,
// for castoff's handles are native's requests, which native would use again.
// ranks: 2
// environment: CASTOFF_P2P=yes
// modes: on
// expect: every message finds its receive, by hashing; memory within the bound
// report: calls["MPI_Irecv"]["taken"] == 300000
// report: counters["receives_posted_high_water"] == 100000 and counters["messages_unexpected_high_water"] >= 100000
// report: counters["matches_beyond_table"] == 0
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 100000
#define BEYOND_NATIVE (20 * 1000 * 1000)

static MPI_Request requests[MANY + 1];
static int values[MANY];

// Of this process, in bytes.
static long resident(void)
{
    long pages = 0, kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmRSS: %ld", &pages) == 1) {
            kilobytes = pages;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kilobytes * 1024;
}

static int check(void)
{
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        wrong += values[i] != i;
    }
    return wrong;
}

// How much the process grows.
static long post(MPI_Comm comm)
{
    long before = resident();
    for (int i = 0; i < MANY; i++) {
        values[i] = -1;
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, comm, &requests[i]);
    }
    return resident() - before;
}

static long post_and_cancel(MPI_Comm comm)
{
    long grown = post(comm);
    for (int i = 0; i < MANY; i++) {
        MPI_Cancel(&requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    return grown;
}

static void send_all(MPI_Comm comm, bool backwards)
{
    for (int i = 0; i < MANY; i++) {
        int tag = values[i] = backwards ? MANY - 1 - i : i;
        MPI_Isend(&values[i], 1, MPI_INT, 1, tag, comm, &requests[i]);
    }
    MPI_Isend(NULL, 0, MPI_INT, 1, MANY, comm, &requests[MANY]);
}

static long post_and_match(MPI_Comm comm, bool backwards, const char *what)
{
    long grown = 0;
    if (co_test_rank() == 1) {
        grown = post(comm);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, 0, MANY, comm, MPI_STATUS_IGNORE);
        int wrong = check();
        co_test_expect(wrong == 0, "%s: %d of %d receives got another's message", what, wrong, MANY);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(comm, backwards);
        MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return grown;
}

static void come_early(MPI_Comm comm)
{
    if (co_test_rank() == 0) {
        send_all(comm, false);
        MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Status status;
        MPI_Probe(0, MANY, comm, &status); // they have all come
        for (int i = MANY - 1; i >= 0; i--) {
            MPI_Irecv(&values[i], 1, MPI_INT, 0, i, comm, &requests[i]);
        }
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        int wrong = check();
        co_test_expect(wrong == 0, "%d of %d early messages went astray", wrong, MANY);
        MPI_Recv(NULL, 0, MPI_INT, 0, MANY, comm, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Comm natives, served;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &natives);
    MPI_Info_free(&info);
    MPI_Comm_dup(MPI_COMM_WORLD, &served);
    memset(values, 1, sizeof values);
    memset(requests, 1, sizeof requests);
    long ours = post_and_match(served, true, "backwards");
    post_and_match(served, false, "forwards");
    come_early(served);
    long theirs = co_test_rank() == 1 ? post_and_cancel(natives) : 0;
    co_test_expect(ours - theirs < BEYOND_NATIVE, "%ld bytes for %d receives, native takes %ld", ours, MANY, theirs);
    if (co_test_rank() == 1 && getenv("P2P_OUTSTANDING_SHOWS") != NULL) {
        fprintf(stderr, "%d receives take %ld bytes, native's %ld\n", MANY, ours, theirs);
    }
    MPI_Comm_free(&served);
    MPI_Comm_free(&natives);
    return co_test_finish();
}
