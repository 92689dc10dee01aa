// SPDX-License-Identifier: BSD-3-Clause
//
// Members are written as runs of ranks with an equal distance: a row is first, step, count. Not hot.
#include "record/members.h"

#include "mpi_below/next_mpi.h"

#include <stdlib.h>

static struct {
    __typeof__(PMPI_Comm_remote_size) *Comm_remote_size;
    __typeof__(PMPI_Comm_remote_group) *Comm_remote_group;
    __typeof__(PMPI_Type_get_name) *Type_get_name;
} ask;

void co_record_members_open(void)
{
    *(void **)&ask.Comm_remote_size = co_next_mpi_find("PMPI_Comm_remote_size");
    *(void **)&ask.Comm_remote_group = co_next_mpi_find("PMPI_Comm_remote_group");
    *(void **)&ask.Type_get_name = co_next_mpi_find("PMPI_Type_get_name");
}

int co_record_peers(MPI_Comm comm, bool is_between_groups)
{
    int size = 0;
    if (is_between_groups) {
        ask.Comm_remote_size(comm, &size);
    } else {
        co_next.Comm_size(comm, &size);
    }
    return size;
}

void co_record_name_type(MPI_Datatype type, char name[MPI_MAX_OBJECT_NAME], int *length)
{
    *length = 0;
    ask.Type_get_name(type, name, length);
    if (*length > CO_TRACE_TEXT_MAX) {
        *length = CO_TRACE_TEXT_MAX;
    }
}

// Ranks in MPI_COMM_WORLD, -1 for members of other jobs; NULL: they cannot be told.
static int *translate(MPI_Comm comm, const struct co_record_known *known)
{
    size_t size = (size_t)known->size;
    int *members = malloc(2 * (size + 1) * sizeof(int));
    MPI_Group group, world;
    if (members == NULL || co_next.Comm_group(co_next.comm_world, &world) != MPI_SUCCESS) {
        free(members);
        return NULL;
    }
    int code = known->is_between_groups ? ask.Comm_remote_group(comm, &group) : co_next.Comm_group(comm, &group);
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < known->size; i++) {
            members[size + (size_t)i] = i;
        }
        code = co_next.Group_translate_ranks(group, known->size, members + size, world, members);
        co_next.Group_free(&group);
    }
    co_next.Group_free(&world);
    if (code != MPI_SUCCESS) {
        free(members);
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        members[i] = members[i] < 0 ? -1 : members[i];
    }
    return members;
}

static int run_length(const int *members, int count)
{
    int length = count < 2 ? count : 2;
    while (length < count && members[length] - members[length - 1] == members[1] - members[0]) {
        length++;
    }
    return length;
}

void co_record_members(struct co_trace_stream *stream, struct co_trace_record *record, MPI_Comm comm,
                       const struct co_record_known *known)
{
    int *members = translate(comm, known);
    for (int i = 0, length; members != NULL && i < known->size; i += length) {
        length = run_length(members + i, known->size - i);
        if (record->row_count == CO_TRACE_ROWS_MAX) {
            co_trace_stream_put(stream, record);
            record->flags |= CO_TRACE_CONTINUED;
            record->row_count = record->text_bytes = 0;
        }
        int64_t *row = record->rows[record->row_count++];
        row[0] = members[i];
        row[1] = length > 1 ? members[i + 1] - members[i] : 0;
        row[2] = length;
    }
    co_trace_stream_put(stream, record);
    free(members);
}
