// SPDX-License-Identifier: BSD-3-Clause
//
// Which ranks of a grid one that is cut out of it has; and communicators that could not be followed, or are not what
// was thought. Any numbers may come.
#include <errno.h>
#include <stdlib.h>

#include "tools/trace/replay/replay_state.h"

struct ranks {
    int32_t *at;
    uint32_t count, room;
};

static bool add(struct ranks *ranks, int32_t rank)
{
    if (ranks->count == ranks->room) {
        return false;
    }
    ranks->at[ranks->count++] = rank;
    return true;
}

// Ranks of the grid in the same place as `own` in all directions that are not kept.
static bool expand_part(struct ranks *ranks, const int32_t *numbers, uint32_t count, uint32_t size, uint32_t own)
{
    uint32_t directions = count / 2;
    uint64_t cells = 1;
    for (uint32_t i = 0; i < directions && cells <= size; i++) {
        cells *= numbers[i] > 0 ? (uint64_t)numbers[i] : (uint64_t)size + 1;
    }
    if (count % 2 != 0 || directions == 0 || cells != size || own >= size) {
        return false;
    }
    bool is_sound = true;
    for (uint32_t rank = 0; is_sound && rank < size; rank++) {
        uint32_t rest = rank, own_rest = own;
        bool is_in = true;
        for (uint32_t i = directions; is_in && i-- > 0;) {
            uint32_t length = (uint32_t)numbers[i];
            is_in = numbers[directions + i] != 0 || rest % length == own_rest % length;
            rest /= length;
            own_rest /= length;
        }
        is_sound = !is_in || add(ranks, (int32_t)rank);
    }
    return is_sound;
}

int32_t *co_replay_expand_part(struct co_replay *replay, const struct co_replay_place *parent, const int32_t *numbers,
                               uint32_t count, uint32_t *found)
{
    uint32_t size = parent->comm->count;
    struct ranks ranks = {.room = size};
    ranks.at = malloc(((size_t)size + 1) * sizeof *ranks.at);
    if (ranks.at == NULL) {
        replay->error = -ENOMEM;
        return NULL;
    }
    bool is_sound = expand_part(&ranks, numbers, count, size, parent->own);
    *found = ranks.count;
    if (!is_sound) {
        free(ranks.at);
        return NULL;
    }
    return ranks.at;
}

void co_replay_doubt(struct co_replay *replay, enum co_replay_why why, uint32_t rank, unsigned call)
{
    struct co_replay_result *result = replay->result;
    if (result->doubted++ == 0) {
        result->doubt = why;
        result->doubt_rank = (int32_t)rank;
        result->doubt_call = (uint16_t)call;
    }
}

void co_replay_lose(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number, unsigned call,
                    enum co_replay_why why)
{
    if (number >= CO_COMM_FIRST) { // the rank is a member
        co_replay_doubt(replay, why, (uint32_t)rank->rank, call);
        (void)co_replay_attach(replay, rank, number, NULL);
    }
}

void co_replay_check(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_place *place = co_hash_map_get(&rank->places, event->comm);
    if (place == NULL || place->comm == NULL || place->comm->is_doubted) {
        return;
    }
    if (event->number != (event->op == CO_EVENT_RANK ? place->own : place->comm->count)) {
        place->comm->is_doubted = true;
        co_replay_doubt(replay, CO_WHY_MISFIT, (uint32_t)rank->rank, event->call);
    } else if (event->op == CO_EVENT_RANK && !place->is_told) {
        place->is_told = true;
        place->comm->told++;
    }
}
