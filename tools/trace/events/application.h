// SPDX-License-Identifier: BSD-3-Clause
//
// A program that was traced: a file for each rank, in a directory or named one by one, parsed into events
// (event_file.h) by several threads. What cannot be read is complained about, and the rest is there.
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_APPLICATION_H
#define CASTOFF_TOOLS_TRACE_EVENTS_APPLICATION_H

#include "tools/trace/events/event_file.h"

struct co_application_rank {
    char *trace;  // path
    char *events; // name in the application's directory
    struct co_event_head head;
    int32_t rank;  // by what MPI told, else by the file's name; -1: nobody knows
    bool is_there; // its events are
    bool is_from_cache;
    int error; // -errno where not
};

// What becomes of a file that something is wrong with.
enum co_application_fate {
    CO_FATE_CUT, // what stands before that is analyzed
    CO_FATE_ODD, // it is analyzed; whether it belongs to the others is not certain
    CO_FATE_LOST // it is left out
};

struct co_application_config {
    // Directory for events, made where its parent is there; NULL: .castoff-cache beside the traces, which must be no
    // link. It is ours, and nobody else can write to it, or it is not used.
    const char *cache;
    const char *scratch; // directory where they go otherwise
    bool has_no_cache;   // always there
    unsigned threads;    // at least 1
    // About a file: what is wrong with it, at which byte. From one thread at a time.
    void (*complain)(void *arg, const char *path, const struct co_note *note, enum co_application_fate fate);
    void (*progress)(void *arg, size_t done, size_t all); // likewise
    void *arg;
};

struct co_application {
    struct co_application_rank *ranks; // in order of their ranks, those that are there
    size_t rank_count;
    size_t lost;     // files that could not be read, or do not belong to the rest
    size_t others;   // files of programs that it spawned: left out, too
    int32_t size;    // of the world: as told, or as many as there are; at least rank_count
    size_t partial;  // ranks
    size_t missing;  // ranks of the world without a trace
    char *place;     // where events are
    int directory;   // the same, open; -1: not
    bool is_scratch; // it is removed at close
};

enum { CO_APPLICATION_RANKS_MAX = 1 << 20 };

// 0; -ENOENT: there is no trace at all; -ENOMEM.
int co_application_open(struct co_application *application, const char *const *paths, size_t path_count,
                        const struct co_application_config *config);
void co_application_close(struct co_application *application);

// application_files.c: traces in a directory, or the path itself, behind those that are in the list. 0 or -errno.
struct co_application_files {
    char **paths;
    size_t count, room;
};
int co_application_files_add(struct co_application_files *files, const char *path);
void co_application_files_close(struct co_application_files *files);
// The digits before the extension: `dumpi-2014.03.03.14.55.00-0019.bin` is 19. -1: there are none.
int32_t co_application_rank_by_name(const char *path);

// application_ranks.c: whose they are, in order, without what does not belong to them; complains of each.
void co_application_sort(struct co_application *application, const struct co_application_config *config);

// application_parse.c: one trace to events, or the events that are there already.
void co_application_parse(const struct co_application *application, struct co_application_rank *rank);

#endif
