// SPDX-License-Identifier: BSD-3-Clause
//
// What a completing call would destroy and the record needs: the handles as they were, and statuses where the program
// wants none. Hot.
#ifndef CASTOFF_RECORD_COMPLETION_H
#define CASTOFF_RECORD_COMPLETION_H

#include "record/recorder.h"

enum { CO_RECORD_FEW = 32 };

struct co_record_array {
    int count; // 0: nothing is known of the handles
    MPI_Request *handles;
    MPI_Status *statuses; // the program's or ours; MPI_STATUSES_IGNORE: there was no memory
    void *memory;         // NULL: few are enough
    MPI_Request few_handles[CO_RECORD_FEW];
    MPI_Status few_statuses[CO_RECORD_FEW];
};

// `statuses`: as the program gave them; where it gave none, `wants_statuses` says whether we need them.
void co_record_array_open(struct co_record_array *array, int count, const MPI_Request *handles, MPI_Status *statuses,
                          bool wants_statuses);
void co_record_array_close(struct co_record_array *array);

// The request at `index` has been completed, as `status` says (NULL: nobody knows). Null handles are left out.
void co_record_completed(struct co_recorded *call, const struct co_record_array *array, int index,
                         const MPI_Status *status);

// A further row; what is full is written.
int64_t *co_record_row(struct co_recorded *call);

#endif
