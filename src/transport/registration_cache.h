// SPDX-License-Identifier: BSD-3-Clause
//
// The program's memory as a device knows it. Registering is dear, so that a piece stays registered after its use and
// serves the next one, as long as the memory behind its addresses has not become another (base/memory/memory_watch.h).
// Where that cannot be known a piece is registered for one use, which only pays for large ones. Bounded by bytes and
// number. Knows no device: how to register is handed in. By the holder of the engine; warm.
#ifndef CASTOFF_TRANSPORT_REGISTRATION_CACHE_H
#define CASTOFF_TRANSPORT_REGISTRATION_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_REGISTRATIONS_MAX 64
#define CO_REGISTRATION_ONCE 16 // times the least size, from which one for a single use pays

enum co_registration_count {
    CO_REGISTRATION_MADE,
    CO_REGISTRATION_REUSED,
    CO_REGISTRATION_CHANGED, // the memory had changed, so that it was given up
    CO_REGISTRATION_REFUSED  // by the device or the kernel (ulimit -l): whoever asked copies
};

struct co_registration_config {
    // Whole pages. 0 and what the device calls them, or -errno.
    int (*make)(void *arg, void *start, size_t bytes, void **handle);
    void (*unmake)(void *arg, void *handle);
    void (*count)(void *arg, enum co_registration_count what);
    void *arg;
    size_t least_bytes; // below, nothing is registered
    size_t kept_bytes;  // that may stay registered without use; 0: none
};

struct co_registration {
    uintptr_t start, end; // end 0: free
    void *handle;
    unsigned users;
    int place;     // with the watch; -1: for one use
    uint64_t used; // when last, in takes
};

struct co_registration_cache;

int co_registration_cache_open(struct co_registration_cache **out, const struct co_registration_config *config);
// One that holds all of it, in use until it is given back. -ENOTSUP: not worth it; or why there is none.
int co_registration_take(struct co_registration_cache *cache, struct co_registration **out, const void *start,
                         size_t bytes);
void co_registration_give(struct co_registration_cache *cache, struct co_registration *registration);
// Gives up what has changed and is not in use; now and then, since memory that the program has given back is held till
// then.
void co_registration_sweep(struct co_registration_cache *cache);
// All at the device's end, in use or not, for it goes away; whoever still uses one gives it back as ever.
void co_registration_drop_all(struct co_registration_cache *cache);
bool co_registration_cache_keeps(const struct co_registration_cache *cache); // and does not register for each use
void co_registration_cache_close(struct co_registration_cache *cache);       // none may be in use

#endif
