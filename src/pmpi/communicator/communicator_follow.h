// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a new communicator known: its members agree on an id, open their teams and agree that all could. Called by
// every member inside the blocking call that created it. Not hot.
#ifndef CASTOFF_PMPI_COMMUNICATOR_FOLLOW_H
#define CASTOFF_PMPI_COMMUNICATOR_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/decide/decide.h"
#include "mpi_below/next_mpi.h"

struct co_communicator;
struct co_team;

// Once, by start, before the first communicator; and by stop after the last. 0 or -errno; local.
int co_communicator_follow_open(int world_size);
void co_communicator_follow_close(void);

// MPI_COMM_WORLD, the first one. *word becomes the least of all ranks'.
void co_communicator_follow_world(int *word);

// For MPI_Comm_create_keyval: a duplicate of the communicator goes without the attribute.
static inline int co_communicator_copy_nothing(MPI_Comm comm, int key, void *extra, void *attribute_in,
                                               void *attribute_out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)attribute_in;
    (void)attribute_out;
    *flag = 0;
    return MPI_SUCCESS;
}

// `comm` may be MPI_COMM_NULL, an intercommunicator, or have members of other jobs: those stay native.
void co_communicator_follow(MPI_Comm comm, bool wants_off);

// For an operation whose calls have no order among the collectives of the communicator: a team of the same members, by
// whatever carries it. Every member calls it, in the order of the communicator's collectives, and says CO_TAKE or what
// stands in the way; they agree on an id, and all open theirs (0 or -errno, local). All get the same answer: CO_TAKE,
// or what some member said, or CO_NO_MEMORY; then who has opened one closes it. *members: world ranks in the order of
// the communicator, to be freed; NULL: no memory.
typedef int co_communicator_team_opener(void *arg, uint64_t id, const int *members, int size, int rank);
enum co_reason co_communicator_agree_on_team(const struct co_communicator *entry, enum co_reason reason, int **members,
                                             co_communicator_team_opener *open, void *arg);

// World ranks of a communicator of so many ranks that is followed, to be freed. NULL: out of memory.
int *co_communicator_members(MPI_Comm comm, int size);

// Whether every member of the intracommunicator `created` is one of `parent`; local.
bool co_communicator_has_members_of(MPI_Comm parent, MPI_Comm created);

#endif
