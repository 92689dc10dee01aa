// SPDX-License-Identifier: BSD-3-Clause
//
// The trials of stream_trials.h. Hot for messages of middle size; without a clock while no trial is under way.
#include "p2p/stream_trials.h"

#include <stdlib.h>

#include "base/copy_trials.h"
#include "p2p/stream_receive.h"

#define LEAST ((size_t)8 << 10) // bytes: what is shorter would show the price of the clock
#define SPELL_MOST 64           // messages: one that does not end is cut, and its parts count
#define SPELL_LONG 16           // messages: more count twice, so that trials of windows are not that long
#define PER_BYTES_SHIFT 20      // messages of a class differ: times are those of so many bytes
#define TURNS_AT_ONCE 1         // after the one in which they are asked for: so soon comes only what was there

// What comes from a peer.
struct co_p2p_incoming {
    struct co_copy_trials trials;
    // The spell.
    uint64_t begin_ns;  // 0: it is not timed
    uint64_t bytes;     // that have come
    uint64_t before_ns; // that copying took before its begin
    unsigned turns;     // at its begin
    unsigned under_way, ended;
    unsigned class;
    enum co_copy_path path;
    bool is_mixed; // not all of one class and path
};

static unsigned class_of(size_t bytes)
{
    return co_trial_class(bytes, LEAST);
}

static void spell_begin(const struct co_p2p *p2p, struct co_p2p_incoming *incoming)
{
    incoming->begin_ns = incoming->trials.is_on ? p2p->config.now_ns() : 0;
    incoming->bytes = incoming->ended = 0;
    incoming->before_ns = 0;
    incoming->turns = p2p->turns;
    incoming->is_mixed = false;
}

// Bytes that were there before they were asked for have been copied, too: by their sender, in its program's time and
// not meanwhile, and once more by us where they were kept.
static uint64_t spell_took_ns(const struct co_p2p *p2p, const struct co_p2p_incoming *incoming)
{
    uint64_t took_ns = p2p->config.now_ns() - incoming->begin_ns;
    bool came_at_once = p2p->turns - incoming->turns <= TURNS_AT_ONCE && incoming->path == CO_COPY_BY_RING;

    return incoming->before_ns > 0 ? took_ns + 2 * incoming->before_ns : came_at_once ? 2 * took_ns : took_ns;
}

static void spell_end(const struct co_p2p *p2p, struct co_p2p_incoming *incoming)
{
    if (incoming->begin_ns != 0 && !incoming->is_mixed && co_trial_wants(&incoming->trials, incoming->class)) {
        uint64_t took_ns = (spell_took_ns(p2p, incoming) << PER_BYTES_SHIFT) / incoming->bytes;
        for (int i = 0; i < (incoming->ended > SPELL_LONG ? 2 : 1); i++) {
            co_trial_took(&incoming->trials, incoming->class, incoming->path, took_ns);
        }
    }
}

uint64_t co_p2p_trials_clock(const struct co_p2p *p2p, const struct co_p2p_message *message)
{
    const struct co_p2p_incoming *incoming = p2p->peers[message->peer].incoming;
    return incoming != NULL && co_trial_wants(&incoming->trials, class_of(message->bytes)) ? p2p->config.now_ns() : 0;
}

void co_p2p_trials_begin(struct co_p2p *p2p, struct co_p2p_receive *receive, const struct co_p2p_message *message)
{
    struct co_p2p_peer *from = &p2p->peers[receive->peer];
    receive->is_trial =
        p2p->config.tries_streams && !from->is_remote && receive->wanted >= LEAST && co_p2p_may_read(p2p, receive);
    if (receive->is_trial && from->incoming == NULL) {
        from->incoming = calloc(1, sizeof(struct co_p2p_incoming));
        receive->is_trial = from->incoming != NULL;
    }
    if (!receive->is_trial) {
        return;
    }
    enum co_copy_path path = message->is_in_pieces ? CO_COPY_BY_RING : CO_COPY_STRAIGHT;
    co_trial_next(&from->incoming->trials, class_of(receive->bytes), path);
    co_trial_went(&from->incoming->trials, class_of(receive->bytes), path);
    if (from->incoming->under_way++ == 0) {
        spell_begin(p2p, from->incoming);
    }
    from->incoming->before_ns += message->stored_ns;
    from->incoming->is_mixed |= message->arrived > 0 && message->stored_ns == 0; // kept before the trial
}

void co_p2p_trials_refused(struct co_p2p *p2p, const struct co_p2p_receive *receive)
{
    if (receive->is_trial) {
        co_trial_refused(&p2p->peers[receive->peer].incoming->trials, class_of(receive->bytes), CO_COPY_STRAIGHT);
    }
}

void co_p2p_trials_end(struct co_p2p *p2p, struct co_p2p_receive *receive, bool is_streamed)
{
    if (!receive->is_trial) {
        return;
    }
    struct co_p2p_incoming *incoming = p2p->peers[receive->peer].incoming;
    enum co_copy_path path = is_streamed ? CO_COPY_BY_RING : CO_COPY_STRAIGHT;
    unsigned class = class_of(receive->bytes);
    incoming->is_mixed |= incoming->ended > 0 && (class != incoming->class || path != incoming->path);
    incoming->class = class;
    incoming->path = path;
    incoming->bytes += receive->bytes < receive->room ? receive->bytes : receive->room;
    incoming->ended++;
    incoming->under_way--;
    if (incoming->under_way == 0 || incoming->ended == SPELL_MOST) {
        spell_end(p2p, incoming);
        spell_begin(p2p, incoming);
    }
}

int32_t co_p2p_trials_wish(const struct co_p2p *p2p, const struct co_p2p_receive *receive)
{
    const struct co_p2p_incoming *incoming = p2p->peers[receive->peer].incoming;
    return receive->is_trial ? 1 + (int32_t)co_trial_path(&incoming->trials, class_of(receive->bytes)) : 0;
}

void co_p2p_trials_hear(struct co_p2p *p2p, int peer, size_t bytes, int32_t wish)
{
    struct co_p2p_peer *to = &p2p->peers[peer];
    if (wish != 1 + CO_COPY_BY_RING && wish != 1 + CO_COPY_STRAIGHT) {
        return;
    }
    unsigned bit = 1u << class_of(bytes);
    to->wishes_known |= (uint8_t)bit;
    to->wishes_pieces = (uint8_t)(wish == 1 + CO_COPY_BY_RING ? to->wishes_pieces | bit : to->wishes_pieces & ~bit);
}

bool co_p2p_trials_streams(const struct co_p2p *p2p, int peer, size_t bytes)
{
    const struct co_p2p_peer *to = &p2p->peers[peer];
    unsigned bit = 1u << class_of(bytes);
    return bytes >= LEAST && (to->wishes_known & bit) != 0 ? (to->wishes_pieces & bit) != 0
                                                           : bytes <= p2p->config.stream_most;
}

void co_p2p_trials_close(struct co_p2p *p2p)
{
    for (int peer = 0; peer < p2p->config.size; peer++) {
        free(p2p->peers[peer].incoming);
    }
}
