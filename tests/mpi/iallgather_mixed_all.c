// SPDX-License-Identifier: BSD-3-Clause
// Mixed request arrays through Wait, Waitall, Test and Testall. Testall is all or nothing: as long as
// it says no, every request must be as it was. Statuses are right at every index, empty for null
// and inactive requests.
// ranks: 2 3
// expect: right bytes, statuses and handles
// taken: MPI_Iallgather MPI_Iallgatherv MPI_Ibcast
// report: [c["taken"] > 0 for n, c in calls.items() if n.startswith("MPIX_Allgather")] in ([True, True], [])
#include "oracle/mixture.h"
#include "oracle/verdict.h"

#include <string.h>

static struct co_mixture mixture;
static MPI_Status statuses[CO_MIXTURE_SLOTS];

// All the operations completed in one call.
static void complete_all(const char *call, bool with_statuses)
{
    for (int i = 0; i < CO_MIXTURE_SLOTS; i++) {
        if (co_mixture_is_active(mixture.slots[i].kind)) {
            co_mixture_complete(&mixture, i, with_statuses ? &statuses[i] : NULL);
        } else if (with_statuses) {
            co_mixture_check_empty_status(&statuses[i], call);
        }
    }
    co_mixture_finish(&mixture, call);
}

static void use_waitall(bool with_statuses)
{
    memset(statuses, 0x11, sizeof statuses);
    int error = MPI_Waitall(CO_MIXTURE_SLOTS, mixture.requests, with_statuses ? statuses : MPI_STATUSES_IGNORE);
    co_test_expect(error == MPI_SUCCESS, "Waitall: error %d", error);
    complete_all("Waitall", with_statuses);
}

static void use_testall(bool with_statuses)
{
    int flag = 0;
    memset(statuses, 0x11, sizeof statuses);
    while (flag == 0) {
        MPI_Testall(CO_MIXTURE_SLOTS, mixture.requests, &flag, with_statuses ? statuses : MPI_STATUSES_IGNORE);
        if (flag == 0) {
            co_mixture_check_untouched(&mixture, "Testall");
        }
    }
    complete_all("Testall", with_statuses);
}

static void use_wait(void)
{
    for (int i = 0; i < CO_MIXTURE_SLOTS; i++) {
        int index = (i * 7 + co_test_rank()) % CO_MIXTURE_SLOTS;
        MPI_Wait(&mixture.requests[index], &statuses[index]);
    }
    complete_all("Wait", true);
}

static void use_test(void)
{
    bool done[CO_MIXTURE_SLOTS] = {false};
    int left = CO_MIXTURE_SLOTS;
    while (left > 0) {
        for (int i = 0; i < CO_MIXTURE_SLOTS; i++) {
            int flag = 0;
            if (!done[i]) {
                MPI_Test(&mixture.requests[i], &flag, &statuses[i]);
                done[i] = flag != 0;
                left -= flag != 0;
            }
        }
    }
    complete_all("Test", true);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 36; round++) {
        co_mixture_start(&mixture, round);
        switch (round % 6) {
        case 0:
            use_waitall(true);
            break;
        case 1:
            use_testall(true);
            break;
        case 2:
            use_wait();
            break;
        case 3:
            use_test();
            break;
        case 4:
            use_waitall(false);
            break;
        default:
            use_testall(false);
            break;
        }
    }
    int flag = 0;
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    co_test_expect(flag == 1, "Testall of nothing is false");
    return co_test_finish();
}
