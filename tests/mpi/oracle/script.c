// SPDX-License-Identifier: BSD-3-Clause
// The same draws on all ranks: nothing here depends on which one it is, but for the handles.
#include "oracle/script.h"

#include "oracle/parcel.h"
#include "oracle/verdict.h"

#include <stdlib.h>

static unsigned draw(struct co_script *script, unsigned limit)
{
    return co_parcel_random(&script->random, limit);
}

static size_t draw_bytes(struct co_script *script)
{
    switch (draw(script, 8)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return 1 + draw(script, 64);
    case 3:
    case 4:
        return 1 + draw(script, 5000);
    case 5:
        return 8000 + draw(script, 20000);
    case 6:
        return 60000 + draw(script, 12000);
    default:
        return 100000 + draw(script, CO_SCRIPT_BYTES - 100000);
    }
}

static int draw_group(struct co_script *script)
{
    int group;
    do {
        group = (int)draw(script, CO_SCRIPT_GROUPS);
    } while (script->groups[group].size == 0);
    return group;
}

bool co_script_same_key(const struct co_script_message *a, const struct co_script_message *b)
{
    return a->group == b->group && a->destination == b->destination && a->is_wild == b->is_wild &&
           (a->is_wild || (a->source == b->source && a->tag == b->tag));
}

