// SPDX-License-Identifier: BSD-3-Clause
//
// Log lines: the only file of the library that writes to stderr. Any thread after co_log_open; lines are built on
// the caller's stack and leave by one write(2), so that those of many ranks do not mix. Not hot: a call below the
// level is one load.
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/descriptors.h"
#include "base/plain_text.h"
#include "base/settings.h"

enum { LINE_MAX_BYTES = 1024, HOST_MAX_BYTES = 65, PATH_MAX_BYTES = 1024 };

static const char *const subsys_names[] = {"base", "pmpi", "engine", "mcast", "udp", "shm", "verbs", "p2p"};
static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};

_Static_assert(sizeof subsys_names / sizeof subsys_names[0] == CO_SUBSYS_COUNT, "one name for each subsystem");

// Highest level that is on, for each subsystem; -1: none. Relaxed: a line more or less around a change is no harm.
static _Atomic int levels[CO_SUBSYS_COUNT] = {CO_LOG_WARN, CO_LOG_WARN, CO_LOG_WARN, CO_LOG_WARN,
                                              CO_LOG_WARN, CO_LOG_WARN, CO_LOG_WARN, CO_LOG_WARN};
static _Atomic int output = STDERR_FILENO;
static struct co_descriptor_file output_file; // behind it, where it is not stderr
static _Atomic bool is_told;                  // that it takes no more
static int own_rank = -1;
static char own_host[HOST_MAX_BYTES] = "?";

bool co_log_is_on(enum co_log_level level, enum co_log_subsys subsys)
{
    return (int)level <= co_load_relaxed(&levels[subsys]);
}

// Where the program has closed the log's file its number may be that of a file of the program's, which no line is for.
static int output_now(void)
{
    int file = co_load_acquire(&output); // acquire L1
    if (file != STDERR_FILENO && !co_descriptor_is_of(file, &output_file)) {
        file = STDERR_FILENO;
        co_store_relaxed(&output, file); // relaxed: nothing is to be known of it
    }
    return file;
}

static int begin_line(char line[LINE_MAX_BYTES], enum co_log_level level, enum co_log_subsys subsys)
{
    char rank[16] = "-";

    if (own_rank >= 0) {
        snprintf(rank, sizeof rank, "%d", own_rank);
    }
    // getpid here and not at open: the program may have forked since.
    return snprintf(line, LINE_MAX_BYTES, "[%s@%s:%d %s] %s: ", rank, own_host, (int)getpid(), subsys_names[subsys],
                    level_names[level]);
}

static void tell_stderr(int error)
{
    char line[LINE_MAX_BYTES];

    if (!atomic_exchange_explicit(&is_told, true, memory_order_relaxed)) {
        int used = begin_line(line, CO_LOG_WARN, CO_SUBSYS_BASE);
        int added = snprintf(line + used, sizeof line - (size_t)used,
                             "the log file takes no more: %s; warnings and errors go to stderr (CASTOFF_LOG_FILE)\n",
                             strerror(-error));
        (void)co_descriptor_write(STDERR_FILENO, line, (size_t)(used + added));
    }
}

// Of a file that takes no more, on a disk that is full, stderr gets what somebody has to know: all else might be a
// flood.
static void write_whole(const char *text, size_t length, bool is_needed)
{
    int file = output_now(), error = co_descriptor_write(file, text, length);

    if (error != 0 && file != STDERR_FILENO) {
        tell_stderr(error);
        if (is_needed) {
            (void)co_descriptor_write(STDERR_FILENO, text, length); // nowhere to complain
        }
    }
}

void co_log_write(enum co_log_level level, enum co_log_subsys subsys, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    int saved_errno = errno, used = begin_line(line, level, subsys), added;
    va_list arguments;

    va_start(arguments, format);
    added = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    size_t length = (size_t)used + (size_t)(added > 0 ? added : 0);
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
        memcpy(line + length - 3, "...", 3);
    }
    line[length] = '\0';
    for (size_t i = (size_t)used, bytes; i < length; i += bytes) { // text of a peer must not steer the terminal
        bytes = co_plain_bytes(line + i);
        if (bytes == 0 || line[i] == '\n' || line[i] == '\t') {
            line[i] = bytes == 0 ? '?' : ' ';
            bytes = 1;
        }
    }
    line[length] = '\n';
    write_whole(line, length + 1, level <= CO_LOG_WARN);
    errno = saved_errno;
}

