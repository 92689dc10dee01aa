// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of so many bytes that they cannot stay in the cache anyway: stores that go past it save reading every line
// before it is overwritten, and leave the ring, which everybody reads, in the cache. Hot for the largest operations.
#include "shm/shm_team.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#define VECTOR ((size_t)16)

void co_shm_copy_nontemporal(char *to, const char *from, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)to % CO_CACHE_LINE);

    if (bytes < head + CO_CACHE_LINE) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    size_t done = head;
    for (; done + CO_CACHE_LINE <= bytes; done += CO_CACHE_LINE) {
        for (size_t part = 0; part < CO_CACHE_LINE; part += VECTOR) { // the four of a line leave together
            __m128i word = _mm_loadu_si128((const __m128i *)(const void *)(from + done + part));
            _mm_stream_si128((__m128i *)(void *)(to + done + part), word);
        }
    }
    memcpy(to + done, from + done, bytes - done);
    _mm_sfence(); // such stores are not ordered by a release
}

#else

void co_shm_copy_nontemporal(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#endif
