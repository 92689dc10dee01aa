// SPDX-License-Identifier: BSD-3-Clause
// Mixed request arrays through Waitany and Testany until they report that nothing is active any more,
// including operations that were complete long before the call. Each index comes once; null and
// inactive requests never do.
// ranks: 2 3
// expect: right bytes, statuses, handles and indices
// taken: MPI_Iallgather MPI_Iallgatherv MPI_Ibcast
// report: [c["taken"] > 0 for n, c in calls.items() if n.startswith("MPIX_Allgather")] in ([True, True], [])
#include "oracle/mixture.h"
#include "oracle/verdict.h"

#include <string.h>

static struct co_mixture mixture;

static void use_waitany(bool with_status)
{
    MPI_Status status;
    int index = 0;
    while (index != MPI_UNDEFINED) {
        memset(&status, 0x11, sizeof status);
        int error = MPI_Waitany(CO_MIXTURE_SLOTS, mixture.requests, &index, with_status ? &status : MPI_STATUS_IGNORE);
        co_test_expect(error == MPI_SUCCESS, "Waitany: error %d", error);
        if (index != MPI_UNDEFINED) {
            co_mixture_complete(&mixture, index, with_status ? &status : NULL);
        }
    }
    if (with_status) {
        co_mixture_check_empty_status(&status, "Waitany of nothing active");
    }
    co_mixture_finish(&mixture, "Waitany");
}

static void use_testany(bool with_status)
{
    MPI_Status status;
    int index = 0;
    int flag = 0;
    while (flag == 0 || index != MPI_UNDEFINED) {
        memset(&status, 0x11, sizeof status);
        index = 12345;
        MPI_Testany(CO_MIXTURE_SLOTS, mixture.requests, &index, &flag, with_status ? &status : MPI_STATUS_IGNORE);
        if (flag == 0) {
            co_mixture_check_untouched(&mixture, "Testany");
            co_test_expect(index == MPI_UNDEFINED, "Testany: no flag, but index %d", index);
        } else if (index != MPI_UNDEFINED) {
            co_mixture_complete(&mixture, index, with_status ? &status : NULL);
        }
    }
    if (with_status) {
        co_mixture_check_empty_status(&status, "Testany of nothing active");
    }
    co_mixture_finish(&mixture, "Testany");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 32; round++) {
        co_mixture_start(&mixture, round);
        if (round % 8 >= 4) {
            co_mixture_settle(&mixture);
        }
        if (round % 2 == 0) {
            use_waitany(round % 4 == 0);
        } else {
            use_testany(round % 4 == 1);
        }
    }
    int index = 0;
    int flag = 0;
    MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
    co_test_expect(index == MPI_UNDEFINED, "Waitany of nothing has index %d", index);
    index = 0;
    MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE);
    co_test_expect(index == MPI_UNDEFINED && flag == 1, "Testany of nothing: %d, %d", index, flag);
    return co_test_finish();
}
