// SPDX-License-Identifier: BSD-3-Clause
//
// Staging; see the header.
#include "offload/stage_window.h"
#include "base/memory/memory_copy.h"

#include <stdlib.h>
#include <string.h>

static struct co_stage_window *stage_of(const struct co_rank_window_loan *loan)
{
    return (struct co_stage_window *)loan->window;
}

// The same range, of the window that reaches the rank.
static struct co_rank_window_loan loan_below(const struct co_rank_window_loan *loan)
{
    struct co_rank_window_loan below = *loan;
    below.window = stage_of(loan)->below;
    below.staged = NULL;
    return below;
}

static unsigned char *stage_take(struct co_stage_window *stage, uint64_t bytes)
{
    unsigned char *memory = bytes > 0 && bytes <= stage->room_bytes - stage->used_bytes ? malloc(bytes) : NULL;

    if (memory == NULL) {
        stage->passed_by++;
        return NULL;
    }
    stage->messages++;
    stage->used_bytes += bytes;
    if (stage->used_bytes > stage->high_water_bytes) {
        stage->high_water_bytes = stage->used_bytes;
    }
    return memory;
}

static void stage_close(struct co_rank_window_loan *loan)
{
    struct co_rank_window_loan below = loan_below(loan);

    if (loan->staged != NULL) {
        stage_of(loan)->used_bytes -= loan->bytes;
        free(loan->staged);
        loan->staged = NULL;
    }
    below.window->ops->close(&below);
}

static int stage_open(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                      struct co_rank_window_loan *loan)
{
    struct co_stage_window *stage = (struct co_stage_window *)window;
    struct co_rank_window_loan below;
    int error = stage->below->ops->open(stage->below, address, bytes, is_for_read, &below);

    if (error != 0) {
        return error;
    }
    *loan = below;
    loan->window = window;
    loan->staged = stage_take(stage, bytes);
    if (loan->staged != NULL && is_for_read) {
        error = below.window->ops->read(&below, 0, loan->staged, bytes);
        if (error != 0) {
            stage_close(loan);
        }
    }
    return error;
}

static int stage_read(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes)
{
    struct co_rank_window_loan below = loan_below(loan);

    if (loan->staged == NULL) {
        return below.window->ops->read(&below, offset, into, bytes);
    }
    co_memory_copy(into, loan->staged + offset, bytes);
    return 0;
}

static int stage_write(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes)
{
    struct co_rank_window_loan below = loan_below(loan);

    if (loan->staged == NULL) {
        return below.window->ops->write(&below, offset, from, bytes);
    }
    co_memory_copy(loan->staged + offset, from, bytes);
    return 0;
}

static int stage_flush(struct co_rank_window_loan *loan, uint64_t bytes)
{
    struct co_rank_window_loan below = loan_below(loan);
    int error = 0;

    if (loan->staged != NULL && bytes > 0) {
        error = below.window->ops->write(&below, 0, loan->staged, bytes);
    }
    return error != 0 ? error : below.window->ops->flush(&below, bytes);
}

static const struct co_rank_window_ops stage_ops = {.name = "stage",
                                                    .open = stage_open,
                                                    .read = stage_read,
                                                    .write = stage_write,
                                                    .flush = stage_flush,
                                                    .close = stage_close};

void co_stage_window_open(struct co_stage_window *stage, struct co_rank_window *below, uint64_t room_bytes)
{
    *stage = (struct co_stage_window){.window.ops = &stage_ops, .below = below, .room_bytes = room_bytes};
}
