// SPDX-License-Identifier: BSD-3-Clause
//
// The waits and tests, recorded: which requests of the array they completed, and what the statuses say. Tests in vain
// are counted. Hot; any thread.
#include "record/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 32 };

// Handles as they were before the call, which destroys them, and statuses where the program wants none.
struct array {
    int count; // 0: nothing is known of the handles
    MPI_Request *handles;
    MPI_Status *statuses; // the program's or ours; MPI_STATUSES_IGNORE: there was no memory
    void *memory;         // NULL: few are enough
    MPI_Request few_handles[FEW];
    MPI_Status few_statuses[FEW];
};

// `statuses`: as the program gave them; where it gave none, `wants_statuses` says whether we need them.
static void array_open(struct array *array, int count, const MPI_Request *handles, MPI_Status *statuses,
                       bool wants_statuses)
{
    bool lacks = wants_statuses && statuses == MPI_STATUSES_IGNORE;
    size_t number = count > 0 && handles != NULL ? (size_t)count : 0;
    array->memory = NULL;
    array->statuses = lacks ? array->few_statuses : statuses;
    array->handles = array->few_handles;
    if (number > FEW) {
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

static void array_close(struct array *array)
{
    free(array->memory);
}

// The request at `index` has been completed, as `status` says (NULL: nobody knows). Null handles are left out.
static void put_completed(struct co_recorded *call, const struct array *array, int index, const MPI_Status *status)
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

int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Wait)) {
        return co_record_below()->Wait(handle, status);
    }
    MPI_Request waited = handle == NULL ? co_next.request_null : *handle;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Wait(handle, status);
    co_record_returned(&call, code);
    co_record_value(&call, co_record_handle_of(waited));
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Test)) {
        return co_record_below()->Test(handle, flag, status);
    }
    MPI_Request tested = handle == NULL ? co_next.request_null : *handle;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Test(handle, flag, status);
    co_record_returned(&call, code);
    co_record_value(&call, co_record_handle_of(tested));
    co_record_in_vain_unless(&call, flag);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    struct co_recorded call;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Request_get_status)) {
        return co_record_below()->Request_get_status(handle, flag, status);
    }
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Request_get_status(handle, flag, status);
    co_record_returned(&call, code);
    co_record_value(&call, co_record_handle_of(handle));
    co_record_in_vain_unless(&call, flag);
    co_record_received(&call, status);
    co_record_end(&call);
    return code;
}

// All of the array, or those that a failure left complete.
static void note_all(struct co_recorded *call, const struct array *array, int code)
{
    bool has_statuses = array->statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; i < array->count; i++) {
        const MPI_Status *status = has_statuses ? &array->statuses[i] : NULL;
        if (code == MPI_SUCCESS ||
            (code == MPI_ERR_IN_STATUS && status != NULL && status->MPI_ERROR != MPI_ERR_PENDING)) {
            put_completed(call, array, i, status);
        }
    }
}

int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    struct co_recorded call;
    struct array array;
    if (!co_record_begin(&call, CO_TRACE_Waitall)) {
        return co_record_below()->Waitall(count, handles, statuses);
    }
    array_open(&array, count, handles, statuses, true);
    int code = co_recorder.below.Waitall(count, handles, array.statuses);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    note_all(&call, &array, code);
    co_record_end(&call);
    array_close(&array);
    return code;
}

int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
    struct co_recorded call;
    struct array array;
    if (!co_record_begin(&call, CO_TRACE_Testall)) {
        return co_record_below()->Testall(count, handles, flag, statuses);
    }
    array_open(&array, count, handles, statuses, true);
    int code = co_recorder.below.Testall(count, handles, flag, array.statuses);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    co_record_in_vain_unless(&call, flag);
    if ((call.record.flags & CO_TRACE_IN_VAIN) == 0) {
        note_all(&call, &array, code);
    }
    co_record_end(&call);
    array_close(&array);
    return code;
}

int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
    struct co_recorded call;
    struct array array;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Waitany)) {
        return co_record_below()->Waitany(count, handles, index, status);
    }
    array_open(&array, count, handles, NULL, false);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Waitany(count, handles, index, status);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    if (code == MPI_SUCCESS) {
        put_completed(&call, &array, *index, status); // MPI_UNDEFINED is no index
    }
    co_record_end(&call);
    array_close(&array);
    return code;
}

int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    struct co_recorded call;
    struct array array;
    MPI_Status own = CO_RECORD_NO_STATUS;
    if (!co_record_begin(&call, CO_TRACE_Testany)) {
        return co_record_below()->Testany(count, handles, index, flag, status);
    }
    array_open(&array, count, handles, NULL, false);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    int code = co_recorder.below.Testany(count, handles, index, flag, status);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    co_record_in_vain_unless(&call, flag);
    if (code == MPI_SUCCESS && *flag) {
        put_completed(&call, &array, *index, status);
    }
    co_record_end(&call);
    array_close(&array);
    return code;
}

// Entry i of the statuses belongs to the i-th index.
static void note_some(struct co_recorded *call, const struct array *array, int code, int done, const int indices[])
{
    bool has_statuses = array->statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) && i < done; i++) {
        put_completed(call, array, indices[i], has_statuses ? &array->statuses[i] : NULL);
    }
}

int PMPI_Waitsome(int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[])
{
    struct co_recorded call;
    struct array array;
    if (!co_record_begin(&call, CO_TRACE_Waitsome)) {
        return co_record_below()->Waitsome(count, handles, done, indices, statuses);
    }
    array_open(&array, count, handles, statuses, true);
    int code = co_recorder.below.Waitsome(count, handles, done, indices, array.statuses);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    note_some(&call, &array, code, done == NULL ? 0 : *done, indices);
    co_record_end(&call);
    array_close(&array);
    return code;
}

int PMPI_Testsome(int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[])
{
    struct co_recorded call;
    struct array array;
    if (!co_record_begin(&call, CO_TRACE_Testsome)) {
        return co_record_below()->Testsome(count, handles, done, indices, statuses);
    }
    array_open(&array, count, handles, statuses, true);
    int code = co_recorder.below.Testsome(count, handles, done, indices, array.statuses);
    co_record_returned(&call, code);
    co_record_value(&call, count);
    co_record_in_vain_unless(&call, done);
    note_some(&call, &array, code, done == NULL ? 0 : *done, indices);
    co_record_end(&call);
    array_close(&array);
    return code;
}

CO_EXPORT(Wait);
CO_EXPORT(Test);
CO_EXPORT(Request_get_status);
CO_EXPORT(Waitall);
CO_EXPORT(Testall);
CO_EXPORT(Waitany);
CO_EXPORT(Testany);
CO_EXPORT(Waitsome);
CO_EXPORT(Testsome);