static int in_order(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

// Messages with the same source, destination and tag are received in the order in which they are sent.
static void order_equal_messages(struct co_script *script)
{
    bool is_done[CO_SCRIPT_MESSAGES] = {false};
    for (int i = 0; i < script->message_count; i++) {
        int sent[CO_SCRIPT_MESSAGES], received[CO_SCRIPT_MESSAGES], equal[CO_SCRIPT_MESSAGES], count = 0;
        for (int j = i; j < script->message_count && !is_done[i]; j++) {
            if (co_script_same_key(&script->messages[i], &script->messages[j])) {
                sent[count] = script->messages[j].sent_at;
                received[count] = script->messages[j].received_at;
                equal[count++] = j;
            }
        }
        qsort(sent, (size_t)count, sizeof(int), in_order);
        qsort(received, (size_t)count, sizeof(int), in_order);
        for (int k = 0; k < count; k++) {
            script->messages[equal[k]].sent_at = sent[k];
            script->messages[equal[k]].received_at = received[k];
            is_done[equal[k]] = true;
        }
    }
}

static void draw_message(struct co_script *script, struct co_script_message *message)
{
    int group = draw_group(script);
    *message = (struct co_script_message){
        .group = group,
        .source = (int)draw(script, (unsigned)script->groups[group].size),
        .destination = (int)draw(script, (unsigned)script->groups[group].size),
        .tag = (int)draw(script, CO_SCRIPT_TAGS),
        .bytes = draw_bytes(script),
        .seed = ((uint64_t)draw(script, 1u << 30) << 16) | draw(script, 1u << 16),
    };
    message->is_wild = script->groups[group].is_wild[message->destination];
}

static void draw_collective(struct co_script *script, struct co_script_event *event)
{
    event->kind = CO_SCRIPT_BARRIER + (enum co_script_kind)draw(script, CO_SCRIPT_KINDS - CO_SCRIPT_BARRIER);
    event->index = draw_group(script);
    event->root = (int)draw(script, (unsigned)script->groups[event->index].size);
    event->bytes = draw_bytes(script);
    if (event->kind == CO_SCRIPT_ALLTOALL || event->kind == CO_SCRIPT_IALLTOALL) {
        event->bytes /= CO_SCRIPT_RANKS;
    } else if (event->kind != CO_SCRIPT_BCAST && event->kind != CO_SCRIPT_IBCAST &&
               event->kind != CO_SCRIPT_BCAST_INIT) {
        event->bytes /= 4;
    }
    event->seed = ((uint64_t)draw(script, 1u << 30) << 16) | draw(script, 1u << 16);
    if (event->kind == CO_SCRIPT_RING) {
        for (int i = 0; i < script->groups[event->index].size; i++) {
            if (script->groups[event->index].is_wild[i]) {
                event->kind = CO_SCRIPT_ALLGATHER;
            }
        }
    }
}

// Both halves of each message and the collectives, each at a place of its own.
void co_script_draw(struct co_script *script)
{
    for (int i = 0; i < CO_SCRIPT_GROUPS; i++) {
        for (int j = 0; j < CO_SCRIPT_RANKS; j++) {
            script->groups[i].is_wild[j] = draw(script, 4) == 0;
        }
    }
    script->message_count = (int)draw(script, CO_SCRIPT_MESSAGES);
    int collectives = (int)draw(script, CO_SCRIPT_COLLECTIVES);
    script->event_count = 2 * script->message_count + collectives;
    int places[CO_SCRIPT_EVENTS];
    for (int i = 0; i < script->event_count; i++) {
        int other = (int)draw(script, (unsigned)i + 1);
        places[i] = places[other];
        places[other] = i;
    }
    for (int i = 0; i < script->message_count; i++) {
        draw_message(script, &script->messages[i]);
        script->messages[i].sent_at = places[2 * i];
        script->messages[i].received_at = places[2 * i + 1];
    }
    order_equal_messages(script);
    for (int i = 0; i < script->message_count; i++) {
        script->events[script->messages[i].sent_at] = (struct co_script_event){.kind = CO_SCRIPT_SEND, .index = i};
        script->events[script->messages[i].received_at] =
            (struct co_script_event){.kind = CO_SCRIPT_RECEIVE, .index = i};
    }
    for (int i = 0; i < collectives; i++) {
        draw_collective(script, &script->events[places[2 * script->message_count + i]]);
    }
}

// How many of the script->messages that could be taken for this one are sent, or received, before a place.
static int count_before(const struct co_script *script, const struct co_script_message *message, int place,
                        bool counts_sent)
{
    int count = 0;
    for (int i = 0; i < script->message_count; i++) {
        count += co_script_same_key(&script->messages[i], message) &&
                 (counts_sent ? script->messages[i].sent_at : script->messages[i].received_at) < place;
    }
    return count;
}

// What others send later in the list may come earlier, and take a receive from anybody.
bool co_script_send_may_block(const struct co_script *script, const struct co_script_message *message)
{
    int place = message->is_wild ? script->event_count : message->sent_at;
    return count_before(script, message, message->sent_at, false) >=
           count_before(script, message, place, true) + !message->is_wild;
}

bool co_script_receive_may_block(const struct co_script *script, const struct co_script_message *message)
{
    return count_before(script, message, message->received_at, true) >
           count_before(script, message, message->received_at, false);
}

const struct co_script_message *co_script_expected(const struct co_script *script,
                                                   const struct co_script_message *model, int source, int before)
{
    const struct co_script_message *next;
    int last = -1;
    do {
        next = NULL;
        for (int i = 0; i < script->message_count; i++) {
            const struct co_script_message *message = &script->messages[i];
            if (co_script_same_key(message, model) && message->source == source && message->sent_at > last &&
                (next == NULL || message->sent_at < next->sent_at)) {
                next = message;
            }
        }
        last = next != NULL ? next->sent_at : last;
    } while (next != NULL && before-- > 0);
    return next;
}

static void set_members(struct co_script_group *group, const struct co_script_group *parent, const int *chosen,
                        int count)
{
    group->size = count;
    group->rank = -1;
    for (int i = 0; i < count; i++) {
        group->members[i] = parent->members[chosen[i]];
        if (group->members[i] == co_test_rank()) {
            group->rank = i;
        }
    }
}

// Two halves by chance, in an order by chance; only one of them is kept as a group.
static void split(struct co_script *script, struct co_script_group *group, const struct co_script_group *parent)
{
    int keys[CO_SCRIPT_RANKS], chosen[CO_SCRIPT_RANKS], count = 0, colors = 1 + (int)draw(script, 2);
    int color_of[CO_SCRIPT_RANKS];
    for (int i = 0; i < parent->size; i++) {
        keys[i] = i;
        color_of[i] = (int)draw(script, (unsigned)colors);
    }
    for (int i = parent->size - 1; i > 0; i--) {
        int other = (int)draw(script, (unsigned)i + 1), key = keys[i];
        keys[i] = keys[other];
        keys[other] = key;
    }
    for (int key = 0; key < parent->size; key++) {
        for (int i = 0; i < parent->size; i++) {
            if (keys[i] == key && color_of[i] == 0) {
                chosen[count++] = i;
            }
        }
    }
    group->comm = MPI_COMM_NULL;
    if (parent->rank >= 0) {
        MPI_Comm_split(parent->comm, color_of[parent->rank] == 0 ? 0 : MPI_UNDEFINED, keys[parent->rank], &group->comm);
    }
    set_members(group, parent, chosen, count);
}

static void make_group(struct co_script *script, int index)
{
    struct co_script_group *group = &script->groups[index];
    const struct co_script_group *parent = &script->groups[draw_group(script)];
    int way = (int)draw(script, 4), all[CO_SCRIPT_RANKS];
    if (way >= 2) {
        split(script, group, parent);
    } else {
        for (int i = 0; i < parent->size; i++) {
            all[i] = i;
        }
        group->comm = MPI_COMM_NULL;
        MPI_Request request;
        if (parent->rank >= 0 && way == 0) {
            MPI_Comm_dup(parent->comm, &group->comm);
        } else if (parent->rank >= 0) {
            MPI_Comm_idup(parent->comm, &group->comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        set_members(group, parent, all, parent->size);
    }
    int rank = -1;
    if (group->comm != MPI_COMM_NULL) {
        MPI_Comm_rank(group->comm, &rank);
    }
    co_test_expect(rank == group->rank, "rank %d of the new communicator, not %d", rank, group->rank);
}

static bool has_pending_collective(const struct co_script *script, int group)
{
    for (int i = 0; i < script->event_count; i++) {
        if (script->events[i].kind >= CO_SCRIPT_IBCAST && script->events[i].index == group) {
            return true;
        }
    }
    return false;
}

void co_script_free_groups(struct co_script *script)
{
    for (int i = 1; i < CO_SCRIPT_GROUPS; i++) {
        script->groups[i].is_freed =
            script->groups[i].size > 0 && draw(script, 3) == 0 && !has_pending_collective(script, i);
        if (script->groups[i].is_freed && script->groups[i].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&script->groups[i].comm);
        }
    }
}

void co_script_make_groups(struct co_script *script)
{
    for (int i = 1; i < CO_SCRIPT_GROUPS; i++) {
        script->groups[i].size = script->groups[i].is_freed ? 0 : script->groups[i].size;
    }
    for (int i = 1; i < CO_SCRIPT_GROUPS; i++) {
        if (script->groups[i].size == 0 && draw(script, 2) == 0) {
            make_group(script, i);
        }
    }
}

void co_script_begin(struct co_script *script, uint64_t seed)
{
    *script = (struct co_script){.random = seed};
    struct co_script_group *world = &script->groups[0];
    world->comm = MPI_COMM_WORLD;
    world->size = co_test_size();
    world->rank = co_test_rank();
    for (int i = 0; i < world->size; i++) {
        world->members[i] = i;
    }
}

void co_script_end(struct co_script *script)
{
    for (int i = 1; i < CO_SCRIPT_GROUPS; i++) {
        if (script->groups[i].size > 0 && script->groups[i].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&script->groups[i].comm);
        }
    }
}
