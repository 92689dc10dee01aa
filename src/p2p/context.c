// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators as point-to-point sees them. A packet may be for one that this rank has not created yet: then its
// tables are made at once, and whoever creates it finds what has come. Tables are large and mostly never touched.
#include "p2p/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/zeroed_pages.h"
#include "p2p/message.h"

#define ENDED_MOST 4096
#define SPARE_PLACES 32 // of each table that a spare one has touched at most

static struct co_matcher *matcher_new(const struct co_matcher_config *config)
{
    void *memory = co_zeroed_pages_take(co_matcher_bytes(config));
    return memory == NULL ? NULL : co_matcher_open(memory, config);
}

// Mapping tables costs more than all else that a communicator does, and most live shortly or carry little.
static int matcher_open(struct co_p2p *p2p, struct co_p2p_context *context)
{
    context->tables = p2p->config.matcher;
    context->matcher = p2p->spare_count > 0 ? p2p->spare[--p2p->spare_count] : matcher_new(&context->tables);
    return context->matcher == NULL ? -1 : 0;
}

static void matcher_close(struct co_p2p *p2p, struct co_p2p_context *context)
{
    bool is_first_size = context->tables.receives == p2p->config.matcher.receives &&
                         context->tables.messages == p2p->config.matcher.messages;
    if (is_first_size && p2p->spare_count < CO_P2P_SPARE_MOST && co_matcher_renew(context->matcher, SPARE_PLACES)) {
        p2p->spare[p2p->spare_count++] = context->matcher;
    } else {
        co_zeroed_pages_give(context->matcher, co_matcher_bytes(&context->tables));
    }
}

static uint32_t places_doubled(uint32_t places, uint32_t most)
{
    return places >= most ? places : places > most / 2 ? most : 2 * places;
}

// Twice as many each time, so that moving costs each of them little more than its own coming. They never shrink.
static struct co_matcher_config tables_enlarged(const struct co_matcher_config *tables, uint32_t most)
{
    struct co_matcher_config larger = {places_doubled(tables->receives, most), places_doubled(tables->messages, most),
                                       tables->bins};
    larger.bins = places_doubled(tables->bins, larger.receives);
    return larger;
}

void co_p2p_context_grow(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    struct co_matcher_config larger = tables_enlarged(&context->tables, p2p->config.places_most);
    void *memory = NULL;
    if (!context->may_not_grow &&
        larger.receives + larger.messages > context->tables.receives + context->tables.messages) {
        memory = co_zeroed_pages_take(co_matcher_bytes(&larger));
        context->may_not_grow = memory == NULL;
    }
    if (memory == NULL) { // it stands in the list
        p2p->totals.beyond_tables++;
        return;
    }
    struct co_matcher *moved = co_matcher_move(context->matcher, memory, &larger);
    co_zeroed_pages_give(context->matcher, co_matcher_bytes(&context->tables));
    context->matcher = moved;
    context->tables = larger;
}

static struct co_p2p_context *context_make(struct co_p2p *p2p, uint64_t id)
{
    struct co_p2p_context *context = calloc(1, sizeof(*context));
    if (context == NULL || matcher_open(p2p, context) != 0) {
        free(context);
        return NULL;
    }
    context->p2p = p2p;
    context->id = id;
    if (co_hash_map_put(&p2p->contexts, id, context) != 0) {
        matcher_close(p2p, context);
        free(context);
        return NULL;
    }
    return context;
}

// The last communicators that have ended here, by their ids, which are never used twice. Nobody will receive what still
// comes for them, so it must not wait and keep its sender's credit.
struct co_p2p_ended {
    struct co_hash_map ids;
    uint64_t latest[ENDED_MOST];
    uint64_t count;
};

static bool context_has_ended(const struct co_p2p *p2p, uint64_t id)
{
    return p2p->ended != NULL && co_hash_map_get(&p2p->ended->ids, id) != NULL;
}

static void context_note_ended(struct co_p2p *p2p, uint64_t id)
{
    if (p2p->ended == NULL) {
        p2p->ended = calloc(1, sizeof(*p2p->ended));
    }
    struct co_p2p_ended *ended = p2p->ended;
    if (ended == NULL) {
        return; // what comes for it waits for ever
    }
    uint64_t *place = &ended->latest[ended->count % ENDED_MOST];
    if (ended->count >= ENDED_MOST) {
        co_hash_map_remove(&ended->ids, *place);
    }
    *place = id;
    ended->count++;
    co_hash_map_put(&ended->ids, id, ended);
}

static struct co_p2p_context *context_find(struct co_p2p *p2p, uint64_t id)
{
    struct co_p2p_context *known = co_hash_map_get(&p2p->contexts, id);
    return known != NULL || context_has_ended(p2p, id) ? known : context_make(p2p, id);
}

struct co_p2p_context *co_p2p_context_find(struct co_p2p *p2p, int peer, const struct co_packet *packet)
{
    struct co_p2p_context *context = context_find(p2p, packet->context);
    if (context == NULL || context->peers == NULL) {
        return context; // who has sent is asked when it becomes known
    }
    if (!co_p2p_context_has(context, peer, packet->source)) {
        return NULL;
    }
    if (p2p->batch == NULL) {
        p2p->last_context = context;
    }
    return context;
}

