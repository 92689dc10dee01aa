// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that a rank copies itself, where its proxy may not reach its memory: into the file behind its segment
// (segment_memory.h) before a call begins, and back when the call is over. Copied are all ranges of a call, those of
// receives too, for of these fewer bytes may come, and all of a range goes back. One thread at a time; hot.
//
// And what a proxy has written into the memory of a rank that runs under Valgrind's memcheck, which takes it for never
// written until the rank has read it into its own place. That is done for all of a range that something may come into.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_COPIES_H
#define CASTOFF_OFFLOAD_RANK_RANK_COPIES_H

#include <stdbool.h>

#include "base/descriptors.h"
#include "offload/offload_command.h"

struct co_rank_copies {
    struct co_descriptor_kept file;
    bool is_without_file; // the proxy reaches the memory itself
    bool is_checked;      // by memcheck
    uint64_t kept;        // memory of copies that stays for the next ones
    unsigned under_way;   // calls
};

// Of one call, or group.
struct co_rank_ranges {
    struct co_rank_range {
        uint64_t address, bytes;
        bool is_receive;
    } * at;
    uint32_t count, room;
    bool is_out; // copied in, and not back yet
    int error;   // of the way back
};

int co_rank_ranges_add(struct co_rank_ranges *ranges, const struct co_offload_operation *operation); // -ENOMEM
// -EFAULT: there is no such memory, and the call must not begin. -ENOMEM: no memory for copies.
// -EBADF, here and below: the program has closed the file.
int co_rank_copies_in(struct co_rank_copies *copies, struct co_rank_ranges *ranges);
// The call is over, or has not begun; is_back: what it received goes back. Once; then it says again what it said.
int co_rank_copies_out(struct co_rank_copies *copies, struct co_rank_ranges *ranges, bool is_back); // -EFAULT

#endif
