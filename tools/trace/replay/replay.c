// SPDX-License-Identifier: BSD-3-Clause
//
// Who goes on next: of the ranks that do not wait the one with the least time, which is its own time and what it had to
// wait for others.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/replay/replay_state.h"

enum { PROGRESS_EVENTS = 1 << 16 };

static bool is_before(const struct co_replay_rank *a, const struct co_replay_rank *b)
{
    return a->now_ns != b->now_ns ? a->now_ns < b->now_ns : a->rank < b->rank;
}

void co_replay_queue_rank(struct co_replay *replay, struct co_replay_rank *rank)
{
    uint32_t at = replay->heap_count++;
    while (at > 0 && is_before(rank, replay->heap[(at - 1) / 2])) {
        replay->heap[at] = replay->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    replay->heap[at] = rank;
    rank->is_queued = true;
}

static struct co_replay_rank *heap_pop(struct co_replay *replay)
{
    struct co_replay_rank *first = replay->heap[0], *last = replay->heap[--replay->heap_count];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < replay->heap_count) {
        child += child + 1 < replay->heap_count && is_before(replay->heap[child + 1], replay->heap[child]);
        if (!is_before(replay->heap[child], last)) {
            break;
        }
        replay->heap[at] = replay->heap[child];
        at = child;
    }
    replay->heap[at] = last;
    first->is_queued = false;
    return first;
}

// Its time, from its next event.
static void set_time(struct co_replay_rank *rank, const struct co_event *event)
{
    uint64_t now = event->time_ns + rank->shift_ns;
    rank->now_ns = now > rank->now_ns ? now : rank->now_ns;
}

void co_replay_wake(struct co_replay *replay, struct co_replay_rank *rank, uint64_t now_ns)
{
    if (now_ns > rank->now_ns) {
        rank->shift_ns += now_ns - rank->now_ns;
        rank->now_ns = now_ns;
    }
    if (!rank->is_queued) {
        co_replay_queue_rank(replay, rank);
    }
}

void co_replay_feed(struct co_replay *replay)
{
    for (size_t i = 0; replay->error == 0 && i < replay->result->matcher_count; i++) {
        replay->error = co_replay_side_feed(replay->sides[i], replay->steps, replay->step_count);
    }
    replay->step_count = 0;
}

void co_replay_step(void *arg, const struct co_replay_step *step)
{
    struct co_replay *replay = arg;
    replay->steps[replay->step_count++] = *step;
    if (replay->step_count == CO_REPLAY_STEPS) {
        co_replay_feed(replay);
    }
}

void co_replay_count_depth(struct co_replay *replay, struct co_replay_rank *rank)
{
    struct co_replay_result *result = replay->result;
    uint64_t span = result->span_ns > 0 ? result->span_ns : 1, part = replay->clock_ns / (span / CO_REPLAY_TIMES + 1);
    struct co_replay_moment *moment = &result->moments[part < CO_REPLAY_TIMES ? part : CO_REPLAY_TIMES - 1];
    moment->posted = rank->posted > moment->posted ? rank->posted : moment->posted;
    moment->unexpected = rank->unexpected > moment->unexpected ? rank->unexpected : moment->unexpected;
    result->posted_most = rank->posted > result->posted_most ? rank->posted : result->posted_most;
    result->unexpected_most = rank->unexpected > result->unexpected_most ? rank->unexpected : result->unexpected_most;
    replay->posted_sum += rank->posted;
    replay->unexpected_sum += rank->unexpected;
    replay->depth_samples++;
}

static void count_once(struct co_replay *replay, struct co_hash_map *map, uint64_t key, uint64_t *counter)
{
    int error = co_hash_map_put(map, key, map);
    *counter += error == 0;
    replay->error = error == -ENOMEM ? error : replay->error;
}

static void count_receive(struct co_replay *replay, const struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_result *result = replay->result;
    unsigned class = (event->peer == CO_CALL_ANY ? 1U : 0U) | (event->tag == CO_CALL_ANY ? 2U : 0U);
    uint64_t key = ((uint64_t)(uint32_t)event->peer << 32 | (uint32_t)event->tag) ^ (uint64_t)(uint32_t)rank->rank
                                                                                        << 44;
    result->receives++;
    result->by_class[class]++;
    count_once(replay, &replay->source_tags, key, &result->source_tags);
}

