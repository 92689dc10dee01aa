// SPDX-License-Identifier: BSD-3-Clause
//
// Receives that wait. A message looks into at most one bin of each class that has members at all, and takes the one
// with the least label. Called with the communicator's lock; the lanes of a batch read beside each other. Hot.
#include "matching/posted.h"

#include "base/atomics.h"
#include "matching/match_steps.h"

size_t co_posted_bytes(uint32_t places, uint32_t bins)
{
    return places * sizeof(struct co_posted_receive) +
           ((size_t)CO_MATCH_HASHED * bins + 1) * sizeof(struct co_match_bin);
}

void co_posted_open(struct co_posted *posted, void *memory, uint32_t places, uint32_t bins)
{
    *posted = (struct co_posted){.table = memory, .places = places, .bin_mask = bins - 1, .next_label = 1};
    posted->bins = (struct co_match_bin *)(posted->table + places);
}

// A place that is free, plus one; 0: none.
static uint32_t place_take(struct co_posted *posted)
{
    uint32_t link = posted->freed;
    if (link != 0) {
        posted->freed = co_posted_at(posted, link)->next;
    } else if (posted->fresh < posted->places) {
        link = ++posted->fresh;
    }
    return link;
}

static void sequence_join(struct co_posted *posted, struct co_posted_receive *receive)
{
    if (posted->open_sequence == 0 || posted->open_source != receive->source || posted->open_tag != receive->tag) {
        posted->open_sequence = receive->label;
        posted->open_source = receive->source;
        posted->open_tag = receive->tag;
    }
    receive->sequence = posted->open_sequence;
}

static void list_link_last(struct co_posted *posted, struct co_match_bin *bin, uint32_t link)
{
    struct co_posted_receive *receive = co_posted_at(posted, link);
    receive->next = 0;
    receive->previous = bin->last;
    *(bin->last == 0 ? &bin->first : &co_posted_at(posted, bin->last)->next) = link;
    bin->last = link;
}

// Labels in the table are less than all in the list, so the end of its bin is the place of whatever comes next.
static void table_enter(struct co_posted *posted, struct co_match_node *node, uint32_t link)
{
    struct co_posted_receive *receive = co_posted_at(posted, link);
    enum co_match_class class = co_match_class_of(node->source, node->tag);
    receive->label = node->label;
    receive->node = node;
    receive->source = node->source;
    receive->tag = node->tag;
    co_store_relaxed(&receive->booked, 0); // relaxed: the next batch sees it, for it begins with the lock
    co_store_relaxed(&receive->taken, 0);
    struct co_match_bin *bin = co_posted_bin(posted, class, co_match_hash(class, node->source, node->tag));
    receive->bin = (uint32_t)(bin - posted->bins);
    CO_MATCH_COUNT_IF(bin->first != 0, collisions);
    CO_MATCH_COUNT_IF(bin->first == 0 && class == CO_MATCH_EXACT, bins_filled);
    node->place = link;
    sequence_join(posted, receive);
    list_link_last(posted, bin, link);
    posted->count[class]++;
}

void co_posted_append(struct co_posted *posted, struct co_match_node *receive)
{
    receive->label = posted->next_label++;
    receive->place = 0;
    receive->waits = true;
    uint32_t link = posted->rest.count == 0 ? place_take(posted) : 0;
    if (link != 0) {
        table_enter(posted, receive, link);
    } else {
        co_match_list_add(&posted->rest, receive);
    }
}

// What has no place gets one, the eldest first.
static void table_return_from_list(struct co_posted *posted)
{
    uint32_t link;
    while (posted->rest.first != NULL && (link = place_take(posted)) != 0) {
        struct co_match_node *eldest = posted->rest.first;
        co_match_list_remove(&posted->rest, eldest);
        table_enter(posted, eldest, link);
    }
}

// Each new bin takes from one old one, so it is in order, too.
static void bins_enter(struct co_posted *posted, const struct co_posted *old)
{
    size_t bins = (size_t)CO_MATCH_HASHED * ((size_t)old->bin_mask + 1) + 1;
    for (size_t i = 0; i < bins; i++) {
        for (uint32_t link = old->bins[i].first; link != 0; link = co_posted_at(old, link)->next) {
            struct co_posted_receive *receive = co_posted_at(posted, link);
            enum co_match_class class = co_match_class_of(receive->source, receive->tag);
            struct co_match_bin *bin =
                co_posted_bin(posted, class, co_match_hash(class, receive->source, receive->tag));
            receive->bin = (uint32_t)(bin - posted->bins);
            list_link_last(posted, bin, link);
        }
    }
}

void co_posted_move(struct co_posted *posted, void *memory, uint32_t places, uint32_t bins)
{
    const struct co_posted old = *posted;
    posted->table = memory;
    posted->places = places;
    posted->bins = (struct co_match_bin *)(posted->table + places);
    posted->bin_mask = bins - 1;
    for (uint32_t i = 0; i < old.fresh; i++) {
        posted->table[i] = old.table[i];
    }
    bins_enter(posted, &old);
    table_return_from_list(posted);
}

