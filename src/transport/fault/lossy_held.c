// SPDX-License-Identifier: BSD-3-Clause
//
// The store of held datagrams of the fault injector. Called by lossy.c, one thread; cold unless faults are asked for.
#include "transport/fault/lossy_held.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RETRY_NS (100 * CO_NS_PER_US) // until a full queue below is tried again

bool co_lossy_held_add(struct co_lossy_held *held, struct co_destination to, const struct co_tx_datagram *datagram,
                       uint64_t due_ns)
{
    size_t bytes = co_tx_datagram_bytes(datagram);
    if (held->count == CO_LOSSY_HELD_MAX || held->bytes + bytes > CO_LOSSY_HELD_BYTES_MAX) {
        return false;
    }
    uint8_t *data = malloc(bytes ? bytes : 1);
    if (!data) {
        return false;
    }
    held->entries[held->count++] = (struct co_lossy_held_entry){
        .due_ns = due_ns,
        .to = to,
        .bytes = co_tx_datagram_copy(data, datagram),
        .immediate = datagram->immediate,
        .data = data,
    };
    held->bytes += bytes;
    if (held->next_ns == 0 || due_ns < held->next_ns) {
        held->next_ns = due_ns;
    }
    return true;
}

static unsigned earliest(const struct co_lossy_held *held)
{
    unsigned found = 0;
    for (unsigned i = 1; i < held->count; i++) {
        if (held->entries[i].due_ns < held->entries[found].due_ns) {
            found = i;
        }
    }
    return found;
}

static void forget(struct co_lossy_held *held, unsigned at)
{
    held->bytes -= held->entries[at].bytes;
    free(held->entries[at].data);
    held->entries[at] = held->entries[--held->count];
}

void co_lossy_held_release(struct co_lossy_held *held, struct co_transport *below, uint64_t now_ns)
{
    while (held->next_ns != 0 && held->next_ns <= now_ns) {
        unsigned at = earliest(held);
        const struct co_lossy_held_entry *entry = &held->entries[at];
        struct co_tx_datagram datagram = {
            .head = entry->data, .head_bytes = entry->bytes, .immediate = entry->immediate};
        // An error is left to the next send of the user, who alone knows what it means.
        if (below->ops->send(below, entry->to, &datagram, 1) == 0) {
            held->next_ns = now_ns + RETRY_NS;
            return;
        }
        forget(held, at);
        held->next_ns = held->count ? held->entries[earliest(held)].due_ns : 0;
    }
}

void co_lossy_held_clear(struct co_lossy_held *held)
{
    while (held->count > 0) {
        forget(held, held->count - 1);
    }
    held->next_ns = 0;
}
