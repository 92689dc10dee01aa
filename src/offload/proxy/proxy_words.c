// SPDX-License-Identifier: BSD-3-Clause
//
// What is to be said to other proxies: gathered in a turn, and sent at its end, words of one kind in one record. Words
// to ranks of our own wait for the next turn, so nothing calls itself. Called by ends, teams and proxy_core.c; hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "offload/proxy/proxy_state.h"

int co_proxy_words_reserve(struct co_proxy_peer *peer)
{
    size_t needed = peer->word_count + 2 * (peer->end_count + 1);
    if (needed > peer->word_room) {
        size_t room = 2 * needed + 64;
        struct co_proxy_word *words = realloc(peer->words, room * sizeof *words);
        if (words == NULL) {
            return -ENOMEM;
        }
        peer->words = words;
        peer->word_room = room;
    }
    return 0;
}

void co_proxy_word_say(struct co_proxy_peer *peer, enum co_offload_record_kind kind, const struct co_offload_key *key)
{
    if (!peer->is_lost) {
        assert(peer->word_count < peer->word_room);
        peer->words[peer->word_count++] = (struct co_proxy_word){kind, *key};
    }
}

void co_proxy_words_send(struct co_proxy *proxy, int number)
{
    struct co_proxy_peer *peer = &proxy->peers[number];
    struct co_offload_key keys[CO_OFFLOAD_RECORD_ENTRIES_MAX];

    for (size_t at = 0; at < peer->word_count;) {
        enum co_offload_record_kind kind = peer->words[at].kind;
        uint32_t count = 0;
        while (at < peer->word_count && peer->words[at].kind == kind && count < CO_OFFLOAD_RECORD_ENTRIES_MAX) {
            keys[count++] = peer->words[at++].key;
        }
        proxy->carrier->ops->control(proxy->carrier, number, proxy->record,
                                     co_offload_record_encode_entries(proxy->record, kind, keys, count));
        proxy->counts.control_records++;
    }
    peer->word_count = 0;
}
