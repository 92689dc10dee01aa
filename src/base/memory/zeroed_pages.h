// SPDX-License-Identifier: BSD-3-Clause
//
// Large tables of which most is never touched: zeroed pages that cost nothing until then. calloc promises the first and
// not the second, for it may clear memory that was freed before. More than the machine has is given, too, unless the
// kernel counts strictly (vm.overcommit_memory 2) or addresses are limited (ulimit -v). Rare; any thread.
#ifndef CASTOFF_BASE_MEMORY_ZEROED_PAGES_H
#define CASTOFF_BASE_MEMORY_ZEROED_PAGES_H

#include <stddef.h>

// NULL: out of memory. Aligned to a page.
void *co_zeroed_pages_take(size_t bytes);
// For keys: they are in no core file. Who gives such pages back has wiped them.
void *co_zeroed_pages_take_secret(size_t bytes);
void co_zeroed_pages_give(void *pages, size_t bytes); // NULL: nothing

#endif
