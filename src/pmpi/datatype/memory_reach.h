// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that no other process reaches though its own does: memfd_secret, mappings of devices. process_vm_readv and
// process_vm_writev fail there with EFAULT. Any thread; hot: a microsecond.
#ifndef CASTOFF_PMPI_DATATYPE_MEMORY_REACH_H
#define CASTOFF_PMPI_DATATYPE_MEMORY_REACH_H

#include <stdbool.h>
#include <stddef.h>

// Asked of the first and the last byte. False where this process does not reach them either, or the kernel forbids to
// ask.
bool co_unreached_is(const void *address, size_t bytes);

// From the first byte of several ranges to the last one.
struct co_span {
    const char *from;
    size_t bytes; // 0: of none yet
};

#define CO_SPAN_NONE                                                                                                   \
    (struct co_span)                                                                                                   \
    {                                                                                                                  \
        NULL, 0                                                                                                        \
    }

static inline void co_span_add(struct co_span *span, const char *from, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    const char *old_to = span->bytes == 0 ? from : span->from + span->bytes;
    const char *to = from + bytes > old_to ? from + bytes : old_to;
    span->from = span->bytes == 0 || from < span->from ? from : span->from;
    span->bytes = (size_t)(to - span->from);
}

#endif