static void make_communicator(struct co_replay *replay, struct co_replay_rank *rank)
{
    struct co_event event = *co_event_reader_peek(&rank->events);
    const struct co_event *more;
    bool has_list = event.flags == CO_COMM_BY_LEADERS || event.flags == CO_COMM_BY_GROUP ||
                    event.flags == CO_COMM_BY_PART || event.flags == CO_COMM_BY_MEMBERS ||
                    event.flags == CO_COMM_BETWEEN;
    uint32_t wanted = event.tag > 0 && has_list ? (uint32_t)event.tag : 0;
    uint32_t count = 0, room = 0;
    int32_t *ranks = NULL;
    co_event_reader_move_on(&rank->events);
    while (count < wanted && (more = co_event_reader_peek(&rank->events)) != NULL && more->op == CO_EVENT_NUMBERS) {
        uint32_t some = wanted - count < CO_EVENT_NUMBERS_MAX ? wanted - count : CO_EVENT_NUMBERS_MAX;
        if (count + CO_EVENT_NUMBERS_MAX > room) {
            room = room == 0 ? 64 : 2 * room;
            int32_t *larger = realloc(ranks, room * sizeof *ranks);
            if (larger == NULL) {
                replay->error = -ENOMEM;
                break;
            }
            ranks = larger;
        }
        memcpy(ranks + count, (const char *)more + offsetof(struct co_event, comm), some * sizeof *ranks);
        count += some;
        co_event_reader_move_on(&rank->events);
    }
    co_replay_make(replay, rank, &event, ranks, count);
    free(ranks);
}

// One event. What waits for a message stays where it is, and is looked at again.
static void execute(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    bool has_moved = false;
    switch (event->op) {
    case CO_EVENT_SEND:
        co_replay_send(replay, rank, event);
        count_once(replay, &replay->tags, (uint64_t)(uint32_t)event->tag, &replay->result->tags);
        break;
    case CO_EVENT_POST:
        count_receive(replay, rank, event);
        co_replay_post(replay, rank, event);
        break;
    case CO_EVENT_DONE:
        co_replay_done(replay, rank, event);
        has_moved = rank->wait != CO_WAIT_NOT;
        break;
    case CO_EVENT_CANCEL:
        co_replay_cancel(rank, event);
        break;
    case CO_EVENT_PROBE:
    case CO_EVENT_TAKE:
        has_moved = !co_replay_probe(replay, rank, event);
        replay->result->probes += !has_moved;
        if (!has_moved && event->op == CO_EVENT_TAKE) {
            count_receive(replay, rank, event); // what MPI_Mrecv gets
        }
        break;
    case CO_EVENT_COMM:
        make_communicator(replay, rank);
        has_moved = true;
        break;
    case CO_EVENT_RANK:
    case CO_EVENT_SIZE:
        co_replay_check(replay, rank, event);
        break;
    case CO_EVENT_TOGETHER:
    case CO_EVENT_FROM_ROOT:
    case CO_EVENT_TO_ROOT:
        co_replay_enter(replay, rank, event);
        break;
    default:
        break;
    }
    if (!has_moved) {
        co_event_reader_move_on(&rank->events);
        rank->is_let_go = false;
    }
}

static void go_on(struct co_replay *replay, struct co_replay_rank *rank)
{
    const struct co_event *event = co_event_reader_peek(&rank->events);
    if (event == NULL) {
        rank->wait = CO_WAIT_OVER;
        co_replay_leave(replay, rank);
        return;
    }
    set_time(rank, event);
    if (replay->heap_count > 0 && is_before(replay->heap[0], rank)) {
        co_replay_queue_rank(replay, rank); // its turn comes later
        return;
    }
    replay->clock_ns = rank->now_ns;
    execute(replay, rank, event);
    replay->done++;
    if (rank->wait == CO_WAIT_NOT && !rank->is_queued) {
        co_replay_queue_rank(replay, rank);
    }
}

// Nobody can go on: what was held back arrives, or the one that has waited longest goes on without.
static bool unlock(struct co_replay *replay)
{
    struct co_replay_rank *eldest = NULL;
    for (uint32_t i = 0; i < replay->size; i++) {
        struct co_replay_rank *rank = &replay->ranks[i];
        if (!rank->is_traced || rank->wait == CO_WAIT_NOT || rank->wait == CO_WAIT_OVER) {
            continue;
        }
        if (co_replay_release(replay, rank)) {
            return true;
        }
        eldest = eldest == NULL || is_before(rank, eldest) ? rank : eldest;
    }
    if (eldest != NULL) {
        replay->result->forced++;
        eldest->is_let_go = eldest->wait == CO_WAIT_RECEIVE || eldest->wait == CO_WAIT_PROBE;
        eldest->wait = CO_WAIT_NOT;
        co_replay_queue_rank(replay, eldest);
    }
    return eldest != NULL;
}

void co_replay_go(struct co_replay *replay, void (*progress)(void *arg, uint64_t done, uint64_t all), void *arg)
{
    uint64_t told = 0;
    do {
        while (replay->heap_count > 0 && replay->error == 0) {
            go_on(replay, heap_pop(replay));
            if (progress != NULL && replay->done - told >= PROGRESS_EVENTS) {
                told = replay->done;
                progress(arg, replay->done, replay->all_events);
            }
        }
    } while (replay->error == 0 && unlock(replay));
}
