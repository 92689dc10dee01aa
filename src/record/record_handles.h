// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers for communicators and datatypes: never given twice, though MPI uses its handles again. Each thread remembers
// those that it used last, until one of them is freed. Hot where it remembers; a lock and a record where it does not.
#ifndef CASTOFF_RECORD_HANDLES_H
#define CASTOFF_RECORD_HANDLES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"

struct co_record_thread;

struct co_record_known {
    const void *handle;
    uint32_t number;     // 0: none
    uint32_t generation; // of what is remembered
    int rank, size;      // communicators: of the group that peers are numbered in
    bool is_between_groups;
};

enum { CO_RECORD_COMMUNICATORS = 16, CO_RECORD_TYPES = 64 }; // that a thread remembers

// Of what threads remember: a free makes it void.
extern _Atomic uint32_t co_record_communicators_generation, co_record_types_generation;

void co_record_handles_open(void);

static inline size_t co_record_slot(const void *handle, size_t slots)
{
    uintptr_t key = (uintptr_t)handle;
    return (key >> 4 ^ key >> 9) % slots;
}

// relaxed: who gets a freed handle again gets it from MPI, after the free.
static inline bool co_record_is_remembered(const struct co_record_known *known, const void *handle,
                                           _Atomic uint32_t *generation)
{
    return known->handle == handle && known->generation == co_load_relaxed(generation);
}

// Of handles that MPI has just accepted: into the thread's slot, which is returned.
const struct co_record_known *co_record_communicator(struct co_record_thread *thread, MPI_Comm comm, uint64_t now_ns);
const struct co_record_known *co_record_datatype(struct co_record_thread *thread, MPI_Datatype type, uint64_t now_ns);

// One that a call has just made from `parent`; `as_parent`: with all of its members, and not to be asked about yet.
// Returns its number, 0 for MPI_COMM_NULL.
uint32_t co_record_communicator_made(struct co_record_thread *thread, MPI_Comm comm, MPI_Comm parent, unsigned made_by,
                                     bool as_parent, uint64_t now_ns);

// Before they are freed; the number, 0 where it was never used.
uint32_t co_record_communicator_forget(const MPI_Comm *comm);
uint32_t co_record_datatype_forget(const MPI_Datatype *type);

#endif
