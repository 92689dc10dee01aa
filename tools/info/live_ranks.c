// SPDX-License-Identifier: BSD-3-Clause
//
// Looks through /proc for what castoff's ranks show. Whatever stands there was made by processes of this user, who may
// have made anything: names are compared, files are read and not mapped, sizes are ours. Who ends meanwhile is left
// out.
#include "live_ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_NAME "/memfd:" CO_LIVE_NAME
#define PATH_ROOM 64

static int open_of(int pid, const char *what)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

// The whole of a small file, ended by 0; "" where there is none.
static void read_text(int pid, const char *what, char *text, size_t room)
{
    int file = open_of(pid, what);
    ssize_t bytes = file < 0 ? -1 : read(file, text, room - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (file >= 0) {
        close(file);
    }
}

// Which number the process has for itself: the last one of the list, in the innermost container.
static int own_pid(int pid)
{
    char text[4096];
    read_text(pid, "status", text, sizeof text);
    const char *line = strstr(text, "\nNSpid:");
    if (line == NULL) {
        return pid; // a kernel without containers of processes
    }
    int last = pid;
    const char *at = line + strlen("\nNSpid:");
    for (char *end; *at != '\n' && *at != '\0'; at = end) {
        long number = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        last = number > 0 && number <= INT_MAX ? (int)number : last;
    }
    return last;
}

// Not by the owner of its folder, which is root where a process has changed its user.
static bool is_ours(int pid)
{
    char text[4096];
    unsigned real, effective;
    read_text(pid, "status", text, sizeof text);
    const char *line = strstr(text, "\nUid:");
    return line != NULL && sscanf(line, " Uid: %u %u", &real, &effective) == 2 && effective == geteuid();
}

static void read_state(struct co_live_rank *rank)
{
    char text[1024];
    read_text(rank->pid, "stat", text, sizeof text);
    const char *end = strrchr(text, ')'); // behind the name, which may hold anything
    rank->state = end != NULL && end[1] == ' ' && end[2] != '\0' ? end[2] : '?';
    read_text(rank->pid, "comm", rank->command, sizeof rank->command);
    rank->command[strcspn(rank->command, "\n")] = '\0';
}

// -EPROTO: this descriptor is none of castoff's, or one that a parent has left.
static int read_descriptor(int pid, const char *name, struct co_live_counters *counters)
{
    char path[PATH_ROOM], link[PATH_ROOM];
    struct stat status;
    if (strlen(name) > 10) {
        return -EPROTO;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%.10s", pid, name);
    ssize_t length = readlink(path, link, sizeof link);
    if (length < (ssize_t)strlen(LINK_NAME) || memcmp(link, LINK_NAME, strlen(LINK_NAME)) != 0) {
        return -EPROTO;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return -EPROTO;
    }
    int error = fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ? -EPROTO : co_live_counters_read(file, counters);
    close(file);
    return error == 0 && counters->pid != own_pid(pid) ? -EPROTO : error;
}

static int add(struct co_live_ranks *found, const struct co_live_rank *rank)
{
    if ((found->count & (found->count - 1)) == 0) { // full: at each power of two
        size_t room = found->count == 0 ? 1 : 2 * found->count;
        struct co_live_rank *ranks = realloc(found->ranks, room * sizeof *ranks);
        if (ranks == NULL) {
            return -ENOMEM;
        }
        found->ranks = ranks;
    }
    found->ranks[found->count++] = *rank;
    return 0;
}

static int look_at(struct co_live_ranks *found, int pid)
{
    struct co_live_rank rank = {.pid = pid};
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    if (!is_ours(pid)) {
        return 0;
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return 0; // it has ended, or its descriptors are nobody's business
    }
    int error = -EPROTO;
    bool is_other = false;
    for (struct dirent *entry; error != 0 && (entry = readdir(folder)) != NULL;) {
        error = read_descriptor(pid, entry->d_name, &rank.counters);
        is_other = is_other || error == -ESTALE;
    }
    closedir(folder);
    if (error != 0) {
        found->others += is_other;
        return 0;
    }
    read_state(&rank);
    return rank.state == 'Z' ? 0 : add(found, &rank);
}

static int compare(const void *left, const void *right)
{
    const struct co_live_rank *a = left, *b = right;
    int jobs = strcmp(a->counters.job, b->counters.job);
    if (jobs != 0) {
        return jobs;
    }
    int ranks = (a->counters.rank > b->counters.rank) - (a->counters.rank < b->counters.rank);
    return ranks != 0 ? ranks : (a->pid > b->pid) - (a->pid < b->pid);
}

int co_live_ranks_find(struct co_live_ranks *found, int pid)
{
    *found = (struct co_live_ranks){0};
    if (pid != 0) {
        return look_at(found, pid);
    }
    DIR *folder = opendir("/proc");
    if (folder == NULL) {
        return -errno;
    }
    int error = 0;
    for (struct dirent *entry; error == 0 && (entry = readdir(folder)) != NULL;) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);
        if (*end == '\0' && number > 0 && number <= INT_MAX) {
            error = look_at(found, (int)number);
        }
    }
    closedir(folder);
    if (found->count > 1) {
        qsort(found->ranks, found->count, sizeof *found->ranks, compare);
    }
    return error;
}

void co_live_ranks_free(struct co_live_ranks *found)
{
    free(found->ranks);
    *found = (struct co_live_ranks){0};
}
