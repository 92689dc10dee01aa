// SPDX-License-Identifier: BSD-3-Clause
//
// Control messages to other proxies: gathered in a turn, and sent at its end, what is of one kind in one record. What
// goes to ranks of our own wait for the next turn, so nothing calls itself. Called by ends, teams and proxy_core.c;
// hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "offload/proxy/proxy_state.h"

int co_proxy_control_reserve(struct co_proxy_peer *peer)
{
    size_t needed = peer->control_count + 2 * (peer->end_count + 1);
    if (needed > peer->control_room) {
        size_t room = 2 * needed + 64;
        struct co_proxy_control *controls = realloc(peer->controls, room * sizeof *controls);
        if (controls == NULL) {
            return -ENOMEM;
        }
        peer->controls = controls;
        peer->control_room = room;
    }
    return 0;
}

void co_proxy_control_queue(struct co_proxy_peer *peer, enum co_offload_record_kind kind,
                            const struct co_offload_key *key)
{
    if (!peer->is_lost) {
        assert(peer->control_count < peer->control_room);
        peer->controls[peer->control_count++] = (struct co_proxy_control){kind, *key};
    }
}

void co_proxy_control_send(struct co_proxy *proxy, int number)
{
    struct co_proxy_peer *peer = &proxy->peers[number];
    struct co_offload_key keys[CO_OFFLOAD_RECORD_ENTRIES_MAX];

    for (size_t at = 0; at < peer->control_count;) {
        enum co_offload_record_kind kind = peer->controls[at].kind;
        uint32_t count = 0;
        while (at < peer->control_count && peer->controls[at].kind == kind && count < CO_OFFLOAD_RECORD_ENTRIES_MAX) {
            keys[count++] = peer->controls[at++].key;
        }
        proxy->carrier->ops->control(proxy->carrier, number, proxy->record,
                                     co_offload_record_encode_entries(proxy->record, kind, keys, count));
        proxy->counts.control_records++;
    }
    peer->control_count = 0;
}
