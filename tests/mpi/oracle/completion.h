// SPDX-License-Identifier: BSD-3-Clause
// Requests completed by all the calls that there are, as chance chooses. One thread at a time for each array.
#ifndef CO_TEST_COMPLETION_H
#define CO_TEST_COMPLETION_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define CO_COMPLETION_MOST 128

// Completes `count` active requests and calls `on_complete` for each with its status. `random` is moved. False: a call
// knew of none, though some were left.
bool co_complete_all(int count, MPI_Request *requests, uint64_t *random,
                     void (*on_complete)(int index, const MPI_Status *status));

#endif
