// SPDX-License-Identifier: BSD-3-Clause
//
// The copies of memory_copy.h that are made in pieces, and how long this processor takes for others. Hot.
#include "base/memory/memory_copy.h"

#include <stdlib.h>

#include "base/atomics.h"
#include "base/clock.h"

void co_memory_copy_in_pieces(char *to, const char *from, size_t bytes)
{
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < CO_MEMORY_COPY_SHORT ? bytes - done : CO_MEMORY_COPY_SHORT;
        __asm__("" : "+r"(piece)); // the compiler, did it know that it is short, would itself take `rep movs`
        memcpy(to + done, from + done, piece);
    }
}

#if defined(__x86_64__)

#define TRIED_BYTES ((size_t)4000)
#define TRIES 5 // the least time counts: what disturbs a copy only makes it longer
#define SLOW 4  // times as long

enum { UNKNOWN, FAST_CLOSE_BEHIND, SLOW_CLOSE_BEHIND };

static void copy_by_string(void *to, const void *from, size_t bytes)
{
    __asm__ __volatile__("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

// Not on the stack: a thread's may be a few pages.
static int try_close_behind(void)
{
    char *from = aligned_alloc(4096, 3 * 4096);
    if (from == NULL) {
        return UNKNOWN;
    }
    char *to = from + 4096;
    memset(from, 0, 3 * 4096);
    uint64_t least_ns[2] = {UINT64_MAX, UINT64_MAX};
    for (int turn = 0; turn < 2 * TRIES; turn++) {
        uint64_t start_ns = co_clock_now_ns();
        copy_by_string(to + (turn % 2 == 0 ? 0 : 16), from, TRIED_BYTES);
        uint64_t took_ns = co_clock_now_ns() - start_ns;
        least_ns[turn % 2] = took_ns < least_ns[turn % 2] ? took_ns : least_ns[turn % 2];
    }
    free(from);
    return least_ns[1] > SLOW * least_ns[0] ? SLOW_CLOSE_BEHIND : FAST_CLOSE_BEHIND;
}

bool co_memory_copy_is_slow_close_behind(void)
{
    static _Atomic int known;
    int kind = co_load_relaxed(&known); // relaxed: two that try at once may both tell
    if (kind == UNKNOWN) {
        kind = try_close_behind();
        co_store_relaxed(&known, kind);
    }
    return kind == SLOW_CLOSE_BEHIND;
}

#else

bool co_memory_copy_is_slow_close_behind(void)
{
    return false;
}

#endif
