// SPDX-License-Identifier: BSD-3-Clause
//
// The receives and messages of one rank in one communicator: two plain lists, searched in order, as MPI wants it. What
// happens to them is also handed on as a stream of steps, which other matchers repeat and compare. Messages and
// receives that wait have slots; a slot is used again only when many others have been, for who repeats the steps may be
// a block of messages behind. One thread.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_QUEUE_H
#define CASTOFF_TOOLS_TRACE_REPLAY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum co_step_kind { CO_STEP_ARRIVE, CO_STEP_POST, CO_STEP_TAKE, CO_STEP_CANCEL };

struct co_replay_step {
    uint32_t queue;
    uint32_t slot;    // of the message, or of the receive
    uint32_t partner; // slot plus one of what it is matched with; 0: it waits
    int32_t source, tag;
    uint32_t kind;
};

// A message or a receive.
struct co_queue_item {
    struct co_queue_item *next, *previous;
    int32_t source, tag;         // of a receive: CO_CALL_ANY too
    int32_t got_source, got_tag; // that the trace tells; CO_CALL_NOT_KNOWN
    uint32_t slot;
    uint32_t number; // of the receive
    uint64_t bytes;
};

struct co_queue_list {
    struct co_queue_item *first, *last;
    uint32_t count;
};

struct co_queue_slots {
    uint32_t *freed; // a ring
    uint32_t room, first, count, made;
};

struct co_queue {
    uint32_t index;
    struct co_queue_list posted, unexpected;
    struct co_queue_list held; // sent, but they may not have arrived yet
    struct co_queue_slots receive_slots, message_slots;
    struct co_queue_item *spare;
    void (*step)(void *arg, const struct co_replay_step *step);
    void *arg;
};

struct co_queue_item *co_queue_item_new(struct co_queue *queue, int32_t source, int32_t tag);
void co_queue_close(struct co_queue *queue);

// An item's fate: what it is matched with, which the caller frees, too; NULL: it waits.
struct co_queue_item *co_queue_arrive(struct co_queue *queue, struct co_queue_item *message);
struct co_queue_item *co_queue_post(struct co_queue *queue, struct co_queue_item *receive);
void co_queue_item_free(struct co_queue *queue, struct co_queue_item *item);

// The eldest message that such a receive would take; it stays, or goes.
struct co_queue_item *co_queue_probe(const struct co_queue *queue, int32_t source, int32_t tag);
void co_queue_take(struct co_queue *queue, struct co_queue_item *message, int32_t source, int32_t tag);
void co_queue_cancel(struct co_queue *queue, struct co_queue_item *receive);

// The receive that such a message would find.
struct co_queue_item *co_queue_find_posted(const struct co_queue *queue, int32_t source, int32_t tag);

void co_queue_list_add(struct co_queue_list *list, struct co_queue_item *item);
void co_queue_list_remove(struct co_queue_list *list, struct co_queue_item *item);
bool co_queue_fits(int32_t receive_source, int32_t receive_tag, int32_t source, int32_t tag);

#endif
