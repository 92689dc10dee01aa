// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a list of events (script.h): each is called in a form and with a layout that chance chooses, and
// what it has to deliver follows from the event. One that is pending belongs to who started it. Single-threaded.
#ifndef CO_TEST_COLLECTIVE_H
#define CO_TEST_COLLECTIVE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "oracle/parcel.h"
#include "oracle/script.h"

struct co_collective {
    enum co_script_kind kind;
    const struct co_script_group *group;
    size_t bytes;
    uint64_t seed;
    struct co_parcel one, all; // what is sent and what comes; of a broadcast, `one` is both
    int counts[CO_SCRIPT_RANKS], offsets[CO_SCRIPT_RANKS];
};

// Calls the event's collective on its group, of which this rank is a member; `own` is chance of this rank alone. Where
// that gives a request, *request is it, else MPI_REQUEST_NULL, and all is over; *is_persistent: the request stays after
// its end. The event and its group stay until co_collective_end.
void co_collective_begin(struct co_collective *collective, const struct co_script_event *event,
                         const struct co_script_group *group, uint64_t *own, MPI_Request *request, bool *is_persistent);
// When it is over: whether every byte is right and no other was written.
bool co_collective_end(struct co_collective *collective);

#endif
