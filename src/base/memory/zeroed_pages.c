// SPDX-License-Identifier: BSD-3-Clause
//
// Anonymous private mappings.
#define _GNU_SOURCE
#include "base/memory/zeroed_pages.h"

#include <sys/mman.h>

void *co_zeroed_pages_take(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void *co_zeroed_pages_take_secret(size_t bytes)
{
    void *pages = co_zeroed_pages_take(bytes);
    if (pages != NULL) {
        madvise(pages, bytes, MADV_DONTDUMP); // a kernel built without it keeps nothing out, and says so to nobody
    }
    return pages;
}

void co_zeroed_pages_give(void *pages, size_t bytes)
{
    if (pages != NULL) {
        munmap(pages, bytes);
    }
}
