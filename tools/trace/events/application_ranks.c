// SPDX-License-Identifier: BSD-3-Clause
//
// Which traces belong together, and which of them is whose. What does not fit is left out or marked, and said: two
// files of a rank, a name that lies, files of other jobs, of other formats or versions than the rest.
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash_map.h"
#include "tools/trace/events/application.h"
#include "tools/trace/read/reader.h"

static int compare_ranks(const void *left, const void *right)
{
    const struct co_application_rank *a = left, *b = right;
    if (a->is_there != b->is_there) {
        return a->is_there ? -1 : 1;
    }
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->trace, b->trace);
}

static void say(const struct co_application_config *config, struct co_application_rank *rank,
                const struct co_note *note, enum co_application_fate fate)
{
    rank->is_there = fate != CO_FATE_LOST && rank->is_there;
    rank->head.is_partial = 1;
    if (rank->head.note.count == 0) {
        rank->head.note = *note;
    }
    if (config->complain != NULL) {
        config->complain(config->arg, rank->trace, note, fate);
    }
}

// MPI knows better than the name of a file.
static void find_rank(const struct co_application_config *config, struct co_application_rank *rank)
{
    int32_t by_name = co_application_rank_by_name(rank->trace), told = rank->head.rank;
    struct co_note note = {.count = 0};
    rank->rank = told >= 0 ? told : by_name;
    if (rank->rank >= CO_APPLICATION_RANKS_MAX || rank->head.size > CO_APPLICATION_RANKS_MAX) {
        co_note_add(&note, 0, "rank %" PRId32 " of %" PRId32 ": more than %d ranks are not followed", rank->rank,
                    rank->head.size, CO_APPLICATION_RANKS_MAX);
        say(config, rank, &note, CO_FATE_LOST);
    } else if (by_name >= 0 && told >= 0 && by_name != told) {
        co_note_add(&note, 0, "its name says rank %" PRId32 ", and MPI said rank %" PRId32, by_name, told);
        say(config, rank, &note, CO_FATE_ODD);
    }
}

static bool is_spawned(const struct co_application_rank *rank)
{
    static const char begin[] = "spawned-";
    const char *slash = strrchr(rank->trace, '/'), *name = slash == NULL ? rank->trace : slash + 1;
    return strncmp(name, begin, sizeof begin - 1) == 0;
}

// A trace of the job that has the most of them, not counting those that another one has spawned if there are others.
// NULL: there is none.
static const struct co_application_rank *find_main(const struct co_application *application)
{
    const struct co_application_rank *best = NULL;
    struct co_hash_map jobs; // to the number of traces
    uintptr_t most = 0;
    co_hash_map_open(&jobs);
    for (size_t i = 0; i < application->rank_count; i++) {
        const struct co_application_rank *rank = &application->ranks[i];
        if (!rank->is_there || rank->head.format != CO_FORMAT_OWN) {
            continue;
        }
        uintptr_t count = (uintptr_t)co_hash_map_remove(&jobs, rank->head.job) + 1;
        (void)co_hash_map_put(&jobs, rank->head.job, (void *)count);
        bool is_better = best == NULL || (is_spawned(best) && !is_spawned(rank)) ||
                         (is_spawned(best) == is_spawned(rank) && count > most);
        best = is_better ? rank : best;
        most = is_better ? count : most;
    }
    co_hash_map_close(&jobs);
    return best;
}

static void leave_out_other_jobs(struct co_application *application, const struct co_application_config *config)
{
    const struct co_application_rank *of_job = find_main(application);
    for (size_t i = 0; of_job != NULL && i < application->rank_count; i++) {
        struct co_application_rank *rank = &application->ranks[i];
        bool is_own = rank->head.format == CO_FORMAT_OWN;
        if (rank->is_there && is_own && rank->head.job != of_job->head.job) {
            struct co_note note = {.count = 0};
            co_note_add(&note, 0, "it is of another job than %.100s, to be analyzed by itself", of_job->trace);
            application->others += is_spawned(rank);
            say(config, rank, &note, CO_FATE_LOST);
        }
    }
}

