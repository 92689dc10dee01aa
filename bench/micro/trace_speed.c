// SPDX-License-Identifier: BSD-3-Clause
//
// How fast traces are read on one core: their calls alone, and with the events that are made of them and written to a
// file. Each in the best of some turns, for others use the machine, too. A line for each file:
//   file megabytes calls calls_mb_per_s events_mb_per_s
//   trace_speed FILE...
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tools/trace/events/event_file.h"
#include "tools/trace/read/reader.h"
#include "tools/trace/events/tracker.h"

enum { TURNS = 5 };

// Of this thread: what it takes when nobody else has the core.
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t calls_read;

static int read_calls(const char *path, struct co_tracker *tracker)
{
    struct co_reader reader;
    struct co_traced_call call;
    int error = co_reader_open(&reader, path);
    calls_read = 0;
    while (error == 0 && co_reader_next(&reader, &call)) {
        calls_read++;
        if (tracker != NULL) {
            co_tracker_add(tracker, &call);
        }
    }
    if (reader.note.count > 0) {
        fprintf(stderr, "trace_speed: %s: at byte %" PRIu64 ": %s\n", path, reader.note.offset, reader.note.why);
    }
    co_reader_close(&reader);
    return error;
}

static int make_events(const char *path, int folder)
{
    static const char name[] = "events";
    struct co_event_writer writer;
    struct co_tracker tracker;
    int error = co_event_writer_open(&writer, folder, name);
    if (error == 0) {
        co_tracker_open(&tracker, &writer);
        error = read_calls(path, &tracker);
        co_tracker_close(&tracker);
        int closed = co_event_writer_close(&writer, name);
        error = error != 0 ? error : closed;
        unlinkat(folder, name, 0);
    }
    return error;
}

static int measure(const char *path, int folder)
{
    double best[2] = {0, 0};
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseeko(file, 0, SEEK_END) != 0) {
        perror(path);
        return 1;
    }
    double megabytes = (double)ftello(file) / 1e6;
    fclose(file);
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        double before = seconds_now();
        if ((turn % 2 == 0 ? read_calls(path, NULL) : make_events(path, folder)) != 0) {
            return 1;
        }
        double speed = megabytes / (seconds_now() - before);
        best[turn % 2] = speed > best[turn % 2] ? speed : best[turn % 2];
    }
    printf("%s %.1f %" PRIu64 " %.0f %.0f\n", path, megabytes, calls_read, best[0], best[1]);
    return 0;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/castoff-events-XXXXXX";
    int failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: trace_speed FILE...\n");
        return 2;
    }
    int folder = mkdtemp(path) == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        perror(path);
        return 1;
    }
    printf("# file megabytes calls calls_mb_per_s events_mb_per_s\n");
    for (int i = 1; i < argc; i++) {
        failed |= measure(argv[i], folder);
    }
    close(folder);
    rmdir(path);
    return failed;
}
