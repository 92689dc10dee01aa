// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives are started in another order on each rank, as MPI allows: only the calls that make them are
// ordered. Between the starts other collectives of the communicator, blocking and not; a rank that is late; a Startall
// over persistent collectives of castoff's and native's own and persistent sends and receives, in another order on each
// rank; a rank that is done and starts the next round while others have not started this one.
// ranks: 2 3 5
// mpirun: --mca coll basic,self,libnbc
// expect: every start delivers its own ints
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init MPI_Ibcast MPI_Allgather
#include "oracle/planned.h"
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>

#define PLANS 9
#define ROUNDS 24
#define TRANSFERS 5

static struct co_planned plans[PLANS];
static uint64_t state;

static unsigned chance(unsigned limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % limit;
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        int j = (int)chance((unsigned)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void make_all(void)
{
    static const int sizes[] = {3, 700, 20000};
    for (int i = 0; i < PLANS; i++) {
        plans[i] = (struct co_planned){.kind = (enum co_planned_kind)(i % CO_PLANNED_KINDS),
                                       .number = i,
                                       .ints = sizes[i / CO_PLANNED_KINDS],
                                       .is_gap = (i + co_test_rank()) % 4 == 0,
                                       .is_in_place = i % 5 == 0};
        co_planned_make(&plans[i], MPI_COMM_WORLD);
    }
}

// Nobody waits for anybody before all are started.
static void start_shuffled(int round)
{
    int order[PLANS], together[2], sum = round;
    MPI_Request others[2];
    shuffle(order, PLANS);
    together[0] = together[1] = co_test_rank() + 10 * round;
    for (int i = 0; i < PLANS; i++) {
        if (i == PLANS / 2) {
            MPI_Ibcast(&together[0], 1, MPI_INT, 0, MPI_COMM_WORLD, &others[0]);
            MPI_Ibcast(&together[1], 1, MPI_INT, 1, MPI_COMM_WORLD, &others[1]);
        }
        co_planned_fill(&plans[order[i]]);
        MPI_Start(&plans[order[i]].request);
    }
    int *all = malloc((size_t)co_test_size() * sizeof(int));
    MPI_Allgather(&sum, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    co_test_expect(together[0] == 10 * round && together[1] == 1 + 10 * round, "round %d: the broadcasts between",
                   round);
    co_test_expect(all[co_test_size() - 1] == round, "round %d: the allgather between", round);
    free(all);
}

static void wait_shuffled(void)
{
    int order[PLANS];
    shuffle(order, PLANS);
    for (int i = 0; i < PLANS; i++) {
        MPI_Wait(&plans[order[i]].request, MPI_STATUS_IGNORE);
        co_planned_check(&plans[order[i]]);
    }
}

// Each request by itself, as often as the rank likes before it goes on to the next one: others are not there yet.
static void run_ahead(void)
{
    for (int i = 0; i < PLANS; i++) {
        for (int time = 0; time < 4; time++) {
            co_planned_fill(&plans[i]);
            MPI_Start(&plans[i].request);
            MPI_Wait(&plans[i].request, MPI_STATUS_IGNORE);
            co_planned_check(&plans[i]);
        }
    }
}

// What comes after is started everywhere else before the late rank starts anything.
static void be_late(int late)
{
    int token = 0, order[PLANS];
    if (co_test_rank() == late) {
        for (int r = 0; r < co_test_size(); r++) {
            if (r != late) {
                MPI_Recv(&token, 1, MPI_INT, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    }
    shuffle(order, PLANS);
    for (int i = 0; i < PLANS; i++) {
        co_planned_fill(&plans[order[i]]);
        MPI_Start(&plans[order[i]].request);
    }
    if (co_test_rank() != late) {
        MPI_Ssend(&token, 1, MPI_INT, late, 99, MPI_COMM_WORLD);
    }
    wait_shuffled();
}

struct transfers {
    int incoming[2], outgoing[2];
    MPI_Request requests[TRANSFERS];
};

static void make_transfers(struct transfers *transfers)
{
    int right = (co_test_rank() + 1) % co_test_size(), left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(&transfers->incoming[i], 1, MPI_INT, left, 5 + i, MPI_COMM_WORLD, &transfers->requests[2 * i]);
    }
    MPI_Send_init(&transfers->outgoing[0], 1, MPI_INT, right, 5, MPI_COMM_WORLD, &transfers->requests[1]);
    MPI_Ssend_init(&transfers->outgoing[1], 1, MPI_INT, right, 6, MPI_COMM_WORLD, &transfers->requests[3]);
    MPIX_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &transfers->requests[4]);
}

// One MPI_Startall over everything, completed by one call after the other.
static void start_mixed(struct transfers *transfers, int round)
{
    enum { ALL = PLANS + TRANSFERS };
    MPI_Request requests[ALL], kept[ALL];
    int order[ALL], left = (co_test_rank() + co_test_size() - 1) % co_test_size(), outcount = 0, indices[ALL];
    shuffle(order, ALL);
    for (int i = 0; i < ALL; i++) {
        bool is_plan = order[i] < PLANS;
        kept[i] = requests[i] = is_plan ? plans[order[i]].request : transfers->requests[order[i] - PLANS];
        if (is_plan) {
            co_planned_fill(&plans[order[i]]);
        }
    }
    transfers->outgoing[0] = transfers->outgoing[1] = round * 100 + co_test_rank();
    MPI_Startall(ALL, requests);
    if (round % 2 == 0) {
        MPI_Waitall(ALL, requests, MPI_STATUSES_IGNORE);
    } else {
        for (int done = 0; done < ALL; done += outcount) {
            MPI_Waitsome(ALL, requests, &outcount, indices, MPI_STATUSES_IGNORE);
        }
        MPI_Waitsome(ALL, requests, &outcount, indices, MPI_STATUSES_IGNORE);
        co_test_expect(outcount == MPI_UNDEFINED, "Waitsome of inactive ones: %d", outcount);
    }
    for (int i = 0; i < ALL; i++) {
        co_test_expect(requests[i] == kept[i], "round %d: handle %d has changed", round, i);
    }
    for (int i = 0; i < PLANS; i++) {
        co_planned_check(&plans[i]);
    }
    for (int i = 0; i < 2; i++) {
        co_test_expect(transfers->incoming[i] == round * 100 + left, "round %d: message %d", round, i);
    }
}

int main(int argc, char **argv)
{
    struct transfers transfers;
    MPI_Init(&argc, &argv);
    co_test_begin();
    state = (uint64_t)co_test_rank() + 17;
    make_all();
    make_transfers(&transfers);
    for (int round = 0; round < ROUNDS; round++) {
        start_shuffled(round);
        wait_shuffled();
    }
    for (int late = 0; late < co_test_size(); late++) {
        be_late(late);
    }
    run_ahead();
    for (int round = 0; round < 10; round++) {
        start_mixed(&transfers, round);
    }
    for (int i = 0; i < PLANS; i++) {
        co_planned_free(&plans[i]);
    }
    for (int i = 0; i < TRANSFERS; i++) {
        MPI_Request_free(&transfers.requests[i]);
    }
    return co_test_finish();
}
