// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's memory as its proxy reaches it: a table of functions, so that the core does not know whether bytes are read
// from another process (attach) or wait in the proxy's own memory first (stage). Contract: tests/unit/offload/
// window_contract.c. The proxy's one thread; read and write are hot. None of them waits for another rank or proxy; but
// attach takes page faults of the rank's memory, and where the rank has it filled by a process (userfaultfd, a file of
// FUSE) that one can keep the proxy waiting.
#ifndef CASTOFF_OFFLOAD_RANK_WINDOW_H
#define CASTOFF_OFFLOAD_RANK_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct co_rank_window;

// A range of a rank's memory, for one operation. It is the caller's, so that lending needs no memory.
struct co_rank_window_loan {
    struct co_rank_window *window;
    uint64_t address, bytes;
    bool is_for_read;
    unsigned char *staged; // stage: the range in the proxy's memory; NULL elsewhere
};

struct co_rank_window_ops {
    const char *name;

    // Fills in the loan. 0; -EFAULT where the range is known not to be the rank's. A range that only turns out so later
    // fails in read or write. On an error there is nothing to close.
    int (*open)(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                struct co_rank_window_loan *loan);

    // Bytes [offset, offset + bytes) of the loan, which the caller has checked to be inside. What was written through a
    // loan can be read through it. 0, or -EFAULT (no such memory), -ESRCH (no such process): some bytes may have moved.
    int (*read)(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes);
    int (*write)(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes);

    // When it returns 0 the first `bytes` are in the rank's memory, so that the rank may be told. Called once, of a
    // loan for writing, after the last write.
    int (*flush)(struct co_rank_window_loan *loan, uint64_t bytes);

    // Nothing is read or written by this loan any more. What was not flushed may never have reached the rank.
    void (*close)(struct co_rank_window_loan *loan);
};

// An implementation has it as its first member.
struct co_rank_window {
    const struct co_rank_window_ops *ops;
};

#endif
