// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that wait. Every index is in order of arrival, so the first that fits is the eldest. Called with the
// communicator's lock. Hot where programs send before they receive.
#include "matching/unexpected.h"

#include "matching/match_steps.h"

size_t co_unexpected_bytes(uint32_t places, uint32_t bins)
{
    return places * sizeof(struct co_unexpected_message) +
           ((size_t)CO_MATCH_HASHED * bins + 1) * sizeof(struct co_match_bin);
}

void co_unexpected_open(struct co_unexpected *store, void *memory, uint32_t places, uint32_t bins)
{
    *store = (struct co_unexpected){.table = memory, .places = places, .bin_mask = bins - 1, .next_label = 1};
    store->bins = (struct co_match_bin *)(store->table + places);
}

static struct co_unexpected_message *message_at(const struct co_unexpected *store, uint32_t link)
{
    return &store->table[link - 1];
}

static uint32_t message_bin(const struct co_unexpected *store, int class, uint32_t hash)
{
    uint32_t bins = store->bin_mask + 1;
    return (uint32_t) class * bins + (class == CO_MATCH_ANY_BOTH ? 0 : hash & store->bin_mask);
}

static uint32_t place_take(struct co_unexpected *store)
{
    uint32_t link = store->freed;
    if (link != 0) {
        store->freed = message_at(store, link)->free_next;
    } else if (store->fresh < store->places) {
        link = ++store->fresh;
    }
    return link;
}

// Behind all that arrived earlier: the last place, but for one that was taken and is put back.
static void list_link_by_label(struct co_unexpected *store, int class, uint32_t bin_index, uint32_t link)
{
    struct co_match_bin *bin = &store->bins[bin_index];
    struct co_unexpected_message *message = message_at(store, link);
    uint32_t before = bin->last;
    while (before != 0 && message_at(store, before)->label > message->label) {
        before = message_at(store, before)->in[class].previous;
    }
    uint32_t after = before == 0 ? bin->first : message_at(store, before)->in[class].next;
    message->in[class].previous = before;
    message->in[class].next = after;
    message->in[class].bin = bin_index;
    *(before == 0 ? &bin->first : &message_at(store, before)->in[class].next) = link;
    *(after == 0 ? &bin->last : &message_at(store, after)->in[class].previous) = link;
}

static void table_enter(struct co_unexpected *store, struct co_match_node *node, const struct co_match_hashes *hashes,
                        uint32_t link)
{
    struct co_unexpected_message *message = message_at(store, link);
    message->label = node->label;
    message->node = node;
    message->source = node->source;
    message->tag = node->tag;
    node->place = link;
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        uint32_t hash = class == CO_MATCH_ANY_BOTH ? 0 : hashes->of[class];
        list_link_by_label(store, class, message_bin(store, class, hash), link);
    }
    store->count++;
}

// What has no place gets one, the eldest first.
static void table_return_from_list(struct co_unexpected *store)
{
    uint32_t link;
    while (store->rest.first != NULL && (link = place_take(store)) != 0) {
        struct co_match_node *eldest = store->rest.first;
        struct co_match_hashes hashes = co_match_hashes_of(eldest->source, eldest->tag);
        co_match_list_remove(&store->rest, eldest);
        table_enter(store, eldest, &hashes, link);
    }
}

// Each new bin takes from one old one, so it is in order, too.
static void bins_enter(struct co_unexpected *store, const struct co_unexpected *old)
{
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        uint32_t bins = class == CO_MATCH_ANY_BOTH ? 1 : old->bin_mask + 1;
        for (uint32_t i = 0; i < bins; i++) {
            for (uint32_t link = old->bins[message_bin(old, class, i)].first; link != 0;
                 link = message_at(old, link)->in[class].next) {
                const struct co_unexpected_message *message = message_at(store, link);
                uint32_t hash = class == CO_MATCH_ANY_BOTH
                                    ? 0
                                    : co_match_hash((enum co_match_class) class, message->source, message->tag);
                list_link_by_label(store, class, message_bin(store, class, hash), link);
            }
        }
    }
}

void co_unexpected_move(struct co_unexpected *store, void *memory, uint32_t places, uint32_t bins)
{
    const struct co_unexpected old = *store;
    store->table = memory;
    store->places = places;
    store->bins = (struct co_match_bin *)(store->table + places);
    store->bin_mask = bins - 1;
    for (uint32_t i = 0; i < old.fresh; i++) {
        store->table[i] = old.table[i];
    }
    bins_enter(store, &old);
    table_return_from_list(store);
}

void co_unexpected_append(struct co_unexpected *store, struct co_match_node *message,
                          const struct co_match_hashes *hashes)
{
    message->label = store->next_label++;
    message->place = 0;
    uint32_t link = store->rest.count == 0 ? place_take(store) : 0;
    if (link != 0) {
        table_enter(store, message, hashes, link);
    } else {
        co_match_list_add(&store->rest, message);
    }
}

// It may be elder than what is in the list, and find the table full: then it leads the list, and the table's younger
// ones are still found in the right order because a search compares labels.
void co_unexpected_put_back(struct co_unexpected *store, struct co_match_node *message)
{
    struct co_match_hashes hashes = co_match_hashes_of(message->source, message->tag);
    bool precedes_list = store->rest.first == NULL || message->label < store->rest.first->label;
    uint32_t link = precedes_list ? place_take(store) : 0;
    message->place = 0;
    if (link != 0) {
        table_enter(store, message, &hashes, link);
    } else {
        co_match_list_add(&store->rest, message);
    }
}

static void table_leave(struct co_unexpected *store, uint32_t link)
{
    struct co_unexpected_message *message = message_at(store, link);
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        struct co_match_bin *bin = &store->bins[message->in[class].bin];
        uint32_t next = message->in[class].next, previous = message->in[class].previous;
        *(previous == 0 ? &bin->first : &message_at(store, previous)->in[class].next) = next;
        *(next == 0 ? &bin->last : &message_at(store, next)->in[class].previous) = previous;
    }
    message->free_next = store->freed;
    store->freed = link;
    store->count--;
}

void co_unexpected_remove(struct co_unexpected *store, struct co_match_node *message)
{
    if (message->place == 0) {
        co_match_list_remove(&store->rest, message);
        return;
    }
    table_leave(store, message->place);
    table_return_from_list(store);
}

static const struct co_unexpected_message *table_find(const struct co_unexpected *store, int32_t source, int32_t tag)
{
    int class = (int)co_match_class_of(source, tag);
    uint32_t hash = class == CO_MATCH_ANY_BOTH ? 0 : co_match_hash((enum co_match_class) class, source, tag);
    for (uint32_t link = store->bins[message_bin(store, class, hash)].first; link != 0;) {
        const struct co_unexpected_message *message = message_at(store, link);
        CO_MATCH_COUNT(walked);
        if (co_match_fits(source, tag, message->source, message->tag)) {
            return message;
        }
        link = message->in[class].next;
    }
    return NULL;
}

struct co_match_node *co_unexpected_find(const struct co_unexpected *store, int32_t source, int32_t tag)
{
    const struct co_unexpected_message *message = store->count == 0 ? NULL : table_find(store, source, tag);
    uint64_t before = message == NULL ? UINT64_MAX : message->label;
    for (struct co_match_node *node = store->rest.first; node != NULL && node->label < before; node = node->next) {
        CO_MATCH_COUNT(walked);
        if (co_match_fits(source, tag, node->source, node->tag)) {
            return node;
        }
    }
    return message == NULL ? NULL : message->node;
}
