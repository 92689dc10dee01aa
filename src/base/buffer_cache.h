// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the bytes of one message. What is given back is kept for the next one: malloc would take large pieces from
// the kernel anew each time, and touching new pages takes longer than packing into them. Any thread; hot.
#ifndef CASTOFF_BASE_BUFFER_CACHE_H
#define CASTOFF_BASE_BUFFER_CACHE_H

#include <stddef.h>

#define CO_BUFFER_CACHE_KEPT ((size_t)8 << 20) // bytes of a process, at most

void *co_buffer_cache_take(size_t bytes); // NULL: out of memory, also where the machine never has that much
// Of which only a part may be needed: there may be more than the machine has. Who touches all of that is ended by the
// kernel, so it is for what comes, not for what is there.
void *co_buffer_cache_take_sparse(size_t bytes);
void co_buffer_cache_give(void *memory); // of either; NULL: nothing
void co_buffer_cache_close(void);        // what is kept; the others are given back as before

#endif
