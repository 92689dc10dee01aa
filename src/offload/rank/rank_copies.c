// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's copies; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // fallocate
#endif
#include "offload/rank/rank_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/shm_segment.h"
#include "offload/segment_memory.h"

enum { BLOCK_BYTES = 512, RANGES_FIRST = 8 }; // of st_blocks

int co_rank_ranges_add(struct co_rank_ranges *ranges, const struct co_offload_operation *operation)
{
    if (operation->kind == CO_OFFLOAD_OPERATION_BARRIER) {
        return 0;
    }
    if (ranges->count == ranges->room) {
        uint32_t room = ranges->room == 0 ? RANGES_FIRST : 2 * ranges->room;
        struct co_rank_range *at = realloc(ranges->at, room * sizeof *at);
        if (at == NULL) {
            return -ENOMEM;
        }
        ranges->at = at;
        ranges->room = room;
    }
    ranges->at[ranges->count++] = (struct co_rank_range){.address = operation->address,
                                                         .bytes = operation->bytes,
                                                         .is_receive = operation->kind != CO_OFFLOAD_OPERATION_SEND};
    return 0;
}

// The kernel says so where there is no such memory in this process.
static int range_copy(struct co_rank_copies *copies, const struct co_rank_range *range, bool is_in)
{
    if (range->address > CO_SEGMENT_COPIES_BYTES || range->bytes > CO_SEGMENT_COPIES_BYTES - range->address) {
        return -EFAULT;
    }
    if (!co_descriptor_is_kept(&copies->file)) {
        return -EBADF;
    }
    for (uint64_t done = 0; done < range->bytes;) {
        void *memory = (void *)(uintptr_t)(range->address + done);
        off_t place = (off_t)(CO_SEGMENT_COPIES_AT + range->address + done);
        ssize_t moved = is_in ? pwrite(copies->file.fd, memory, range->bytes - done, place)
                              : pread(copies->file.fd, memory, range->bytes - done, place);
        if (moved < 0 && errno != EINTR) {
            return errno == ENOSPC ? -ENOMEM : -errno; // of a file in memory
        }
        if (moved == 0) {
            return -EFAULT;
        }
        done += moved > 0 ? (uint64_t)moved : 0;
    }
    return 0;
}

// An error there is nobody's: the bytes are in their places.
static int range_take(struct co_rank_copies *copies, const struct co_rank_range *range, bool is_in)
{
    if (copies->is_checked && range->is_receive && is_in != copies->is_without_file) { // the copy looks at all of it
        co_shm_segment_see((char *)(uintptr_t)range->address, range->bytes);
    }
    return copies->is_without_file ? 0 : range_copy(copies, range, is_in);
}

// Nobody needs any of them.
static void copies_give_back(struct co_rank_copies *copies)
{
    struct stat is;
    if (!copies->is_without_file && co_descriptor_is_kept(&copies->file) && fstat(copies->file.fd, &is) == 0 &&
        (uint64_t)is.st_blocks * BLOCK_BYTES > copies->kept) {
        (void)fallocate(copies->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)CO_SEGMENT_COPIES_AT,
                        (off_t)CO_SEGMENT_COPIES_BYTES);
    }
}

int co_rank_copies_in(struct co_rank_copies *copies, struct co_rank_ranges *ranges)
{
    int error = 0;
    ranges->error = 0;
    for (uint32_t i = 0; i < ranges->count && error == 0; i++) {
        error = range_take(copies, &ranges->at[i], true);
    }
    if (error == 0) {
        ranges->is_out = true;
        copies->under_way++;
    } else if (copies->under_way == 0) {
        copies_give_back(copies);
    }
    return error;
}

int co_rank_copies_out(struct co_rank_copies *copies, struct co_rank_ranges *ranges, bool is_back)
{
    if (!ranges->is_out) {
        return ranges->error;
    }
    ranges->is_out = false;
    for (uint32_t i = 0; is_back && i < ranges->count && ranges->error == 0; i++) {
        ranges->error = ranges->at[i].is_receive ? range_take(copies, &ranges->at[i], false) : 0;
    }
    if (--copies->under_way == 0) {
        copies_give_back(copies);
    }
    return ranges->error;
}
