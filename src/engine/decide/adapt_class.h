// SPDX-License-Identifier: BSD-3-Clause
//
// Classes of calls: blocking broadcasts, and allgathers, by their bytes, four classes to each power of two. Hot, pure.
#ifndef CASTOFF_ENGINE_DECIDE_ADAPT_CLASS_H
#define CASTOFF_ENGINE_DECIDE_ADAPT_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define CO_ADAPT_STEPS 256
#define CO_ADAPT_CALLS 2
#define CO_ADAPT_KEYS (CO_ADAPT_CALLS * CO_ADAPT_STEPS)

// `call`: 0 or 1, enum co_call. `bytes`: as co_decide takes them.
static inline unsigned co_adapt_key(unsigned call, size_t bytes)
{
    uint64_t size = bytes;
    unsigned step = (unsigned)size;
    if (size >= 4) {
        unsigned power = 63 - (unsigned)__builtin_clzll(size);
        step = 4 * (power - 1) + (unsigned)(size >> (power - 2) & 3);
    }
    return call * CO_ADAPT_STEPS + step;
}

static inline unsigned co_adapt_key_call(unsigned key)
{
    return key / CO_ADAPT_STEPS;
}

// The least of its class, in whose name the prior is asked.
static inline size_t co_adapt_key_bytes(unsigned key)
{
    unsigned step = key % CO_ADAPT_STEPS;
    return step < 4 ? step : (size_t)(4 + step % 4) << (step / 4 - 1);
}

#endif