// In a flood the next message takes the next receive of the bin. What stands around the node is the caller's.
static inline void bin_fetch_ahead(const struct co_match_node *node)
{
    __builtin_prefetch(node);
    __builtin_prefetch((const char *)node + CO_CACHE_LINE);
}

static void table_leave(struct co_posted *posted, uint32_t link)
{
    struct co_posted_receive *receive = co_posted_at(posted, link);
    struct co_match_bin *bin = &posted->bins[receive->bin];
    *(receive->previous == 0 ? &bin->first : &co_posted_at(posted, receive->previous)->next) = receive->next;
    if (receive->next == 0) {
        bin->last = receive->previous;
    } else {
        struct co_posted_receive *next = co_posted_at(posted, receive->next);
        next->previous = receive->previous;
        bin_fetch_ahead(next->node);
    }
    CO_MATCH_COUNT_IF(bin->first == 0 && co_match_class_of(receive->source, receive->tag) == CO_MATCH_EXACT,
                      bins_emptied);
    posted->count[co_match_class_of(receive->source, receive->tag)]--;
    receive->next = posted->freed;
    posted->freed = link;
}

static inline void receive_take_out(struct co_posted *posted, struct co_match_node *receive)
{
    receive->waits = false;
    if (receive->place == 0) {
        co_match_list_remove(&posted->rest, receive);
        return;
    }
    table_leave(posted, receive->place);
    table_return_from_list(posted);
}

void co_posted_remove(struct co_posted *posted, struct co_match_node *receive)
{
    receive_take_out(posted, receive);
}

static const struct co_posted_receive *
chain_first_that_fits(const struct co_posted *posted, const struct co_match_bin *bin, int32_t source, int32_t tag)
{
    for (uint32_t link = bin->first; link != 0;) {
        const struct co_posted_receive *receive = co_posted_at(posted, link);
        CO_MATCH_COUNT(walked);
        if (co_match_fits(receive->source, receive->tag, source, tag)) {
            return receive;
        }
        link = receive->next;
    }
    return NULL;
}

static struct co_match_node *list_find(const struct co_posted *posted, int32_t source, int32_t tag)
{
    struct co_match_node *node = posted->rest.first;
    while (node != NULL && !co_match_fits(node->source, node->tag, source, tag)) {
        CO_MATCH_COUNT(walked);
        node = node->next;
    }
    return node;
}

static inline const struct co_posted_receive *class_find(const struct co_posted *posted, enum co_match_class class,
                                                         int32_t source, int32_t tag,
                                                         const struct co_match_hashes *hashes)
{
    if (posted->count[class] == 0) {
        return NULL;
    }
    uint32_t hash = class == CO_MATCH_ANY_BOTH ? 0
                    : hashes != NULL           ? hashes->of[class]
                                               : co_match_hash(class, source, tag);
    return chain_first_that_fits(posted, co_posted_bin(posted, class, hash), source, tag);
}

// With a wildcard, where one was posted before `found`.
static const struct co_posted_receive *class_find_earlier(const struct co_posted *posted, int32_t source, int32_t tag,
                                                          const struct co_match_hashes *hashes,
                                                          const struct co_posted_receive *found)
{
    for (int class = CO_MATCH_ANY_SOURCE; class < CO_MATCH_CLASSES; class ++) {
        const struct co_posted_receive *other = class_find(posted, (enum co_match_class) class, source, tag, hashes);
        if (other != NULL && (found == NULL || other->label < found->label)) {
            found = other;
        }
    }
    return found;
}

static inline struct co_match_node *receive_find(const struct co_posted *posted, int32_t source, int32_t tag,
                                                 const struct co_match_hashes *hashes)
{
    const uint32_t *count = posted->count;
    const struct co_posted_receive *found = class_find(posted, CO_MATCH_EXACT, source, tag, hashes);
    if ((count[CO_MATCH_ANY_SOURCE] | count[CO_MATCH_ANY_TAG] | count[CO_MATCH_ANY_BOTH]) != 0) {
        found = class_find_earlier(posted, source, tag, hashes, found);
    }
    return found != NULL ? found->node : list_find(posted, source, tag);
}

struct co_match_node *co_posted_take(struct co_posted *posted, int32_t source, int32_t tag,
                                     const struct co_match_hashes *hashes)
{
    struct co_match_node *receive = receive_find(posted, source, tag, hashes);
    if (receive != NULL) {
        receive_take_out(posted, receive);
    }
    return receive;
}

void co_posted_visit(const struct co_posted *posted, void (*visit)(struct co_match_node *receive, void *arg), void *arg)
{
    size_t bins = (size_t)CO_MATCH_HASHED * ((size_t)posted->bin_mask + 1) + 1;
    for (size_t bin = 0; bin < bins; bin++) {
        for (uint32_t link = posted->bins[bin].first; link != 0; link = co_posted_at(posted, link)->next) {
            visit(co_posted_at(posted, link)->node, arg);
        }
    }
    for (struct co_match_node *node = posted->rest.first; node != NULL; node = node->next) {
        visit(node, arg);
    }
}
