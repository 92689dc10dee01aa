// SPDX-License-Identifier: BSD-3-Clause
// Floods that several lanes of the matcher take together: into receives of every wildcard class, one class at a time,
// all posted before the messages or a third of them, from all other ranks at once. Every message carries who sent it,
// its tag and its number.
// ranks: 2 3
// environment: CASTOFF_P2P=yes CASTOFF_MATCH_LANES=4
// expect: each sender's messages of a tag fill the receives that fit them in order
// report: calls["MPI_Irecv"]["taken"] > 0
// report: counters["lanes_without_conflict"] + counters["lanes_on_fast_path"] + counters["lanes_on_slow_path"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>

enum { EACH = 400, TAGS = 4, RANKS_MOST = 16, ANY_SOURCE = 1, ANY_TAG = 2, CLASSES = 4 };

struct letter {
    int sender, tag, number;
};

static int rank, ranks, count;
static struct letter *letters;
static MPI_Request *requests;
static MPI_Status *statuses;

// As many receives of each source and tag as there will be messages.
static void post(int from, int until, int class)
{
    for (int i = from; i < until; i++) {
        int source = class & ANY_SOURCE ? MPI_ANY_SOURCE : 1 + i % (ranks - 1);
        int tag = class & ANY_TAG ? MPI_ANY_TAG : i / (ranks - 1) % TAGS;
        MPI_Irecv(&letters[i], 3, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[i]);
    }
}

static void flood(void)
{
    MPI_Request sends[EACH];
    struct letter mine[EACH];
    for (int i = 0; i < EACH; i++) {
        mine[i] = (struct letter){rank, i % TAGS, i};
        MPI_Isend(&mine[i], 3, MPI_INT, 0, mine[i].tag, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Waitall(EACH, sends, MPI_STATUSES_IGNORE);
}

// Of one sender and tag, numbers go up by TAGS; where receives do not tell tags apart, by one.
static void check(int class)
{
    int last[RANKS_MOST][TAGS];
    for (int sender = 0; sender < RANKS_MOST; sender++) {
        for (int tag = 0; tag < TAGS; tag++) {
            last[sender][tag] = class & ANY_TAG ? -1 : tag - TAGS;
        }
    }
    for (int i = 0; i < count; i++) {
        const struct letter *letter = &letters[i];
        int sender = statuses[i].MPI_SOURCE, row = class & ANY_TAG ? 0 : statuses[i].MPI_TAG;
        co_test_expect(letter->sender == sender && letter->tag == statuses[i].MPI_TAG, "status of receive %d", i);
        co_test_expect(letter->number == last[sender][row] + (class & ANY_TAG ? 1 : TAGS), "order at receive %d", i);
        last[sender][row] = letter->number;
    }
}

static void one_round(int class, int posted_early)
{
    if (rank == 0) {
        post(0, posted_early, class);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        post(posted_early, count, class);
        MPI_Waitall(count, requests, statuses);
        check(class);
    } else {
        flood();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    ranks = co_test_size();
    count = EACH * (ranks - 1);
    letters = calloc((size_t)count, sizeof *letters);
    requests = calloc((size_t)count, sizeof(MPI_Request));
    statuses = calloc((size_t)count, sizeof(MPI_Status));
    for (int class = 0; class < CLASSES; class ++) {
        one_round(class, count);
        one_round(class, count / 3);
    }
    // What each sender's messages came to.
    int came[RANKS_MOST] = {0}, mine;
    for (int i = 0; i < count && rank == 0; i++) {
        came[letters[i].sender]++;
    }
    MPI_Scatter(came, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    co_test_expect(mine == (rank == 0 ? 0 : EACH), "%d of this rank's messages came", mine);
    free(statuses);
    free(requests);
    free(letters);
    return co_test_finish();
}
