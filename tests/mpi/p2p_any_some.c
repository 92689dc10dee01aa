// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitany, MPI_Testany, MPI_Waitsome and MPI_Testsome over arrays of receives of which the library serves all, none
// (a communicator of MPI_Comm_idup stays native) or some, with inactive persistent and null ones between them: each is
// told once, with its own status, and the some in the order of the array.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: each receive is told once, in every mode
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>

#define ENTRIES 24
#define ROUNDS 120

enum kind { PLAIN, NATIVE, INACTIVE, NOTHING, STARTED, KINDS };
enum call { ANY_TEST, ANY_WAIT, SOME_TEST, SOME_WAIT, CALLS };

static MPI_Comm native;
static int left, right;

struct array {
    int round;
    enum kind kinds[ENTRIES];
    MPI_Request requests[ENTRIES];
    int got[ENTRIES], order[ENTRIES]; // of what is sent to the right
    int sent, pending;
};

// The same on all ranks.
static void choose(struct array *array, int round)
{
    unsigned seed = (unsigned)round;
    array->round = round;
    for (int i = 0; i < ENTRIES; i++) {
        array->kinds[i] = round % 3 == 0 ? PLAIN : round % 3 == 1 ? NATIVE : (enum kind)(rand_r(&seed) % KINDS);
        int other = rand_r(&seed) % (i + 1);
        array->order[i] = array->order[other];
        array->order[other] = i;
    }
}

static void post(struct array *array)
{
    array->sent = array->pending = 0;
    for (int i = 0; i < ENTRIES; i++) {
        MPI_Request *request = &array->requests[i];
        enum kind kind = array->kinds[i];
        array->got[i] = -1;
        *request = MPI_REQUEST_NULL;
        if (kind == PLAIN || kind == NATIVE) {
            MPI_Irecv(&array->got[i], 1, MPI_INT, left, i, kind == NATIVE ? native : MPI_COMM_WORLD, request);
        } else if (kind != NOTHING) {
            MPI_Recv_init(&array->got[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, request);
        }
        if (kind == STARTED) {
            MPI_Start(request);
        }
        array->pending += kind != INACTIVE && kind != NOTHING;
    }
}

static void send_some(struct array *array, int many)
{
    for (; many > 0 && array->sent < ENTRIES; many--) {
        int i = array->order[array->sent++], value = ENTRIES * array->round + i;
        if (array->kinds[i] != INACTIVE && array->kinds[i] != NOTHING) {
            MPI_Send(&value, 1, MPI_INT, right, i, array->kinds[i] == NATIVE ? native : MPI_COMM_WORLD);
        }
    }
}

static void take(struct array *array, int i, const MPI_Status *status)
{
    bool is_there = i >= 0 && i < ENTRIES;
    co_test_expect(is_there && status->MPI_TAG == i && status->MPI_SOURCE == left &&
                       array->got[i] == ENTRIES * array->round + i,
                   "round %d told %d with tag %d from %d", array->round, i, status->MPI_TAG, status->MPI_SOURCE);
    if (is_there) {
        array->got[i] = -2; // told
    }
    array->pending--;
}

static void take_any(struct array *array, bool waits)
{
    int flag = 1, index = -1;
    MPI_Status status;
    if (waits) {
        MPI_Waitany(ENTRIES, array->requests, &index, &status);
    } else {
        MPI_Testany(ENTRIES, array->requests, &index, &flag, &status);
    }
    if (flag) {
        take(array, index, &status);
    } else {
        co_test_expect(index == MPI_UNDEFINED, "a test in vain told %d", index);
    }
}

static void take_some(struct array *array, bool waits)
{
    int count = 0, indices[ENTRIES];
    MPI_Status statuses[ENTRIES];
    if (waits) {
        MPI_Waitsome(ENTRIES, array->requests, &count, indices, statuses);
    } else {
        MPI_Testsome(ENTRIES, array->requests, &count, indices, statuses);
    }
    co_test_expect(count >= waits && count <= array->pending, "told %d", count);
    for (int i = 0; i < count && count <= array->pending; i++) {
        co_test_expect(i == 0 || indices[i] > indices[i - 1], "told %d behind %d", indices[i], indices[i - 1]);
    }
    for (int i = 0; i < count; i++) {
        take(array, indices[i], &statuses[i]);
    }
}

// Who waits has sent all, so that nobody waits in vain.
static void complete(struct array *array, enum call call)
{
    while (array->sent < ENTRIES || array->pending > 0) {
        send_some(array, 3);
        bool waits = array->sent == ENTRIES && (call == ANY_WAIT || call == SOME_WAIT);
        if (array->pending > 0 && (call == ANY_TEST || call == ANY_WAIT)) {
            take_any(array, waits);
        } else if (array->pending > 0) {
            take_some(array, waits);
        }
    }
}

static void end(struct array *array)
{
    int flag, index;
    MPI_Testany(ENTRIES, array->requests, &index, &flag, MPI_STATUS_IGNORE);
    co_test_expect(flag && index == MPI_UNDEFINED, "nothing is left, but told is %d, %d", flag, index);
    for (int i = 0; i < ENTRIES; i++) {
        bool is_persistent = array->kinds[i] == INACTIVE || array->kinds[i] == STARTED;
        co_test_expect((array->requests[i] != MPI_REQUEST_NULL) == is_persistent, "the handle of %d", i);
        if (is_persistent) {
            MPI_Request_free(&array->requests[i]);
        }
    }
}

int main(int argc, char **argv)
{
    static struct array array;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    co_test_begin();
    right = (co_test_rank() + 1) % co_test_size();
    left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Comm_idup(MPI_COMM_WORLD, &native, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int round = 0; round < ROUNDS; round++) {
        choose(&array, round);
        post(&array);
        complete(&array, (enum call)(round % CALLS));
        end(&array);
    }
    MPI_Comm_free(&native);
    return co_test_finish();
}
