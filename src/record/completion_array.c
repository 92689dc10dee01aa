// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays of handles and statuses beside the program's, and lists of records, in pieces where they are long. Hot.
#include "record/completion.h"

#include <stdlib.h>
#include <string.h>

void co_record_array_open(struct co_record_array *array, int count, const MPI_Request *handles, MPI_Status *statuses,
                          bool wants_statuses)
{
    bool lacks = wants_statuses && statuses == MPI_STATUSES_IGNORE;
    size_t number = count > 0 && handles != NULL ? (size_t)count : 0;
    array->memory = NULL;
    array->statuses = lacks ? array->few_statuses : statuses;
    array->handles = array->few_handles;
    if (number > CO_RECORD_FEW) {
        array->memory = malloc(number * (sizeof(MPI_Request) + (lacks ? sizeof(MPI_Status) : 0)));
        if (array->memory == NULL) {
            number = 0;
            array->statuses = statuses;
        } else {
            array->statuses = lacks ? array->memory : statuses;
            array->handles = (MPI_Request *)((char *)array->memory + (lacks ? number * sizeof(MPI_Status) : 0));
        }
    }
    array->count = (int)number;
    if (number > 0) {
        memcpy(array->handles, handles, number * sizeof(MPI_Request));
    }
}

void co_record_array_close(struct co_record_array *array)
{
    free(array->memory);
}

int64_t *co_record_row(struct co_recorded *call)
{
    struct co_trace_record *record = &call->record;
    if (record->row_count == CO_TRACE_ROWS_MAX) {
        co_trace_stream_put(call->thread->stream, record);
        record->flags |= CO_TRACE_CONTINUED;
        record->row_count = 0;
    }
    return record->rows[record->row_count++];
}

void co_record_completed(struct co_recorded *call, const struct co_record_array *array, int index,
                         const MPI_Status *status)
{
    if (index < 0 || index >= array->count || array->handles[index] == co_next.request_null) {
        return;
    }
    int64_t *row = co_record_row(call);
    row[0] = index;
    row[1] = co_record_handle_of(array->handles[index]);
    row[2] = status == NULL ? CO_TRACE_NOT_KNOWN : status->MPI_SOURCE;
    row[3] = status == NULL ? CO_TRACE_NOT_KNOWN : status->MPI_TAG;
    row[4] = status == NULL ? CO_TRACE_NOT_KNOWN : (int64_t)status->_ucount;
    row[5] = status != NULL && status->_cancelled != 0;
}
