// SPDX-License-Identifier: BSD-3-Clause
//
// Where a segment comes from: memory without a name (memfd), which a rank makes and hands to its proxy as a descriptor,
// so no other rank maps it and nothing can stay behind. It is sealed: a rank that made it shorter would end the proxy
// by a signal. Behind it the same file may have room for copies: where the proxy may not reach the rank's memory, the
// rank copies its messages there, and back, each byte at the place that its address names. So nothing has to be
// allocated, and ranges that overlap do so there, too; what is not used takes no memory, and both ends read and write
// it by system calls: what cannot be had is an error, not a signal. Cold; any thread.
#ifndef CASTOFF_OFFLOAD_SEGMENT_MEMORY_H
#define CASTOFF_OFFLOAD_SEGMENT_MEMORY_H

#include "offload/segment.h"

#define CO_SEGMENT_COPIES_AT ((uint64_t)1 << 30)    // in the file
#define CO_SEGMENT_COPIES_BYTES ((uint64_t)1 << 48) // no address of a program is above

// Zeroed memory, mapped, and its descriptor, which the caller closes. -EFBIG (a limit of file sizes), -ENOMEM,
// -EMFILE, ...
int co_segment_memory_create(struct co_segment_memory **out, bool has_copies, int *fd);
// What a rank has sent. -EPERM: it is no memory of that kind, has another length, or is not sealed.
int co_segment_memory_map(struct co_segment_memory **out, int fd, bool *has_copies);
void co_segment_memory_unmap(struct co_segment_memory *memory);

#endif
