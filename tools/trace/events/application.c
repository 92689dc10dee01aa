// SPDX-License-Identifier: BSD-3-Clause
//
// Threads take one trace after the other. Then the ranks are sorted (application_ranks.c).
#include "tools/trace/events/application.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mix_bits.h"

struct parsing {
    struct co_application *application;
    const struct co_application_config *config;
    size_t next, done;
    pthread_mutex_t lock;
};

static void *work(void *arg)
{
    struct parsing *parsing = arg;
    const struct co_application_config *config = parsing->config;
    pthread_mutex_lock(&parsing->lock);
    while (parsing->next < parsing->application->rank_count) {
        struct co_application_rank *rank = &parsing->application->ranks[parsing->next++];
        pthread_mutex_unlock(&parsing->lock);
        co_application_parse(parsing->application, rank);
        pthread_mutex_lock(&parsing->lock);
        if (config->progress != NULL) {
            config->progress(config->arg, ++parsing->done, parsing->application->rank_count);
        }
    }
    pthread_mutex_unlock(&parsing->lock);
    return NULL;
}

static void parse_all(struct co_application *application, const struct co_application_config *config)
{
    enum { THREADS_MAX = 64 };
    struct parsing parsing = {.application = application, .config = config, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS_MAX];
    unsigned started = 0, wanted = config->threads < THREADS_MAX ? config->threads : THREADS_MAX;
    while (started + 1 < wanted && started + 1 < application->rank_count &&
           pthread_create(&threads[started], NULL, work, &parsing) == 0) {
        started++;
    }
    work(&parsing);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&parsing.lock);
}

static char *join(const char *directory, const char *name, const char *end)
{
    size_t room = strlen(directory) + strlen(name) + strlen(end) + 2;
    char *path = malloc(room);
    if (path != NULL) {
        snprintf(path, room, "%s/%s%s", directory, name, end);
    }
    return path;
}

// Whoever can write to a directory decides what its names lead to: it has to be ours alone. -1: it is not, or there is
// none.
static int open_own(const char *path, int flags)
{
    struct stat state;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (directory >= 0 &&
        (fstat(directory, &state) != 0 || state.st_uid != geteuid() || (state.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
         faccessat(directory, ".", W_OK | X_OK, 0) != 0)) {
        close(directory);
        return -1;
    }
    return directory;
}

static void open_cache(struct co_application *application, const struct co_application_config *config,
                       const char *trace)
{
    const char *slash = strrchr(trace, '/');
    char *beside = strndup(slash == NULL ? "." : trace, slash == NULL ? 1 : (size_t)(slash - trace) + (slash == trace));
    bool is_asked_for = config->cache != NULL;
    application->place = is_asked_for     ? strdup(config->cache)
                         : beside != NULL ? join(beside, ".castoff-cache", "")
                                          : NULL;
    free(beside);
    if (application->place != NULL && (mkdir(application->place, 0755) == 0 || errno == EEXIST)) {
        application->directory = open_own(application->place, is_asked_for ? 0 : O_NOFOLLOW);
    }
}

// Where events go: the directory asked for, one beside the first trace, or one that is removed in the end.
static int open_directory(struct co_application *application, const struct co_application_config *config,
                          const char *trace)
{
    if (!config->has_no_cache) {
        open_cache(application, config, trace);
    }
    if (application->directory < 0) {
        free(application->place);
        application->place = join(config->scratch, "castoff-trace-XXXXXX", "");
        application->is_scratch = application->place != NULL && mkdtemp(application->place) != NULL;
        application->directory = application->is_scratch ? open_own(application->place, O_NOFOLLOW) : -1;
    }
    return application->directory < 0 ? -ENOMEM : 0;
}

// By its name beside the trace. In a directory that may hold those of other applications, too, also by its place.
static char *name_events(const char *trace, bool is_beside)
{
    const char *slash = strrchr(trace, '/'), *name = slash == NULL ? trace : slash + 1;
    char end[40] = ".events";
    if (!is_beside) {
        char *place = realpath(trace, NULL);
        uint64_t hash = 0;
        for (const char *at = place != NULL ? place : trace; *at != '\0'; at++) {
            hash = co_mix_bits(hash * 31 + (uint8_t)*at);
        }
        free(place);
        snprintf(end, sizeof end, ".%016" PRIx64 ".events", hash);
    }
    size_t room = strlen(name) + strlen(end) + 1;
    char *events = malloc(room);
    if (events != NULL) {
        snprintf(events, room, "%s%s", name, end);
    }
    return events;
}

static bool are_beside(const char *left, const char *right)
{
    const char *left_end = strrchr(left, '/'), *right_end = strrchr(right, '/');
    size_t length = left_end == NULL ? 0 : (size_t)(left_end - left);
    return (left_end == NULL) == (right_end == NULL) &&
           (right_end == NULL || (length == (size_t)(right_end - right) && strncmp(left, right, length) == 0));
}

static int name_ranks(struct co_application *application, const struct co_application_config *config,
                      const struct co_application_files *files)
{
    int error = open_directory(application, config, files->paths[0]);
    for (size_t i = 0; error == 0 && i < files->count; i++) {
        struct co_application_rank *rank = &application->ranks[i];
        bool is_beside = !application->is_scratch && config->cache == NULL;
        rank->trace = strdup(files->paths[i]);
        rank->events = name_events(files->paths[i], is_beside && are_beside(files->paths[i], files->paths[0]));
        application->rank_count = i + 1;
        error = rank->trace == NULL || rank->events == NULL ? -ENOMEM : 0;
    }
    return error;
}

int co_application_open(struct co_application *application, const char *const *paths, size_t path_count,
                        const struct co_application_config *config)
{
    struct co_application_files files = {.paths = NULL};
    *application = (struct co_application){.directory = -1};
    int error = 0;
    for (size_t i = 0; error == 0 && i < path_count; i++) {
        error = co_application_files_add(&files, paths[i]);
        if (error != 0 && error != -ENOMEM) {
            struct co_note note = {.count = 0};
            co_note_add(&note, 0, "%s", strerror(-error));
            config->complain(config->arg, paths[i], &note, CO_FATE_LOST);
        }
    }
    application->ranks = calloc(files.count + 1, sizeof *application->ranks);
    if (error == 0) {
        error = application->ranks == NULL ? -ENOMEM : files.count == 0 ? -ENOENT : 0;
    }
    if (error == 0) {
        error = name_ranks(application, config, &files);
    }
    co_application_files_close(&files);
    if (error == 0) {
        parse_all(application, config);
        co_application_sort(application, config);
        error = application->rank_count == 0 ? -ENOENT : 0;
    }
    return error;
}

void co_application_close(struct co_application *application)
{
    for (size_t i = 0; i < application->rank_count; i++) {
        if (application->is_scratch && application->ranks[i].is_there) {
            unlinkat(application->directory, application->ranks[i].events, 0);
        }
        free(application->ranks[i].trace);
        free(application->ranks[i].events);
    }
    if (application->is_scratch) {
        rmdir(application->place);
    }
    if (application->directory >= 0) {
        close(application->directory);
    }
    free(application->place);
    free(application->ranks);
    *application = (struct co_application){.directory = -1};
}
