// SPDX-License-Identifier: BSD-3-Clause
//
// Groups that were made of groups (enum co_event_group): the numbers that tell how are gone through with a stack of
// lists of ranks of the world. Any numbers may come.
#include <errno.h>
#include <stdlib.h>

#include "tools/trace/replay/replay_state.h"

enum { STACK_MOST = 64, SET_HEAD = 6 };

struct list {
    int32_t *ranks; // of the world, each once
    uint32_t count;
};

struct machine {
    struct co_replay *replay;
    struct co_replay_rank *rank;
    const int32_t *next, *end;
    struct list stack[STACK_MOST];
    uint32_t depth;
    uint8_t *marks; // by rank of the world; all 0 but while a list is looked at
    bool is_not_told;
};

static bool push(struct machine *machine, uint32_t room)
{
    if (machine->depth == STACK_MOST) {
        return false;
    }
    int32_t *ranks = malloc(((size_t)room + 1) * sizeof *ranks);
    if (ranks == NULL) {
        machine->replay->error = -ENOMEM;
        return false;
    }
    machine->stack[machine->depth++] = (struct list){.ranks = ranks};
    return true;
}

static struct list *top(struct machine *machine)
{
    return &machine->stack[machine->depth - 1];
}

static void pop(struct machine *machine)
{
    free(machine->stack[--machine->depth].ranks);
}

static void mark(struct machine *machine, const struct list *list, uint8_t value)
{
    for (uint32_t i = 0; i < list->count; i++) {
        machine->marks[list->ranks[i]] = value;
    }
}

// False: it is there already, or is none.
static bool add(struct machine *machine, struct list *list, int32_t world_rank)
{
    if (world_rank < 0 || (uint32_t)world_rank >= machine->replay->size || machine->marks[world_rank] != 0) {
        return false;
    }
    machine->marks[world_rank] = 1;
    list->ranks[list->count++] = world_rank;
    return true;
}

// NULL: the rank does not know who is in it.
static const struct co_replay_comm *comm_of(struct machine *machine, uint32_t number, bool is_remote)
{
    const struct co_replay_place *place = number < CO_COMM_FIRST
                                              ? co_replay_place_of(machine->replay, machine->rank, number, 0)
                                              : co_hash_map_get(&machine->rank->places, number);
    const struct co_replay_comm *comm = place == NULL ? NULL : place->comm;
    return comm != NULL && is_remote ? comm->other : comm;
}

// Sizes, the named, and those left out of the rest, ascending, as ranks of the communicator.
static bool fill_set(struct machine *machine, const struct co_replay_comm *comm, const int32_t *numbers)
{
    uint32_t head = (uint32_t)numbers[1], named = head + (uint32_t)numbers[2], all = named + (uint32_t)numbers[3];
    uint32_t size = comm == NULL ? 0 : comm->count, out = named;
    bool has_rest = numbers[0] != 0, is_sound = true;
    struct list *list = top(machine);
    numbers += 4;
    for (uint32_t i = 0; is_sound && i < head; i++) {
        is_sound = comm != NULL && add(machine, list, co_replay_world_rank(comm, numbers[i]));
    }
    for (uint32_t rank = 0; is_sound && has_rest && rank < size; rank++) {
        while (out < all && numbers[out] < (int32_t)rank) {
            out++;
        }
        bool is_out = out < all && numbers[out] == (int32_t)rank;
        is_sound = is_out || add(machine, list, co_replay_world_rank(comm, (int32_t)rank));
    }
    for (uint32_t i = head; is_sound && i < named; i++) {
        is_sound = comm != NULL && add(machine, list, co_replay_world_rank(comm, numbers[i]));
    }
    mark(machine, list, 0);
    return is_sound;
}

static bool take_set(struct machine *machine)
{
    const int32_t *numbers = machine->next;
    uint64_t left = (uint64_t)(machine->end - numbers);
    if (left < SET_HEAD || numbers[3] < 0 || numbers[4] < 0 || numbers[5] < 0 ||
        (uint64_t)numbers[3] + (uint64_t)numbers[4] + (uint64_t)numbers[5] > left - SET_HEAD) {
        return false;
    }
    machine->next += SET_HEAD + numbers[3] + numbers[4] + numbers[5];
    const struct co_replay_comm *comm = comm_of(machine, (uint32_t)numbers[0], numbers[1] != 0);
    bool is_empty = numbers[2] == 0 && numbers[3] == 0 && numbers[4] == 0;
    machine->is_not_told = machine->is_not_told || (comm == NULL && !is_empty);
    return !machine->is_not_told && push(machine, machine->replay->size) && fill_set(machine, comm, numbers + 2);
}

