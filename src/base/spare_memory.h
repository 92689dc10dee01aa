// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the bytes of one message. What is given back is kept for the next one: malloc would take large pieces from
// the kernel anew each time, and touching new pages takes longer than packing into them. Any thread; hot.
#ifndef CASTOFF_BASE_SPARE_MEMORY_H
#define CASTOFF_BASE_SPARE_MEMORY_H

#include <stddef.h>

#define CO_SPARE_MEMORY_KEPT ((size_t)8 << 20) // bytes of a process, at most

void *co_spare_memory_take(size_t bytes); // NULL: out of memory
void co_spare_memory_give(void *memory);  // of take; NULL: nothing
void co_spare_memory_close(void);         // what is kept; the others are given back as before

#endif
