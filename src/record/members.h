// SPDX-License-Identifier: BSD-3-Clause
//
// Who is in a communicator, by rank in MPI_COMM_WORLD, and how types are called: what is asked of native MPI when a
// number is given. Not hot.
#ifndef CASTOFF_RECORD_MEMBERS_H
#define CASTOFF_RECORD_MEMBERS_H

#include "record/record_handles.h"
#include "record/trace/trace_writer.h"

void co_record_members_open(void);

// Ranks that a peer can have: those of the other group, where there are two.
int co_record_peers(MPI_Comm comm, bool is_between_groups);

// Puts the record with the members as its list, in as many records as that takes.
void co_record_members(struct co_trace_stream *stream, struct co_trace_record *record, MPI_Comm comm,
                       const struct co_record_known *known);

// As MPI_Type_get_name; cut where it is too long.
void co_record_name_type(MPI_Datatype type, char name[MPI_MAX_OBJECT_NAME], int *length);

#endif
