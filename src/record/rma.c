// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided calls, recorded by what they move and to whom. Hot; any thread.
#include "record/recorder.h"

static void note_transfer(struct co_recorded *call, int count, MPI_Datatype type, int target)
{
    co_record_value(call, count);
    co_record_type(call, type);
    co_record_value(call, target);
}

#define NOTHING (void)0

CO_RECORD(Put,
          (const void *address, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
           MPI_Datatype target_type, MPI_Win window),
          (address, count, type, target, place, target_count, target_type, window),
          note_transfer(&call, count, type, target));
CO_RECORD(Get,
          (void *address, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
           MPI_Datatype target_type, MPI_Win window),
          (address, count, type, target, place, target_count, target_type, window),
          note_transfer(&call, count, type, target));
CO_RECORD(Accumulate,
          (const void *address, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
           MPI_Datatype target_type, MPI_Op op, MPI_Win window),
          (address, count, type, target, place, target_count, target_type, op, window),
          note_transfer(&call, count, type, target));
CO_RECORD(Win_fence, (int asserted, MPI_Win window), (asserted, window), NOTHING);
CO_RECORD(Win_lock, (int lock_type, int target, int asserted, MPI_Win window), (lock_type, target, asserted, window),
          co_record_value(&call, target));
CO_RECORD(Win_unlock, (int target, MPI_Win window), (target, window), co_record_value(&call, target));
CO_RECORD(Win_lock_all, (int asserted, MPI_Win window), (asserted, window), NOTHING);
CO_RECORD(Win_unlock_all, (MPI_Win window), (window), NOTHING);
CO_RECORD(Win_flush, (int target, MPI_Win window), (target, window), co_record_value(&call, target));
CO_RECORD(Win_flush_all, (MPI_Win window), (window), NOTHING);