void co_log_text(const char *text)
{
    int saved_errno = errno;

    const char *from = text; // not written yet

    for (unsigned bytes; *text != '\0'; text += bytes) {
        bytes = co_plain_bytes(text);
        if (bytes == 0) {
            write_whole(from, (size_t)(text - from), true);
            write_whole("?", 1, true);
            bytes = 1;
            from = text + 1;
        }
    }
    write_whole(from, (size_t)(text - from), true);
    errno = saved_errno;
}

// `chosen`: a bit for each subsystem and one for all of them, as in the table of settings. Errors are always on: a
// subsystem that is not asked for may still say why it failed.
static void set_levels(int64_t chosen, int level)
{
    for (int i = 0; i < CO_SUBSYS_COUNT; i++) {
        bool is_on = chosen & ((INT64_C(1) << i) | (INT64_C(1) << CO_SUBSYS_COUNT));
        co_store_relaxed(&levels[i], is_on ? level : CO_LOG_ERROR);
    }
}

// Fills in %r, %h and %p. Returns 0, or -EAGAIN when the rank is wanted and not known, -ENAMETOOLONG.
static int make_path(char path[PATH_MAX_BYTES], const char *pattern)
{
    size_t used = 0;

    for (; *pattern && used < PATH_MAX_BYTES - 1; pattern++) {
        size_t room = PATH_MAX_BYTES - used;
        if (*pattern == '%' && pattern[1] == 'r') {
            if (own_rank < 0) {
                return -EAGAIN;
            }
            used += (size_t)snprintf(path + used, room, "%d", own_rank);
        } else if (*pattern == '%' && pattern[1] == 'h') {
            used += (size_t)snprintf(path + used, room, "%s", own_host);
        } else if (*pattern == '%' && pattern[1] == 'p') {
            used += (size_t)snprintf(path + used, room, "%d", (int)getpid());
        } else {
            path[used++] = *pattern;
            continue;
        }
        pattern++;
    }
    if (*pattern || used >= PATH_MAX_BYTES) {
        return -ENAMETOOLONG;
    }
    path[used] = '\0';
    return 0;
}

static void open_file(const char *pattern)
{
    char path[PATH_MAX_BYTES];
    int result = make_path(path, pattern), file = -1;

    if (result == -EAGAIN) {
        return; // co_log_open is called again when the rank is known; stderr until then
    }
    if (result == 0) {
        // Not to wait for the reader of a fifo, who may never come; once there, he gets every line. The user has
        // written this name: it may be a link, as any redirection's may.
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
        result = file < 0 || fcntl(file, F_SETFL, O_APPEND) != 0 ? -errno : co_descriptor_note(file, &output_file);
    }
    if (result != 0) {
        co_log_write(CO_LOG_WARN, CO_SUBSYS_BASE,
                     "cannot write the log file %s: %s; logging to stderr (CASTOFF_LOG_FILE)", pattern,
                     strerror(-result));
        if (file >= 0) {
            close(file);
        }
        return;
    }
    co_store_release(&output, file); // release L1: with what is behind it
}

void co_log_open(int rank)
{
    char host[HOST_MAX_BYTES];
    int saved_errno = errno;

    co_log_close();
    co_store_relaxed(&is_told, false);
    own_rank = rank;
    if (gethostname(host, sizeof host) != 0) {
        memcpy(host, "?", 2);
    }
    host[sizeof host - 1] = '\0';
    host[strcspn(host, ".")] = '\0';
    co_plain_line(own_host, sizeof own_host, host); // it begins every line
    set_levels(co_setting_number(CO_SET_LOG_SUBSYS), (int)co_setting_number(CO_SET_LOG));
    if (*co_setting_text(CO_SET_LOG_FILE)) {
        open_file(co_setting_text(CO_SET_LOG_FILE));
    }
    errno = saved_errno;
}

const char *co_log_host(void)
{
    return own_host;
}

void co_log_close(void)
{
    int file = output_now();

    // Of two who close it one does.
    if (file != STDERR_FILENO && atomic_exchange_explicit(&output, STDERR_FILENO, memory_order_relaxed) == file) {
        close(file);
    }
}
