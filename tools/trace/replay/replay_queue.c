// SPDX-License-Identifier: BSD-3-Clause
//
// Two lists and greedy matching.
#include "tools/trace/replay/replay_queue.h"

#include <stdlib.h>

#include "tools/trace/read/call.h"

enum { SLOTS_APART = 2 * 64 }; // more than a block has messages

bool co_queue_fits(int32_t receive_source, int32_t receive_tag, int32_t source, int32_t tag)
{
    return (receive_source == CO_CALL_ANY || receive_source == source) &&
           (receive_tag == CO_CALL_ANY || receive_tag == tag);
}

void co_queue_list_add(struct co_queue_list *list, struct co_queue_item *item)
{
    item->previous = list->last;
    item->next = NULL;
    *(list->last == NULL ? &list->first : &list->last->next) = item;
    list->last = item;
    list->count++;
}

void co_queue_list_remove(struct co_queue_list *list, struct co_queue_item *item)
{
    *(item->previous == NULL ? &list->first : &item->previous->next) = item->next;
    *(item->next == NULL ? &list->last : &item->next->previous) = item->previous;
    list->count--;
}

static uint32_t take_slot(struct co_queue_slots *slots)
{
    if (slots->count <= SLOTS_APART) {
        return slots->made++;
    }
    uint32_t slot = slots->freed[slots->first];
    slots->first = (slots->first + 1) % slots->room;
    slots->count--;
    return slot;
}

// Without memory the slot is lost, which only costs a new one.
static void free_slot(struct co_queue_slots *slots, uint32_t slot)
{
    if (slots->count == slots->room) {
        uint32_t room = slots->room == 0 ? 4 * SLOTS_APART : 2 * slots->room;
        uint32_t *larger = malloc(room * sizeof *larger);
        if (larger == NULL) {
            return;
        }
        for (uint32_t i = 0; i < slots->count; i++) {
            larger[i] = slots->freed[(slots->first + i) % slots->room];
        }
        free(slots->freed);
        slots->freed = larger;
        slots->room = room;
        slots->first = 0;
    }
    slots->freed[(slots->first + slots->count++) % slots->room] = slot;
}

struct co_queue_item *co_queue_item_new(struct co_queue *queue, int32_t source, int32_t tag)
{
    struct co_queue_item *item = queue->spare;
    if (item != NULL) {
        queue->spare = item->next;
    } else if ((item = malloc(sizeof *item)) == NULL) {
        return NULL;
    }
    *item = (struct co_queue_item){
        .source = source, .tag = tag, .got_source = CO_CALL_NOT_KNOWN, .got_tag = CO_CALL_NOT_KNOWN};
    return item;
}

void co_queue_item_free(struct co_queue *queue, struct co_queue_item *item)
{
    item->next = queue->spare;
    queue->spare = item;
}

static void free_items(struct co_queue_item *item)
{
    while (item != NULL) {
        struct co_queue_item *next = item->next;
        free(item);
        item = next;
    }
}

void co_queue_close(struct co_queue *queue)
{
    free_items(queue->posted.first);
    free_items(queue->unexpected.first);
    free_items(queue->held.first);
    free_items(queue->spare);
    free(queue->receive_slots.freed);
    free(queue->message_slots.freed);
}

static void tell(struct co_queue *queue, enum co_step_kind kind, const struct co_queue_item *item,
                 const struct co_queue_item *partner)
{
    struct co_replay_step step = {.queue = queue->index,
                                  .slot = item->slot,
                                  .partner = partner == NULL ? 0 : partner->slot + 1,
                                  .source = item->source,
                                  .tag = item->tag,
                                  .kind = (uint32_t)kind};
    queue->step(queue->arg, &step);
}

struct co_queue_item *co_queue_find_posted(const struct co_queue *queue, int32_t source, int32_t tag)
{
    struct co_queue_item *receive = queue->posted.first;
    while (receive != NULL && !co_queue_fits(receive->source, receive->tag, source, tag)) {
        receive = receive->next;
    }
    return receive;
}

struct co_queue_item *co_queue_arrive(struct co_queue *queue, struct co_queue_item *message)
{
    struct co_queue_item *receive = co_queue_find_posted(queue, message->source, message->tag);
    message->slot = take_slot(&queue->message_slots);
    tell(queue, CO_STEP_ARRIVE, message, receive);
    if (receive == NULL) {
        co_queue_list_add(&queue->unexpected, message);
        return NULL;
    }
    co_queue_list_remove(&queue->posted, receive);
    free_slot(&queue->receive_slots, receive->slot);
    free_slot(&queue->message_slots, message->slot);
    return receive;
}

struct co_queue_item *co_queue_probe(const struct co_queue *queue, int32_t source, int32_t tag)
{
    struct co_queue_item *message = queue->unexpected.first;
    while (message != NULL && !co_queue_fits(source, tag, message->source, message->tag)) {
        message = message->next;
    }
    return message;
}

struct co_queue_item *co_queue_post(struct co_queue *queue, struct co_queue_item *receive)
{
    struct co_queue_item *message = co_queue_probe(queue, receive->source, receive->tag);
    receive->slot = take_slot(&queue->receive_slots);
    tell(queue, CO_STEP_POST, receive, message);
    if (message == NULL) {
        co_queue_list_add(&queue->posted, receive);
        return NULL;
    }
    co_queue_list_remove(&queue->unexpected, message);
    free_slot(&queue->receive_slots, receive->slot);
    free_slot(&queue->message_slots, message->slot);
    return message;
}

void co_queue_take(struct co_queue *queue, struct co_queue_item *message, int32_t source, int32_t tag)
{
    struct co_queue_item asked = {.source = source, .tag = tag, .slot = message->slot};
    tell(queue, CO_STEP_TAKE, &asked, message);
    co_queue_list_remove(&queue->unexpected, message);
    free_slot(&queue->message_slots, message->slot);
}

void co_queue_cancel(struct co_queue *queue, struct co_queue_item *receive)
{
    tell(queue, CO_STEP_CANCEL, receive, NULL);
    co_queue_list_remove(&queue->posted, receive);
    free_slot(&queue->receive_slots, receive->slot);
}
