// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of a trace's file as memory. Once for each block.
#ifndef CASTOFF_RECORD_TRACE_PAGES_H
#define CASTOFF_RECORD_TRACE_PAGES_H

#include <stddef.h>
#include <stdint.h>

// Makes sure that the disk has room for the part, as zeros where there was nothing, and maps it. 0 or -errno.
int co_trace_pages_map(int file, uint64_t offset, size_t bytes, void **address);
void co_trace_pages_unmap(void *address, size_t bytes);

#endif
