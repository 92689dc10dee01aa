// SPDX-License-Identifier: BSD-3-Clause
//
// Sources whose credit has to be looked at, each once, so that a datagram costs a look at one and not at all. Hot.
#ifndef CASTOFF_MCAST_ACK_ACK_LIST_H
#define CASTOFF_MCAST_ACK_ACK_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct co_ack_list {
    uint16_t *sources; // room for all
    bool *has;         // by source
    int count;
};

static inline void co_ack_list_add(struct co_ack_list *list, int source)
{
    if (!list->has[source]) {
        list->has[source] = true;
        list->sources[list->count++] = (uint16_t)source;
    }
}

static inline void co_ack_list_clear(struct co_ack_list *list)
{
    for (int i = 0; i < list->count; i++) {
        list->has[list->sources[i]] = false;
    }
    list->count = 0;
}

#endif
