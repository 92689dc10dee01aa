// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of a rank; see the header.
#include "offload/copy_window.h"

#include <errno.h>
#include <unistd.h>

#include "offload/segment_memory.h"

static off_t place_of(const struct co_rank_window_loan *loan, uint64_t offset)
{
    return (off_t)(CO_SEGMENT_COPIES_AT + loan->address + offset);
}

static int file_of(const struct co_rank_window_loan *loan)
{
    return ((const struct co_copy_window *)loan->window)->file;
}

static int copy_open(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                     struct co_rank_window_loan *loan)
{
    if (address > CO_SEGMENT_COPIES_BYTES || bytes > CO_SEGMENT_COPIES_BYTES - address) {
        return -EFAULT;
    }
    *loan =
        (struct co_rank_window_loan){.window = window, .address = address, .bytes = bytes, .is_for_read = is_for_read};
    return 0;
}

// What is told of a step: 1: it moved some; 0: once more; -errno.
static int step_judge(ssize_t moved)
{
    return moved > 0 ? 1 : moved == 0 ? -EFAULT : errno == EINTR ? 0 : -errno;
}

static int copy_read(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes)
{
    int result = 1;
    for (uint64_t done = 0; done < bytes && result >= 0;) {
        ssize_t moved = pread(file_of(loan), (char *)into + done, bytes - done, place_of(loan, offset + done));
        result = step_judge(moved);
        done += result > 0 ? (uint64_t)moved : 0;
    }
    return result < 0 ? result : 0;
}

static int copy_write(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes)
{
    int result = 1;
    for (uint64_t done = 0; done < bytes && result >= 0;) {
        ssize_t moved = pwrite(file_of(loan), (const char *)from + done, bytes - done, place_of(loan, offset + done));
        result = step_judge(moved);
        done += result > 0 ? (uint64_t)moved : 0;
    }
    return result < 0 ? result : 0;
}

// What was written is where the rank fetches it.
static int copy_flush(struct co_rank_window_loan *loan, uint64_t bytes)
{
    (void)loan;
    (void)bytes;
    return 0;
}

static void copy_close(struct co_rank_window_loan *loan)
{
    (void)loan;
}

static const struct co_rank_window_ops copy_ops = {.name = "copy",
                                                   .open = copy_open,
                                                   .read = copy_read,
                                                   .write = copy_write,
                                                   .flush = copy_flush,
                                                   .close = copy_close};

void co_copy_window_open(struct co_copy_window *copy, int file)
{
    *copy = (struct co_copy_window){.window.ops = &copy_ops, .file = file};
}
