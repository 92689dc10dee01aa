// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the bytes of one message. What is given back is kept for the next one: malloc would take large pieces from
// the kernel anew each time, and touching new pages takes longer than packing into them. Any thread; hot.
#ifndef CASTOFF_BASE_BUFFER_CACHE_H
#define CASTOFF_BASE_BUFFER_CACHE_H

#include <stddef.h>

#define CO_BUFFER_CACHE_KEPT ((size_t)8 << 20) // bytes of a process, at most

void *co_buffer_cache_take(size_t bytes); // NULL: out of memory
void co_buffer_cache_give(void *memory);  // of take; NULL: nothing
void co_buffer_cache_close(void);         // what is kept; the others are given back as before

#endif
