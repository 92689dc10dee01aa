// SPDX-License-Identifier: BSD-3-Clause
//
// Opens, parses and analyzes.
#include "trace_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/launch/command.h"

enum { BAR = 40 };

struct telling {
    bool has_bar, is_drawn;
    const char *what;
    const char *unpacked; // where archives are; NULL: nowhere
    unsigned partial, percent;
};

static void clear_bar(struct telling *telling)
{
    if (telling->is_drawn) {
        fprintf(stderr, "\r%*s\r", BAR + 40, "");
        telling->is_drawn = false;
    }
}

// Only where a person looks on.
static void draw_bar(struct telling *telling, uint64_t done, uint64_t all)
{
    unsigned percent = all == 0 ? 100 : (unsigned)(100 * done / all);
    if (!telling->has_bar || (telling->is_drawn && percent == telling->percent)) {
        return;
    }
    char bar[BAR + 1];
    for (unsigned i = 0; i < BAR; i++) {
        bar[i] = i < percent * BAR / 100 ? '#' : '.';
    }
    bar[BAR] = '\0';
    fprintf(stderr, "\r%-10s [%s] %3u%%", telling->what, bar, percent);
    telling->is_drawn = true;
    telling->percent = percent;
}

// Of what is unpacked its place in the archive: where it lies now is soon gone.
static const char *name_of(const struct telling *telling, const char *path)
{
    size_t length = telling->unpacked == NULL ? 0 : strlen(telling->unpacked);
    const char *inside = length > 0 && strncmp(path, telling->unpacked, length) == 0 && path[length] == '/'
                             ? strchr(path + length + 1, '/') // behind the archive's number
                             : NULL;
    return inside != NULL ? inside + 1 : path;
}

static void complain(void *arg, const char *path, const struct co_note *note, enum co_application_fate fate)
{
    enum { TOLD_MOST = 3 };
    static const char *const fates[] = {"what stands before it is analyzed", "it is analyzed", "it is left out"};
    struct telling *telling = arg;
    clear_bar(telling);
    // Ranks that all end early in the same way are one thing to say.
    if (fate != CO_FATE_LOST && ++telling->partial > TOLD_MOST) {
        return;
    }
    char place[32] = ""; // what is wrong with a file as a whole has none
    if (note->offset > 0) {
        snprintf(place, sizeof place, "at byte %" PRIu64 ": ", note->offset);
    }
    co_command_complain(&co_command_trace, "%s: %s%s; %s", name_of(telling, path), place, note->why, fates[fate]);
}

static void tell_files(void *arg, size_t done, size_t all)
{
    draw_bar(arg, done, all);
}

static void tell_events(void *arg, uint64_t done, uint64_t all)
{
    draw_bar(arg, done, all);
}

static void tell_missing(const struct co_application *application)
{
    int32_t next = 0;
    if (application->missing == 0) {
        return;
    }
    for (size_t i = 0; i < application->rank_count && application->ranks[i].rank == next; i++) {
        next++;
    }
    co_command_complain(&co_command_trace, "%zu of %" PRId32 " ranks have no trace, the first of them rank %" PRId32,
                        application->missing, application->size, next);
}

static int open_application(struct co_trace_run *run, const struct co_trace_run_options *options, char **paths,
                            size_t path_count, struct telling *telling)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct co_application_config config = {
        .cache = options->cache,
        .scratch = run->scratch.path != NULL ? run->scratch.path : co_scratch_place(),
        .has_no_cache = options->has_no_cache || (options->cache == NULL && telling->unpacked != NULL),
        .threads = cores > 0 ? (unsigned)cores : 1,
        .complain = complain,
        .progress = tell_files,
        .arg = telling,
    };
    telling->what = "reading";
    int error = co_application_open(&run->application, (const char *const *)paths, path_count, &config);
    run->is_open = true;
    clear_bar(telling);
    if (options->cache != NULL && !options->has_no_cache && run->application.is_scratch) {
        co_command_complain(&co_command_trace,
                            "--cache %s cannot be written to, or others can write to it, too: parsed traces are "
                            "not kept",
                            options->cache);
    }
    if (error == -ENOENT && run->application.lost == 0) {
        co_command_complain(&co_command_trace, "%s holds no trace: no .bin, no .trace file, no text of dumpi2ascii",
                            paths[0]);
    } else if (error == -ENOMEM) {
        co_command_complain(&co_command_trace, "no memory, or no directory for parsed traces (%s)", config.scratch);
    }
    return error;
}

int co_trace_run_open(struct co_trace_run *run, const struct co_trace_run_options *options, char **paths,
                      size_t path_count)
{
    struct telling telling = {.has_bar = isatty(STDERR_FILENO) == 1};
    *run = (struct co_trace_run){.is_open = false};
    (void)co_scratch_open(&run->scratch, "castoff-trace"); // who needs it says that there is none
    int status = co_trace_archive_open(&run->archive, run->scratch.path, &paths, &path_count);
    telling.unpacked = run->archive.directory;
    if (status != 0 || open_application(run, options, paths, path_count, &telling) != 0) {
        return TOOL_FAILED;
    }
    if (telling.partial > 3) {
        co_command_complain(&co_command_trace, "and %u more ranks that are partial", telling.partial - 3);
    }
    tell_missing(&run->application);
    const struct co_analysis_config config = {.bins = options->bins.numbers,
                                              .bins_count = options->bins.count,
                                              .lanes = options->lanes.numbers,
                                              .lanes_count = options->lanes.count,
                                              .progress = tell_events,
                                              .arg = &telling};
    telling.what = "replaying";
    int error = co_analysis_run(&run->analysis, &run->application, &config);
    clear_bar(&telling);
    if (error != 0) {
        co_command_complain(&co_command_trace, "the analysis failed: %s", strerror(-error));
        co_analysis_close(&run->analysis);
        return TOOL_FAILED;
    }
    run->is_analyzed = true;
    return run->application.lost > 0 ? TOOL_FAILED : TOOL_OK;
}

void co_trace_run_close(struct co_trace_run *run)
{
    if (run->is_analyzed) {
        co_analysis_close(&run->analysis);
    }
    if (run->is_open) {
        co_application_close(&run->application);
    }
    co_trace_archive_close(&run->archive);
    co_scratch_close(&run->scratch);
}
