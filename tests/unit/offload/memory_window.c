// SPDX-License-Identifier: BSD-3-Clause
//
// An array as a rank's memory; see the header.
#include "memory_window.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int loan_open(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                     struct co_rank_window_loan *loan)
{
    ((struct memory_window *)window)->loans++;
    *loan =
        (struct co_rank_window_loan){.window = window, .address = address, .bytes = bytes, .is_for_read = is_for_read};
    return 0; // as with another process, only an access finds out what is there
}

static int memory_find(struct co_rank_window_loan *loan, uint64_t offset, uint64_t bytes, bool is_write,
                       unsigned char **out)
{
    struct memory_window *window = (struct memory_window *)loan->window;
    uint64_t address = loan->address + offset;

    assert(offset <= loan->bytes && bytes <= loan->bytes - offset);
    if (address < window->base || address - window->base > window->bytes ||
        bytes > window->bytes - (address - window->base)) {
        return -EFAULT;
    }
    *out = window->memory + (address - window->base);
    return window->touch != NULL ? window->touch(window->context, address, bytes, is_write) : 0;
}

static int loan_read(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes)
{
    unsigned char *memory;
    int error = memory_find(loan, offset, bytes, false, &memory);
    if (error == 0) {
        memcpy(into, memory, bytes);
    }
    return error;
}

static int loan_write(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes)
{
    unsigned char *memory;
    int error = memory_find(loan, offset, bytes, true, &memory);
    assert(!loan->is_for_read);
    if (error == 0) {
        memcpy(memory, from, bytes);
    }
    return error;
}

static int loan_flush(struct co_rank_window_loan *loan, uint64_t bytes)
{
    assert(!loan->is_for_read && bytes <= loan->bytes);
    (void)loan;
    (void)bytes;
    return 0;
}

static void loan_close(struct co_rank_window_loan *loan)
{
    struct memory_window *window = (struct memory_window *)loan->window;
    assert(window->loans > 0);
    window->loans--;
}

static const struct co_rank_window_ops memory_ops = {.name = "memory",
                                                     .open = loan_open,
                                                     .read = loan_read,
                                                     .write = loan_write,
                                                     .flush = loan_flush,
                                                     .close = loan_close};

void memory_window_open(struct memory_window *window, unsigned char *memory, uint64_t base, uint64_t bytes)
{
    *window = (struct memory_window){.window.ops = &memory_ops, .memory = memory, .base = base, .bytes = bytes};
}
