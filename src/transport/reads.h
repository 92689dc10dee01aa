// SPDX-License-Identifier: BSD-3-Clause
//
// Reading of a neighbour's memory (verbs: RDMA READ over reliable connections), which some transports offer beside
// datagrams. One process lends memory and tells the other, by datagrams, where it is; the other reads it when it likes,
// without a word. What was read comes like any datagram, by poll, and may be lost like one, so nothing depends on it.
// By the holder of the engine; nothing blocks.
#ifndef CASTOFF_TRANSPORT_READS_H
#define CASTOFF_TRANSPORT_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_loan; // memory that a neighbour may read; the transport's own

struct co_read {
    int peer;         // world rank
    uint32_t key;     // that the memory is lent under
    uint64_t address; // in the peer's process
    uint32_t bytes;
    // What was read comes between these, as one datagram. Copied.
    const void *head, *tail;
    uint32_t head_bytes, tail_bytes;
};

struct co_reads;

struct co_reads_ops {
    // There is a connection to that peer, and it has not failed. Both sides may read.
    bool (*is_connected)(const struct co_reads *reads, int peer);
    // Until it is taken back the neighbours may read the memory, of which nobody is told before it is as it will stay.
    // may_change: parts of which nobody has been told are still written to, so it must be writable. 0, or -errno:
    // -EAGAIN when too much is lent, -ENOMEM and others where it may not be pinned.
    int (*lend)(struct co_reads *reads, struct co_loan **out, const void *start, size_t bytes, bool may_change,
                uint32_t *key);
    // Then nobody can read it any more. Who still tries loses his connection, and datagrams remain.
    void (*take_back)(struct co_reads *reads, struct co_loan *loan);
    // Begins. 0 and its number, or -EAGAIN when too many are under way, -ENOTCONN, -EMSGSIZE for what is larger than a
    // datagram.
    int (*read)(struct co_reads *reads, const struct co_read *read, uint64_t *number);
    // It has yet to be delivered or to fail. False for all once the transport is broken. Those of one peer end in the
    // order in which they began.
    bool (*is_under_way)(const struct co_reads *reads, uint64_t number);
};

// Head of every transport's own struct.
struct co_reads {
    const struct co_reads_ops *ops;
};

#endif
