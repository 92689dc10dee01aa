// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of libcastoff-offload.so share: a world, and the sentence of an error.
#ifndef CASTOFF_OFFLOAD_API_OFFLOAD_WORLD_H
#define CASTOFF_OFFLOAD_API_OFFLOAD_WORLD_H

#include <stdbool.h>

#include "offload/api/castoff_offload.h"
#include "offload/rank/rank_connection.h"

enum { CO_OFFLOAD_WHY_BYTES = 256 };

struct castoff_offload_world {
    struct castoff_offload_world *next; // of all open ones, for children
    struct co_rank_connection *connection;
    int rank, size;
    char (*hosts)[CO_OFFLOAD_PLACE_BYTES]; // of each rank, for messages
    pid_t proxy;                           // of this rank's node
    unsigned requests, groups;             // that are not waited for; that are not freed
    bool is_forked;                        // this process is a child of the one that opened it
};

// What a program has given, with all members that this version knows. 0, -EINVAL: struct_bytes cannot be, or -E2BIG.
int co_offload_given_read(struct castoff_offload_job *job, const struct castoff_offload_job *given);

// castoff_offload_open of a job that is right, when settings are loaded and the log is open.
int co_offload_world_open(struct castoff_offload_world **out, const struct castoff_offload_job *job);
// It is open from here on, until castoff_offload_close.
void co_offload_world_join(struct castoff_offload_world *world);

void co_offload_count(enum castoff_offload_count which, uint64_t more);
void co_offload_state_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Returns the error; of this thread, castoff_offload_why has the sentence.
int co_offload_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
