// SPDX-License-Identifier: BSD-3-Clause
// Mixed request arrays through Waitsome and Testsome: statuses are packed in the order of the indices,
// entries behind the count are left alone, MPI_UNDEFINED comes only when nothing is active, and when
// everything is complete already, one call reports it all.
// ranks: 2 3
// expect: right bytes, statuses, handles and indices
// taken: MPI_Iallgather MPI_Iallgatherv MPI_Ibcast
// report: [c["taken"] > 0 for n, c in calls.items() if n.startswith("MPIX_Allgather")] in ([True, True], [])
#include "oracle/mixture.h"
#include "oracle/verdict.h"

#include <string.h>

#define UNTOUCHED 0x11111111

static struct co_mixture mixture;
static MPI_Status statuses[CO_MIXTURE_SLOTS];
static int indices[CO_MIXTURE_SLOTS];

static int call(bool waits, bool with_statuses)
{
    int count = -5;
    MPI_Status *target = with_statuses ? statuses : MPI_STATUSES_IGNORE;
    memset(statuses, 0x11, sizeof statuses);
    int error = waits ? MPI_Waitsome(CO_MIXTURE_SLOTS, mixture.requests, &count, indices, target)
                      : MPI_Testsome(CO_MIXTURE_SLOTS, mixture.requests, &count, indices, target);
    co_test_expect(error == MPI_SUCCESS, "error %d", error);
    return count;
}

static void use_some(bool waits, bool with_statuses, bool settled)
{
    const char *name = waits ? "Waitsome" : "Testsome";
    bool first = true;
    for (;;) {
        int count = call(waits, with_statuses);
        if (count == MPI_UNDEFINED) {
            break;
        }
        co_test_expect(count >= (waits ? 1 : 0) && count <= mixture.active, "%s: count %d of %d", name, count,
                       mixture.active);
        if (first && settled) {
            co_test_expect(count == mixture.active, "%s: %d of %d complete operations", name, count, mixture.active);
        }
        first = false;
        for (int i = 0; i < count; i++) {
            co_mixture_complete(&mixture, indices[i], with_statuses ? &statuses[i] : NULL);
        }
        for (int i = count; with_statuses && i < CO_MIXTURE_SLOTS; i++) {
            co_test_expect(statuses[i].MPI_SOURCE == UNTOUCHED, "%s: status %d written", name, i);
        }
        co_mixture_check_untouched(&mixture, name);
    }
    co_mixture_finish(&mixture, name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 32; round++) {
        bool settled = round % 8 >= 4;
        co_mixture_start(&mixture, round);
        if (settled) {
            co_mixture_settle(&mixture);
        }
        use_some(round % 2 == 0, round % 4 < 2, settled);
    }
    int count = 0;
    MPI_Waitsome(0, NULL, &count, indices, MPI_STATUSES_IGNORE);
    co_test_expect(count == MPI_UNDEFINED, "Waitsome of nothing: %d", count);
    count = 0;
    MPI_Testsome(0, NULL, &count, indices, MPI_STATUSES_IGNORE);
    co_test_expect(count == MPI_UNDEFINED, "Testsome of nothing: %d", count);
    return co_test_finish();
}
