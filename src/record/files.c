// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of files, recorded by what they read and write and, where the call says so, at which offset; which file it is,
// is not. Those that wait tell the bytes that were moved. Any thread.
#include "record/recorder.h"

#define NOTHING (void)0

static void note_data(struct co_recorded *call, int count, MPI_Datatype type)
{
    co_record_value(call, count);
    co_record_type(call, type);
}

static void note_data_at(struct co_recorded *call, MPI_Offset offset, int count, MPI_Datatype type)
{
    co_record_value(call, offset);
    note_data(call, count, type);
}

static void note_moved(struct co_recorded *call, const MPI_Status *status)
{
    co_record_value(call, call->has_failed ? 0 : (int64_t)status->_ucount);
}

CO_RECORD(File_open, (MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file),
          (comm, path, mode, info, file), co_record_comm(&call, comm));
CO_RECORD(File_close, (MPI_File * file), (file), NOTHING);
CO_RECORD(File_set_view,
          (MPI_File file, MPI_Offset offset, MPI_Datatype type, MPI_Datatype file_type, const char *representation,
           MPI_Info info),
          (file, offset, type, file_type, representation, info), co_record_value(&call, offset);
          co_record_type(&call, type); co_record_type(&call, file_type));
CO_RECORD(File_set_size, (MPI_File file, MPI_Offset bytes), (file, bytes), co_record_value(&call, bytes));
CO_RECORD(File_preallocate, (MPI_File file, MPI_Offset bytes), (file, bytes), co_record_value(&call, bytes));
CO_RECORD(File_seek, (MPI_File file, MPI_Offset offset, int from), (file, offset, from),
          co_record_value(&call, offset));
CO_RECORD(File_seek_shared, (MPI_File file, MPI_Offset offset, int from), (file, offset, from),
          co_record_value(&call, offset));
CO_RECORD(File_sync, (MPI_File file), (file), NOTHING);

// Parameters and arguments as lists. Writes read their buffer.
#define LIST(...) __VA_ARGS__

// As CO_RECORD, for a call that tells by its status how much it has moved.
#define MOVES(name, parameters, arguments, notes)                                                                      \
    int PMPI_##name(LIST parameters, MPI_Status *status)                                                               \
    {                                                                                                                  \
        struct co_recorded call;                                                                                       \
        MPI_Status own = CO_RECORD_NO_STATUS;                                                                          \
        if (!co_record_begin(&call, CO_TRACE_##name)) {                                                                \
            return co_record_below()->name(LIST arguments, status);                                                    \
        }                                                                                                              \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                                          \
        int code = co_recorder.below.name(LIST arguments, status);                                                     \
        co_record_returned(&call, code);                                                                               \
        notes;                                                                                                         \
        note_moved(&call, status);                                                                                     \
        co_record_end(&call);                                                                                          \
        return code;                                                                                                   \
    }                                                                                                                  \
    CO_EXPORT(name)

#define HERE(address_type) (MPI_File file, address_type address, int count, MPI_Datatype type)
#define HERE_ARGUMENTS (file, address, count, type)
#define HERE_NOTES note_data(&call, count, type)
#define AT(address_type) (MPI_File file, MPI_Offset offset, address_type address, int count, MPI_Datatype type)
#define AT_ARGUMENTS (file, offset, address, count, type)
#define AT_NOTES note_data_at(&call, offset, count, type)

#define STARTS(name, parameters, arguments, notes)                                                                     \
    CO_RECORD(name, (LIST parameters, MPI_Request * handle), (LIST arguments, handle), notes;                          \
              co_record_request(&call, handle))
#define ENDS(name, address_type) MOVES(name, (MPI_File file, address_type address), (file, address), NOTHING)

#define BOTH_WAYS(read, iread, address_type)                                                                           \
    MOVES(File_##read, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                                \
    MOVES(File_##read##_all, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                          \
    MOVES(File_##read##_shared, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                       \
    MOVES(File_##read##_ordered, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                      \
    MOVES(File_##read##_at, AT(address_type), AT_ARGUMENTS, AT_NOTES);                                                 \
    MOVES(File_##read##_at_all, AT(address_type), AT_ARGUMENTS, AT_NOTES);                                             \
    STARTS(File_##iread, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                              \
    STARTS(File_##iread##_all, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                        \
    STARTS(File_##iread##_shared, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                     \
    STARTS(File_##iread##_at, AT(address_type), AT_ARGUMENTS, AT_NOTES);                                               \
    STARTS(File_##iread##_at_all, AT(address_type), AT_ARGUMENTS, AT_NOTES);                                           \
    CO_RECORD(File_##read##_all_begin, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                                \
    CO_RECORD(File_##read##_ordered_begin, HERE(address_type), HERE_ARGUMENTS, HERE_NOTES);                            \
    CO_RECORD(File_##read##_at_all_begin, AT(address_type), AT_ARGUMENTS, AT_NOTES);                                   \
    ENDS(File_##read##_all_end, address_type);                                                                         \
    ENDS(File_##read##_ordered_end, address_type);                                                                     \
    ENDS(File_##read##_at_all_end, address_type)

BOTH_WAYS(read, iread, void *);
BOTH_WAYS(write, iwrite, const void *);
