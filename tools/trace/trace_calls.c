// SPDX-License-Identifier: BSD-3-Clause
//
// castoff trace --calls and --print: what castoff run --record wrote, as a table of the calls, or call by call. What
// cannot be read is named with file, place and cause, and the rest is shown. Runs once; single thread.
#include "trace_calls.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/launch/command.h"
#include "record/trace/trace_file.h"
#include "trace_text.h"

struct summary {
    uint64_t calls[CO_TRACE_KIND_COUNT], in_vain[CO_TRACE_KIND_COUNT], ns[CO_TRACE_KIND_COUNT];
    unsigned traces, partial;
    uint32_t ranks;
    uint64_t job;
};

struct reading {
    bool prints, shows_times;
    struct summary summary;
    int status;
};

// Also of a job that was recorded into the same folder before.
static void check_company(struct reading *reading, const char *path, const struct co_trace_header *header)
{
    struct summary *summary = &reading->summary;
    if (summary->traces++ == 0) {
        summary->ranks = header->size;
        summary->job = header->job;
    } else if (summary->job != header->job || summary->ranks != header->size) {
        co_command_complain(&co_command_trace, "%s is of another job than the traces before it", path);
        reading->status = TOOL_FAILED;
    }
}

static void count(struct summary *summary, const struct co_trace_record *record)
{
    if ((record->flags & CO_TRACE_CONTINUED) != 0 || record->is_unfinished) {
        return;
    }
    summary->calls[record->kind] += record->times;
    summary->in_vain[record->kind] += (record->flags & CO_TRACE_IN_VAIN) != 0 ? record->times : 0;
    summary->ns[record->kind] += record->end_ns - record->begin_ns;
}

static void tell_end(struct reading *reading, const char *path, const struct co_trace_file *file)
{
    if (file->damages > 0) {
        co_command_complain(&co_command_trace, "%s: at byte %" PRIu64 ": %s; the rest is shown%s", path,
                            file->damage_offset, file->damage, file->damages > 1 ? ", as far as it can be read" : "");
        reading->status = TOOL_FAILED;
    }
    if (file->header.end != CO_TRACE_CLOSED) {
        co_command_complain(&co_command_trace, "%s: %s", path,
                            file->header.end == CO_TRACE_STOPPED
                                ? "the recording stopped early: there was no room on the disk"
                                : "the trace ends before MPI_Finalize: the process was killed, or still runs");
    }
    reading->summary.partial += file->damages > 0 || file->header.end != CO_TRACE_CLOSED;
}

static void read_records(struct reading *reading, struct co_trace_file *file)
{
    const struct co_trace_record *record;
    struct co_trace_text text;
    co_trace_text_open(&text, file, reading->shows_times);
    if (reading->prints) {
        printf("# rank %" PRIu32 " of %" PRIu32 "\n", file->header.rank, file->header.size);
    }
    while ((record = co_trace_file_next(file)) != NULL) {
        count(&reading->summary, record);
        if (reading->prints) {
            co_trace_text_print(&text, stdout, record);
        }
    }
    co_trace_text_close(&text);
}

static void read_one(struct reading *reading, const char *path)
{
    struct co_trace_file file;
    char why[CO_TRACE_WHY_MAX];
    int error = co_trace_file_open(&file, path, why);
    if (error != 0) {
        const char *what = error == -EINVAL ? " is no trace that can be read" : "";
        co_command_complain(&co_command_trace, "%s%s: %s", path, what, why);
        reading->status = TOOL_FAILED;
        return;
    }
    check_company(reading, path, &file.header);
    read_records(reading, &file);
    tell_end(reading, path, &file);
    co_trace_file_close(&file);
}

static int is_trace(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".trace") == 0;
}

static void read_place(struct reading *reading, const char *place)
{
    struct stat state;
    struct dirent **entries;
    if (stat(place, &state) != 0 || !S_ISDIR(state.st_mode)) {
        read_one(reading, place);
        return;
    }
    int found = scandir(place, &entries, is_trace, alphasort);
    if (found <= 0) {
        co_command_complain(&co_command_trace, "%s%s", place, found < 0 ? " cannot be read" : " holds no .trace file");
        reading->status = TOOL_FAILED;
    }
    for (int i = 0; i < found; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", place, entries[i]->d_name);
        read_one(reading, path);
        free(entries[i]);
    }
    if (found >= 0) {
        free(entries);
    }
}

static void print_summary(const struct summary *summary)
{
    printf("%-32s %14s %14s %12s\n", "call", "calls", "in vain", "seconds");
    for (unsigned kind = 0; kind < CO_TRACE_KIND_COUNT; kind++) {
        const struct co_trace_row *row = co_trace_row(kind);
        if (row->family != CO_TRACE_FAMILY_MARK && summary->calls[kind] > 0) {
            printf("%-32s %14" PRIu64 " %14" PRIu64 " %12.6f\n", row->name, summary->calls[kind],
                   summary->in_vain[kind], (double)summary->ns[kind] / 1e9);
        }
    }
    printf("traces of %u of %" PRIu32 " ranks, %u of them partial\n", summary->traces, summary->ranks,
           summary->partial);
}

static const char *or_dash(const char *letters)
{
    return *letters != '\0' ? letters : "-";
}

// As docs/trace-format.md has them.
void co_trace_calls_print_kinds(void)
{
    for (unsigned kind = 1; kind < CO_TRACE_KIND_COUNT; kind++) {
        const struct co_trace_row *row = co_trace_row(kind);
        printf("| %u | %s | %s | %s | %s | %s |\n", kind, row->name, or_dash(row->asked), or_dash(row->told),
               row->has_text ? "yes" : "-", or_dash(row->columns));
    }
}

int co_trace_calls(char **paths, int path_count, bool prints, bool shows_times)
{
    struct reading reading = {.prints = prints, .shows_times = shows_times};
    for (int i = 0; i < path_count; i++) {
        read_place(&reading, paths[i]);
    }
    if (!prints && reading.summary.traces > 0) {
        print_summary(&reading.summary);
    }
    return reading.status;
}
