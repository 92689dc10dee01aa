// SPDX-License-Identifier: BSD-3-Clause
//
// What handles and statuses are to the MPI for which castoff is compiled: pointers in Open MPI, numbers in MPICH and
// whoever has its ABI. Chosen by mpi.h, so that each build has one kind and pays nothing for the other. Hot.
#ifndef CASTOFF_MPI_BELOW_ABI_H
#define CASTOFF_MPI_BELOW_ABI_H

// MPICH's leaves it to the compiler's options whether what it declares is seen, and castoff's PMPI functions are to be.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mix_bits.h"

// No object of any kind: the null pointer, and a number that MPICH gives to none. Not MPI's own null handles, which
// are genuine ones in Open MPI.
#define CO_NO_HANDLE 0

#ifdef OPEN_MPI

// Spread over a table by what differs between two handles.
#define CO_HANDLE_HASH(handle) co_mix_bits_fast((uint64_t)(uintptr_t)(handle) >> 4)

// Filled by us and read by the library's own MPI_Get_count: the layouts must be the same.
_Static_assert(sizeof(MPI_Status) == 24, "castoff knows this status of Open MPI only");

static inline void co_status_set_bytes(MPI_Status *status, size_t bytes, bool is_cancelled)
{
    status->_cancelled = is_cancelled;
    status->_ucount = bytes;
}

static inline size_t co_status_bytes(const MPI_Status *status)
{
    return status->_ucount;
}

#else

// Its mpi.h has the functions of MPI 4 for counts that are no int (MPI_Bcast_c).
#define CO_HAS_LARGE_COUNTS

#define CO_HANDLE_HASH(handle) co_mix_bits_fast((uint32_t)(handle))

_Static_assert(sizeof(MPI_Status) == 20, "castoff knows this status of MPICH only");

// 63 bits of a count, shared with a flag.
static inline void co_status_set_bytes(MPI_Status *status, size_t bytes, bool is_cancelled)
{
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled = (int)(uint32_t)((uint64_t)bytes >> 32 << 1 | is_cancelled);
}

static inline size_t co_status_bytes(const MPI_Status *status)
{
    return (size_t)((uint64_t)(uint32_t)status->count_hi_and_cancelled >> 1 << 32 | (uint32_t)status->count_lo);
}

#endif

#endif
