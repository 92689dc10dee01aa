// SPDX-License-Identifier: BSD-3-Clause
//
// A table that is searched from end to end: what is registered is so large that a few words do not matter.
#include "transport/registration_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory/memory_watch.h"

_Static_assert(CO_REGISTRATIONS_MAX <= CO_MEMORY_WATCH_PLACES, "all that is kept can be watched");

struct co_registration_cache {
    struct co_registration_config config;
    struct co_memory_watch *watch; // NULL: nothing is kept
    size_t page_bytes, kept_bytes;
    uint64_t takes;
    struct co_registration registrations[CO_REGISTRATIONS_MAX];
};

static bool is_taken(const struct co_registration *registration)
{
    return registration->end != 0;
}

static bool is_same(const struct co_registration_cache *cache, const struct co_registration *registration)
{
    return registration->place >= 0 && co_memory_watch_is_same(cache->watch, registration->place);
}

static void drop(struct co_registration_cache *cache, struct co_registration *registration)
{
    if (registration->handle != NULL) {
        cache->config.unmake(cache->config.arg, registration->handle);
        registration->handle = NULL;
    }
    if (registration->place >= 0) {
        co_memory_watch_drop(cache->watch, registration->place);
        cache->kept_bytes -= registration->end - registration->start;
    }
    registration->end = 0;
}

void co_registration_sweep(struct co_registration_cache *cache)
{
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        struct co_registration *registration = &cache->registrations[i];
        if (is_taken(registration) && registration->users == 0 && !is_same(cache, registration)) {
            cache->config.count(cache->config.arg, CO_REGISTRATION_CHANGED);
            drop(cache, registration);
        }
    }
}

static struct co_registration *find(struct co_registration_cache *cache, uintptr_t start, uintptr_t end)
{
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        struct co_registration *registration = &cache->registrations[i];
        if (is_taken(registration) && registration->handle != NULL && registration->start <= start &&
            registration->end >= end && is_same(cache, registration)) {
            return registration;
        }
    }
    return NULL;
}

// False: all are in use.
static bool drop_eldest(struct co_registration_cache *cache)
{
    struct co_registration *eldest = NULL;
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        struct co_registration *registration = &cache->registrations[i];
        if (is_taken(registration) && registration->users == 0 &&
            (eldest == NULL || registration->used < eldest->used)) {
            eldest = registration;
        }
    }
    if (eldest != NULL) {
        drop(cache, eldest);
    }
    return eldest != NULL;
}

static struct co_registration *free_one(struct co_registration_cache *cache)
{
    do {
        for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
            if (!is_taken(&cache->registrations[i])) {
                return &cache->registrations[i];
            }
        }
    } while (drop_eldest(cache));
    return NULL;
}

// Before the device takes the pages: what changes from now on is told. Its place, or -1: for one use.
static int watch(struct co_registration_cache *cache, uintptr_t start, uintptr_t end)
{
    size_t bytes = end - start;
    if (cache->watch == NULL || bytes > cache->config.kept_bytes) {
        return -1;
    }
    while (cache->kept_bytes + bytes > cache->config.kept_bytes) {
        if (!drop_eldest(cache)) {
            return -1;
        }
    }
    int place = co_memory_watch_add(cache->watch, (const void *)start, bytes);
    return place < 0 ? -1 : place;
}

// As long as the locked memory does not suffice, what is only kept is given up.
static int make(struct co_registration_cache *cache, struct co_registration *registration)
{
    size_t bytes = registration->end - registration->start;
    const struct co_registration_config *config = &cache->config;
    int error;
    do {
        error = config->make(config->arg, (void *)registration->start, bytes, &registration->handle);
    } while (error != 0 && drop_eldest(cache));
    return error;
}

int co_registration_take(struct co_registration_cache *cache, struct co_registration **out, const void *memory,
                         size_t bytes)
{
    uintptr_t start = (uintptr_t)memory / cache->page_bytes * cache->page_bytes;
    uintptr_t end = ((uintptr_t)memory + bytes + cache->page_bytes - 1) / cache->page_bytes * cache->page_bytes;
    if (bytes < cache->config.least_bytes) {
        return -ENOTSUP;
    }
    co_registration_sweep(cache);
    cache->takes++;
    struct co_registration *registration = find(cache, start, end);
    if (registration != NULL) {
        cache->config.count(cache->config.arg, CO_REGISTRATION_REUSED);
        registration->users++;
        *out = registration;
        return 0;
    }
    int place = watch(cache, start, end);
    if (place < 0 && bytes / CO_REGISTRATION_ONCE < cache->config.least_bytes) {
        return -ENOTSUP;
    }
    registration = free_one(cache);
    if (registration == NULL) {
        if (place >= 0) {
            co_memory_watch_drop(cache->watch, place);
        }
        return -ENOSPC;
    }
    *registration = (struct co_registration){.start = start, .end = end, .users = 1, .place = place};
    cache->kept_bytes += place >= 0 ? end - start : 0;
    int error = make(cache, registration);
    if (error != 0) {
        registration->handle = NULL;
        drop(cache, registration);
    }
    cache->config.count(cache->config.arg, error != 0 ? CO_REGISTRATION_REFUSED : CO_REGISTRATION_MADE);
    *out = error == 0 ? registration : *out;
    return error;
}

void co_registration_give(struct co_registration_cache *cache, struct co_registration *registration)
{
    registration->used = cache->takes;
    if (--registration->users == 0 && (registration->handle == NULL || registration->place < 0)) {
        drop(cache, registration);
    }
}

void co_registration_drop_all(struct co_registration_cache *cache)
{
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        struct co_registration *registration = &cache->registrations[i];
        if (is_taken(registration) && registration->users == 0) {
            drop(cache, registration);
        } else if (is_taken(registration) && registration->handle != NULL) {
            cache->config.unmake(cache->config.arg, registration->handle);
            registration->handle = NULL;
        }
    }
}

bool co_registration_cache_keeps(const struct co_registration_cache *cache)
{
    return cache->watch != NULL;
}

int co_registration_cache_open(struct co_registration_cache **out, const struct co_registration_config *config)
{
    struct co_registration_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        return -ENOMEM;
    }
    cache->config = *config;
    cache->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (config->kept_bytes > 0 && co_memory_watch_open(&cache->watch) != 0) {
        cache->watch = NULL;
    }
    *out = cache;
    return 0;
}

void co_registration_cache_close(struct co_registration_cache *cache)
{
    co_registration_drop_all(cache);
    if (cache->watch != NULL) {
        co_memory_watch_close(cache->watch);
    }
    free(cache);
}