// Two of a rank: the first one stays. All are sorted.
static void leave_out_strangers(struct co_application *application, const struct co_application_config *config)
{
    struct co_application_rank *ranks = application->ranks;
    bool is_alone = application->rank_count == 1 || (application->rank_count > 1 && !ranks[1].is_there);
    if (is_alone && ranks[0].is_there && ranks[0].rank < 0) {
        ranks[0].rank = 0; // who it was, nobody knows; a program of one rank
    }
    for (size_t i = 0, stays = 0; i < application->rank_count && ranks[i].is_there; i++) {
        struct co_note note = {.count = 0};
        if (ranks[i].rank < 0) {
            co_note_add(&note, 0, "neither its name nor its calls tell which rank it is of");
        } else if (i > 0 && ranks[stays].is_there && ranks[i].rank == ranks[stays].rank) {
            co_note_add(&note, 0, "it is of rank %" PRId32 ", and so is %.100s", ranks[i].rank, ranks[stays].trace);
        } else {
            stays = i;
        }
        if (note.count > 0) {
            say(config, &ranks[i], &note, CO_FATE_LOST);
        }
    }
}

// Against the first of them.
static void mark_differences(struct co_application *application, const struct co_application_config *config)
{
    const struct co_application_rank *first = &application->ranks[0];
    for (size_t i = 1; i < application->rank_count && application->ranks[i].is_there; i++) {
        struct co_application_rank *rank = &application->ranks[i];
        const struct co_event_head *head = &rank->head, *wanted = &first->head;
        unsigned version = head->trace_version, other = wanted->trace_version;
        struct co_note note = {.count = 0};
        if (head->format != wanted->format) {
            co_note_add(&note, 0, "its format is %s, and that of rank %" PRId32 " is %s",
                        co_reader_format_names[head->format % CO_FORMATS], first->rank,
                        co_reader_format_names[wanted->format % CO_FORMATS]);
        } else if (version != other) {
            co_note_add(&note, 0, "its version is %u.%u.%u, and that of rank %" PRId32 " is %u.%u.%u", version >> 16,
                        version >> 8 & 255, version & 255, first->rank, other >> 16, other >> 8 & 255, other & 255);
        } else if (head->size >= 0 && wanted->size >= 0 && head->size != wanted->size) {
            co_note_add(&note, 0, "it tells of %" PRId32 " ranks, and rank %" PRId32 " of %" PRId32, head->size,
                        first->rank, wanted->size);
        }
        if (note.count > 0) {
            say(config, rank, &note, CO_FATE_ODD);
        }
    }
}

static void count_ranks(struct co_application *application)
{
    for (size_t i = 0; i < application->rank_count; i++) {
        const struct co_application_rank *rank = &application->ranks[i];
        int32_t told = rank->head.size > rank->rank ? rank->head.size : rank->rank + 1;
        application->size = told > application->size ? told : application->size;
        application->partial += rank->head.is_partial != 0;
    }
    application->missing = (size_t)application->size - application->rank_count;
}

void co_application_sort(struct co_application *application, const struct co_application_config *config)
{
    struct co_application_rank *ranks = application->ranks;
    for (size_t i = 0; i < application->rank_count; i++) {
        if (config->complain != NULL && ranks[i].head.note.count > 0) {
            config->complain(config->arg, ranks[i].trace, &ranks[i].head.note,
                             ranks[i].is_there ? CO_FATE_CUT : CO_FATE_LOST);
        }
        if (ranks[i].is_there) {
            find_rank(config, &ranks[i]);
        }
    }
    leave_out_other_jobs(application, config);
    qsort(ranks, application->rank_count, sizeof *ranks, compare_ranks);
    leave_out_strangers(application, config);
    qsort(ranks, application->rank_count, sizeof *ranks, compare_ranks);
    mark_differences(application, config);
    while (application->rank_count > 0 && !ranks[application->rank_count - 1].is_there) {
        struct co_application_rank *lost = &ranks[--application->rank_count];
        if (application->is_scratch) {
            (void)unlinkat(application->directory, lost->events, 0); // of one that was read, and then left out
        }
        free(lost->trace);
        free(lost->events);
        application->lost++;
    }
    application->lost -= application->others;
    count_ranks(application);
}
