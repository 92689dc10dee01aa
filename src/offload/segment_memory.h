// SPDX-License-Identifier: BSD-3-Clause
//
// Where a segment comes from: memory without a name (memfd), which a rank makes and hands to its proxy as a descriptor,
// so no other rank maps it and nothing can stay behind. It is sealed: a rank that made it shorter would end the proxy
// by a signal. Cold; any thread.
#ifndef CASTOFF_OFFLOAD_SEGMENT_MEMORY_H
#define CASTOFF_OFFLOAD_SEGMENT_MEMORY_H

#include "offload/segment.h"

// Zeroed memory, mapped, and its descriptor, which the caller closes. -ENOSPC (a limit of file sizes), -ENOMEM,
// -EMFILE, ...
int co_segment_memory_create(struct co_segment_memory **out, int *fd);
// What a rank has sent. -EPERM: it is no memory of that kind, has another length, or is not sealed.
int co_segment_memory_map(struct co_segment_memory **out, int fd);
void co_segment_memory_unmap(struct co_segment_memory *memory);

#endif
