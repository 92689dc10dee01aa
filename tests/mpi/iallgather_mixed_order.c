// SPDX-License-Identifier: BSD-3-Clause
// The order in which Waitany, Testany, Waitsome and Testsome tell what is complete: all that is, in the order of the
// array, whoever serves it. MPI leaves the order open, Open MPI goes by the array, and programs lean on that. Six
// receives alone, and receives, allgathers and barriers in turn with null and inactive requests between, and some
// that stay pending.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: indices in the order of the array, statuses with them
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <string.h>

#define SLOTS 12
#define RANKS 8

enum kind { NOTHING, RECEIVE, ALLGATHER, BARRIER, INACTIVE, PENDING };

static const enum kind layouts[][SLOTS] = {
    {RECEIVE, RECEIVE, RECEIVE, RECEIVE, RECEIVE, RECEIVE},
    {RECEIVE, BARRIER, ALLGATHER, NOTHING, BARRIER, RECEIVE, INACTIVE, ALLGATHER, RECEIVE, BARRIER, ALLGATHER, RECEIVE},
    {BARRIER, BARRIER, RECEIVE, ALLGATHER, BARRIER, NOTHING, RECEIVE, INACTIVE, BARRIER, ALLGATHER, RECEIVE, BARRIER},
    {PENDING, RECEIVE, PENDING, ALLGATHER, BARRIER, PENDING, RECEIVE, BARRIER, PENDING, RECEIVE, INACTIVE, ALLGATHER},
};

#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))

static MPI_Request requests[SLOTS];
static int received[SLOTS], gathered[SLOTS][RANKS], own[SLOTS];

static bool completes(enum kind kind)
{
    return kind == RECEIVE || kind == ALLGATHER || kind == BARRIER;
}

static void start(const enum kind kinds[SLOTS])
{
    int left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    for (int i = 0; i < SLOTS; i++) {
        requests[i] = MPI_REQUEST_NULL;
        own[i] = 100 * co_test_rank() + i;
        switch (kinds[i]) {
        case RECEIVE:
        case PENDING:
            MPI_Irecv(&received[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
            break;
        case ALLGATHER:
            MPI_Iallgather(&own[i], 1, MPI_INT, gathered[i], 1, MPI_INT, MPI_COMM_WORLD, &requests[i]);
            break;
        case BARRIER:
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
            break;
        case INACTIVE:
            MPI_Recv_init(&received[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
            break;
        case NOTHING:
            break;
        }
    }
}

static void send_all(const enum kind kinds[SLOTS], enum kind kind)
{
    int right = (co_test_rank() + 1) % co_test_size();
    for (int i = 0; i < SLOTS; i++) {
        if (kinds[i] == kind) {
            MPI_Send(&own[i], 1, MPI_INT, right, i, MPI_COMM_WORLD);
        }
    }
}

// Until all that can be complete is.
static void settle(const enum kind kinds[SLOTS])
{
    for (int i = 0; i < SLOTS; i++) {
        int flag = !completes(kinds[i]);
        while (!flag) {
            MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
        }
    }
}

static void check_status(enum kind kind, int index, const MPI_Status *status)
{
    int left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    if (kind == RECEIVE) {
        co_test_expect(status->MPI_TAG == index && status->MPI_SOURCE == left, "%d: tag %d, source %d", index,
                       status->MPI_TAG, status->MPI_SOURCE);
        co_test_expect(received[index] == 100 * left + index, "%d: received %d", index, received[index]);
    }
}

static void by_any(const enum kind kinds[SLOTS], bool waits)
{
    for (int i = 0; i < SLOTS; i++) {
        if (!completes(kinds[i])) {
            continue;
        }
        MPI_Status status = {.MPI_TAG = -7, .MPI_SOURCE = -7};
        int index = -7, flag = 1;
        if (waits) {
            MPI_Waitany(SLOTS, requests, &index, &status);
        } else {
            MPI_Testany(SLOTS, requests, &index, &flag, &status);
        }
        co_test_expect(flag && index == i, "%s: %d instead of %d", waits ? "Waitany" : "Testany", index, i);
        check_status(kinds[i], i, &status);
    }
}

static void by_some(const enum kind kinds[SLOTS], bool waits, bool with_statuses)
{
    MPI_Status statuses[SLOTS];
    int indices[SLOTS], count = -7, at = 0;
    MPI_Status *target = with_statuses ? statuses : MPI_STATUSES_IGNORE;
    if (waits) {
        MPI_Waitsome(SLOTS, requests, &count, indices, target);
    } else {
        MPI_Testsome(SLOTS, requests, &count, indices, target);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (completes(kinds[i])) {
            co_test_expect(at < count && indices[at] == i, "%s: entry %d is %d instead of %d",
                           waits ? "Waitsome" : "Testsome", at, at < count ? indices[at] : -1, i);
            if (with_statuses && at < count) {
                check_status(kinds[i], i, &statuses[at]);
            }
            at++;
        }
    }
    co_test_expect(count == at, "%d of %d", count, at);
}

static void finish(const enum kind kinds[SLOTS])
{
    MPI_Barrier(MPI_COMM_WORLD); // all have looked
    send_all(kinds, PENDING);
    for (int i = 0; i < SLOTS; i++) {
        if (kinds[i] == INACTIVE) {
            MPI_Request_free(&requests[i]);
        }
        co_test_expect(kinds[i] == PENDING || requests[i] == MPI_REQUEST_NULL, "%d: not null", i);
    }
    MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 6 * LAYOUTS; round++) {
        const enum kind *kinds = layouts[round % LAYOUTS];
        start(kinds);
        send_all(kinds, RECEIVE);
        settle(kinds);
        int way = round / LAYOUTS;
        if (way < 2) {
            by_any(kinds, way == 0);
        } else {
            by_some(kinds, way % 2 == 0, way < 4);
        }
        finish(kinds);
    }
    return co_test_finish();
}
