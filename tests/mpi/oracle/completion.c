// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/completion.h"

#include "oracle/parcel.h"

static void at_once(int count, MPI_Request *requests, bool waits,
                    void (*on_complete)(int index, const MPI_Status *status))
{
    MPI_Status statuses[CO_COMPLETION_MOST];
    int flag = 0;
    if (waits) {
        MPI_Waitall(count, requests, statuses);
    }
    while (!waits && flag == 0) {
        MPI_Testall(count, requests, &flag, statuses);
    }
    for (int i = 0; i < count; i++) {
        on_complete(i, &statuses[i]);
    }
}

// Calls that complete some, until all are.
static bool some_each_time(int count, MPI_Request *requests, uint64_t *random,
                           void (*on_complete)(int index, const MPI_Status *status))
{
    MPI_Status statuses[CO_COMPLETION_MOST];
    int indices[CO_COMPLETION_MOST];
    for (int left = count; left > 0;) {
        int completed = 1, flag = 1;
        switch (co_parcel_random(random, 4)) {
        case 0:
            MPI_Waitany(count, requests, &indices[0], &statuses[0]);
            break;
        case 1:
            MPI_Waitsome(count, requests, &completed, indices, statuses);
            break;
        case 2:
            MPI_Testany(count, requests, &indices[0], &flag, &statuses[0]);
            break;
        default:
            MPI_Testsome(count, requests, &completed, indices, statuses);
        }
        completed = flag != 0 ? completed : 0;
        if (completed == MPI_UNDEFINED || (completed > 0 && indices[0] == MPI_UNDEFINED)) {
            return false;
        }
        for (int i = 0; i < completed; i++) {
            on_complete(indices[i], &statuses[i]);
        }
        left -= completed;
    }
    return true;
}

static void one_by_one(int count, MPI_Request *requests, uint64_t *random,
                       void (*on_complete)(int index, const MPI_Status *status))
{
    for (int i = count - 1; i >= 0; i--) {
        MPI_Status status;
        int flag = 0;
        if (co_parcel_random(random, 2) == 0) {
            MPI_Wait(&requests[i], &status);
            flag = 1;
        }
        while (flag == 0) {
            MPI_Test(&requests[i], &flag, &status);
        }
        on_complete(i, &status);
    }
}

bool co_complete_all(int count, MPI_Request *requests, uint64_t *random,
                     void (*on_complete)(int index, const MPI_Status *status))
{
    switch (co_parcel_random(random, 4)) {
    case 0:
        one_by_one(count, requests, random, on_complete);
        return true;
    case 1:
        at_once(count, requests, co_parcel_random(random, 2) == 0, on_complete);
        return true;
    default:
        return some_each_time(count, requests, random, on_complete);
    }
}