static bool combine(struct machine *machine, unsigned how)
{
    if (machine->depth < 2) {
        return false;
    }
    struct list *left = &machine->stack[machine->depth - 2], *right = top(machine);
    uint32_t kept = 0;
    if (how == CO_GROUP_UNITE) {
        mark(machine, left, 1);
        for (uint32_t i = 0; i < right->count; i++) {
            (void)add(machine, left, right->ranks[i]);
        }
        mark(machine, left, 0);
    } else {
        mark(machine, right, 1);
        for (uint32_t i = 0; i < left->count; i++) {
            bool is_in = machine->marks[left->ranks[i]] != 0;
            left->ranks[kept] = left->ranks[i];
            kept += is_in == (how == CO_GROUP_INTERSECT);
        }
        mark(machine, right, 0);
        left->count = kept;
    }
    pop(machine);
    return true;
}

static bool choose(struct machine *machine, bool is_exclusion)
{
    uint64_t left = (uint64_t)(machine->end - machine->next);
    if (machine->depth == 0 || left < 1 || machine->next[0] < 0 || (uint64_t)machine->next[0] > left - 1) {
        return false;
    }
    uint32_t count = (uint32_t)*machine->next++;
    const int32_t *places = machine->next;
    machine->next += count;
    struct list from = *top(machine);
    if (!push(machine, machine->replay->size)) {
        return false;
    }
    struct list *chosen = top(machine);
    bool is_sound = true;
    for (uint32_t i = 0; is_sound && i < count; i++) {
        is_sound = places[i] >= 0 && (uint32_t)places[i] < from.count && add(machine, chosen, from.ranks[places[i]]);
    }
    mark(machine, chosen, 0);
    if (is_exclusion) {
        return is_sound && combine(machine, CO_GROUP_SUBTRACT);
    }
    machine->stack[machine->depth - 2] = *chosen;
    free(from.ranks);
    machine->depth--;
    return is_sound;
}

static bool execute(struct machine *machine)
{
    bool is_sound = true;
    while (is_sound && machine->next < machine->end) {
        int32_t how = *machine->next++;
        switch (how) {
        case CO_GROUP_SET:
            is_sound = take_set(machine);
            break;
        case CO_GROUP_UNITE:
        case CO_GROUP_INTERSECT:
        case CO_GROUP_SUBTRACT:
            is_sound = combine(machine, (unsigned)how);
            break;
        case CO_GROUP_INCLUDE:
        case CO_GROUP_EXCLUDE:
            is_sound = choose(machine, how == CO_GROUP_EXCLUDE);
            break;
        default:
            is_sound = false;
            break;
        }
    }
    return is_sound && machine->depth == 1;
}

int32_t *co_replay_expand_group(struct co_replay *replay, const struct co_replay_place *parent, const int32_t *numbers,
                                uint32_t count, uint32_t *found, bool *is_not_told)
{
    struct machine machine = {.replay = replay, .rank = &replay->ranks[parent->rank], .next = numbers};
    int32_t *ranks = NULL;
    if (count == 0) { // cut off: no group is made of nothing
        return NULL;
    }
    machine.marks = calloc((size_t)replay->size + 1, 1);
    if (machine.marks == NULL) {
        replay->error = -ENOMEM;
        return NULL;
    }
    machine.end = numbers + count;
    bool is_sound = execute(&machine);
    *is_not_told = machine.is_not_told;
    if (is_sound) {
        ranks = top(&machine)->ranks;
        *found = top(&machine)->count;
        machine.depth--;
    }
    for (uint32_t i = 0; is_sound && i < *found; i++) { // ranks of the parent
        uint32_t place = co_replay_place_number(parent->comm, (uint32_t)ranks[i]);
        is_sound = place != UINT32_MAX;
        ranks[i] = (int32_t)place;
    }
    while (machine.depth > 0) {
        pop(&machine);
    }
    free(machine.marks);
    if (!is_sound) {
        free(ranks);
        return NULL;
    }
    return ranks;
}