bool co_p2p_context_leaves_out(const struct co_p2p *p2p, int peer, uint64_t id, int32_t source)
{
    const struct co_p2p_context *context = co_hash_map_get(&p2p->contexts, id);
    if (source < 0 || (context != NULL && context->peers != NULL && !co_p2p_context_has(context, peer, source))) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_P2P,
               "peer %d sent a message as rank %d of a communicator, which it is not: left out", peer, source);
        return true;
    }
    return context_has_ended(p2p, id);
}

void co_p2p_context_forget_last(struct co_p2p *p2p)
{
    static struct co_p2p_context nobodys; // without members
    p2p->last_context = &nobodys;
}

static void message_leave_out(struct co_p2p *p2p, struct co_p2p_message *message)
{
    co_p2p_message_give_back(p2p, message);
    co_p2p_message_give(p2p, message);
}

// What came before anybody here knew who its members are.
static void context_leave_out_strangers(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    struct co_p2p_message *buffered = NULL;
    struct co_match_node *node;
    while ((node = co_matcher_take(context->matcher, CO_P2P_ANY, CO_P2P_ANY)) != NULL) {
        struct co_p2p_message *message = (struct co_p2p_message *)node;
        if (co_p2p_context_leaves_out(p2p, message->peer, context->id, node->source)) {
            message_leave_out(p2p, message);
        } else {
            message->next_free = buffered;
            buffered = message;
        }
    }
    for (struct co_p2p_message *next; buffered != NULL; buffered = next) {
        next = buffered->next_free;
        (void)co_matcher_put_back(context->matcher, &buffered->node); // nobody has asked for any yet
    }
}

static void totals_add(struct co_p2p_totals *totals, const struct co_p2p_context *context)
{
    struct co_matcher_state state;
    co_matcher_state(context->matcher, &state);
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        totals->matches[class] += state.matches[class];
    }
    totals->unexpected += state.unexpected;
    totals->free_path += state.free_path;
    totals->fast_path += state.fast_path;
    totals->slow_path += state.slow_path;
    totals->receives_high = totals->receives_high > state.receives_high ? totals->receives_high : state.receives_high;
    totals->messages_high = totals->messages_high > state.messages_high ? totals->messages_high : state.messages_high;
}

// What nobody has received.
static void context_drop_messages(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    struct co_match_node *node;
    while ((node = co_matcher_take(context->matcher, CO_P2P_ANY, CO_P2P_ANY)) != NULL) {
        struct co_p2p_message *message = (struct co_p2p_message *)node;
        message_leave_out(p2p, message);
    }
}

void co_p2p_context_end(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    totals_add(&p2p->totals, context);
    context_drop_messages(context);
    co_hash_map_remove(&p2p->contexts, context->id);
    context_note_ended(p2p, context->id);
    if (p2p->last_context == context) {
        co_p2p_context_forget_last(p2p);
    }
    free(context->peers);
    matcher_close(p2p, context);
    free(context);
}

struct co_p2p_context *co_p2p_context_open(struct co_p2p *p2p, uint64_t id, const int *peers, int size, int rank)
{
    size_t bytes = (size_t)size * sizeof(int);
    int *copy = malloc(bytes);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, peers, bytes);
    co_p2p_lock(p2p);
    struct co_p2p_context *context = context_find(p2p, id);
    if (context != NULL) {
        context->peers = copy;
        context->size = size;
        context->rank = rank;
        context_leave_out_strangers(context);
    }
    co_p2p_unlock(p2p);
    if (context == NULL) {
        free(copy);
    }
    return context;
}

void co_p2p_context_close(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    co_p2p_lock(p2p);
    context->is_closed = true;
    context->users++;
    co_p2p_context_drop(context);
    co_p2p_unlock(p2p);
}

void co_p2p_context_hold(struct co_p2p_context *context)
{
    co_p2p_lock(context->p2p);
    context->users++;
    context->holders++;
    co_p2p_unlock(context->p2p);
}

void co_p2p_context_let_go(struct co_p2p_context *context)
{
    struct co_p2p *p2p = context->p2p;
    co_p2p_lock(p2p);
    context->holders--;
    co_p2p_context_drop(context);
    co_p2p_unlock(p2p);
}

bool co_p2p_context_is_busy(struct co_p2p_context *context)
{
    co_p2p_lock(context->p2p);
    bool is_busy = context->users > context->holders;
    co_p2p_unlock(context->p2p);
    return is_busy;
}

void co_p2p_contexts_close(struct co_p2p *p2p)
{
    struct co_p2p_context *context;
    size_t position;
    while (position = 0, (context = co_hash_map_next(&p2p->contexts, &position, NULL)) != NULL) {
        co_p2p_context_end(context);
    }
    co_hash_map_close(&p2p->contexts);
    while (p2p->spare_count > 0) {
        co_zeroed_pages_give(p2p->spare[--p2p->spare_count], co_matcher_bytes(&p2p->config.matcher));
    }
    if (p2p->ended != NULL) {
        co_hash_map_close(&p2p->ended->ids);
        free(p2p->ended);
    }
}
