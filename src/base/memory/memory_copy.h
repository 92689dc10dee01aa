// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of a program's bytes. Long ones glibc makes with `rep movsb` where the processor says that this is fast. AMD's
// Zen 3 says so, but where the destination stands 1 to 31 bytes further behind the start of its page than the source,
// it takes ten to twenty times as long as with vectors (measured with Debian 12's glibc 2.36; sourceware.org, bug
// 30994, is of Zen 4). What malloc gives for large blocks begins 16 bytes behind a page's start, and what castoff
// shares at a page's start, so that is the usual case here. Short copies are made with vectors. Hot; any thread.
#ifndef CASTOFF_BASE_MEMORY_MEMORY_COPY_H
#define CASTOFF_BASE_MEMORY_MEMORY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CO_MEMORY_COPY_SHORT ((size_t)2048) // glibc 2.36 takes `rep movsb` from 2,112 bytes on

static inline bool co_memory_copy_is_close_behind(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from) % 4096 - 1 < 63; // a line, to be safe
}

// Whether this processor takes so long then, by its own clock (some microseconds, once): who copies for us by such
// instructions, as the kernel does, had better get another destination.
bool co_memory_copy_is_slow_close_behind(void);

// Of one that is close behind: in short ones.
void co_memory_copy_in_pieces(char *to, const char *from, size_t bytes);

// They do not overlap. Like memcpy; without bytes there need be no place.
static inline void co_memory_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > CO_MEMORY_COPY_SHORT && co_memory_copy_is_close_behind(to, from)) {
        co_memory_copy_in_pieces(to, from, bytes);
    } else if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}

// The same where most copies are of few bytes: those make no call.
static inline void co_memory_copy_few(void *to, const void *from, size_t bytes)
{
    uint64_t head, tail;
    if (__builtin_expect(bytes < sizeof(head) || bytes > 2 * sizeof(head), 0)) {
        co_memory_copy(to, from, bytes);
        return;
    }
    memcpy(&head, from, sizeof(head)); // the two may overlap
    memcpy(&tail, (const char *)from + bytes - sizeof(tail), sizeof(tail));
    memcpy(to, &head, sizeof(head));
    memcpy((char *)to + bytes - sizeof(tail), &tail, sizeof(tail));
}

#endif
