// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall of arrays in which one receive fails while others cannot end: the whole test, for programs that differ in
// who serves the messages.
#ifndef CO_TEST_FAILED_NEIGHBOUR_H
#define CO_TEST_FAILED_NEIGHBOUR_H

// After MPI_Init; finalizes and returns the exit status.
int co_failed_neighbour(void);

#endif
