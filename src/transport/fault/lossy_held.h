// SPDX-License-Identifier: BSD-3-Clause
//
// The bounded store of datagrams that the fault injector holds back, with the time at which each is due. Used by
// lossy.c only; one thread.
#ifndef CASTOFF_TRANSPORT_FAULT_LOSSY_HELD_H
#define CASTOFF_TRANSPORT_FAULT_LOSSY_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define CO_LOSSY_HELD_MAX 1024
#define CO_LOSSY_HELD_BYTES_MAX (8U << 20)

struct co_lossy_held_entry {
    uint64_t due_ns;
    struct co_destination to;
    uint32_t bytes, immediate;
    uint8_t *data;
};

struct co_lossy_held {
    struct co_lossy_held_entry entries[CO_LOSSY_HELD_MAX]; // in no order: few, and looked through only when one is due
    unsigned count;
    size_t bytes;
    uint64_t next_ns; // earliest due time, 0: nothing held
};

// Keeps a copy until due_ns; false: no room.
bool co_lossy_held_add(struct co_lossy_held *held, struct co_destination to, const struct co_tx_datagram *datagram,
                       uint64_t due_ns);

// Hands what is due to `below`, earliest first; a full queue is tried again later.
void co_lossy_held_release(struct co_lossy_held *held, struct co_transport *below, uint64_t now_ns);

void co_lossy_held_clear(struct co_lossy_held *held);

#endif
