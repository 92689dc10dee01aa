// SPDX-License-Identifier: BSD-3-Clause
//
// Records of a trace as lines of text: `MPI_Isend count=1 type=MPI_INT peer=1 tag=7 comm=MPI_COMM_WORLD request=4`.
// Requests and messages are numbered as they are made. Cold.
#ifndef CASTOFF_TOOLS_TRACE_TEXT_H
#define CASTOFF_TOOLS_TRACE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "record/trace/trace_file.h"
#include "record/trace/trace_links.h"

struct co_trace_name {
    char text[CO_TRACE_TEXT_MAX + 1];
};

struct co_trace_text {
    bool shows_times;
    uint64_t began_ns;
    struct co_trace_links links;
    struct co_hash_map types, communicators; // number to struct co_trace_name
};

void co_trace_text_open(struct co_trace_text *text, const struct co_trace_file *file, bool shows_times);
void co_trace_text_close(struct co_trace_text *text);
// In the order of the file.
void co_trace_text_print(struct co_trace_text *text, FILE *stream, const struct co_trace_record *record);

#endif
