// SPDX-License-Identifier: BSD-3-Clause
// What every MPI test program needs to judge itself: byte patterns that sender and receiver compute
// independently, a digest of everything received, expectations, and one deterministic printout at
// the end. Only calls that castoff never takes are used for the gathering (MPI_Gather, MPI_Gatherv,
// MPI_Allreduce), so that a defect in the calls under test cannot hide its own traces.
// Not thread safe, except co_test_pattern_*.
#ifndef CO_TEST_VERDICT_H
#define CO_TEST_VERDICT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_TEST_SKIP 77

// A seed that differs for every sender, operation and size; both sides compute it.
uint64_t co_test_seed(int sender, int operation, size_t size);

// Fills `bytes` bytes with the pattern of `seed`.
void co_test_pattern_fill(void *buffer, size_t bytes, uint64_t seed);

// Index of the first byte that differs from the pattern of `seed`, or `bytes` when none does.
size_t co_test_pattern_mismatch(const void *buffer, size_t bytes, uint64_t seed);

// Item `index` of the pattern of `seed` when it is read as an array of int.
int co_test_pattern_int(uint64_t seed, size_t index);

// Digest of `bytes` bytes, starting from `state` (0 for a fresh one).
uint64_t co_test_digest(uint64_t state, const void *buffer, size_t bytes);

// Remembers rank and size of MPI_COMM_WORLD; MPI must be initialised.
void co_test_begin(void);

// MPI_Init or MPI_Init_thread was called by the program itself; these are its results.
int co_test_rank(void);
int co_test_size(void);

// Adds received bytes to this rank's digest and checks them against the pattern of `seed`.
void co_test_received(const void *buffer, size_t bytes, uint64_t seed, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Adds received bytes to this rank's digest without an expectation.
void co_test_absorb(const void *buffer, size_t bytes);

// Counts one check; when it does not hold, counts a failure and says so on standard error.
bool co_test_expect(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Adds text to what this rank prints at the end.
void co_test_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Gathers and prints, in rank order, the text and the digest of every rank. Collective over
// MPI_COMM_WORLD. Returns the exit status: 0, or 1 when any check failed anywhere.
int co_test_print(void);

// co_test_print, then MPI_Finalize.
int co_test_finish(void);

// Finalizes and returns the exit status for "not possible here"; the reason goes to standard error.
int co_test_skip(const char *reason);

#endif
