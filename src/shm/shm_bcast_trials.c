// SPDX-License-Identifier: BSD-3-Clause
//
// Which path a large broadcast takes, learned by its root in use (base/copy_trials.h). A root runs ahead of its readers
// through the bulk ring, so nothing that all know says which path the next one takes: the root alone chooses, and
// readers, which begin where the last one of that size went, look at the other place, too, while they wait
// (shm_start.c). A reader tells of its last large broadcast when it came to it and when it had all of it; the root,
// which knows when it began itself, looks at that when it begins another one. So a trial's time is from when both were
// there to when the last reader had its bytes. Hot for large operations.
#include "shm/shm_team.h"

#include <stdlib.h>

#include "base/clock.h"

#define OPEN 4       // broadcasts of a trial whose readers may not have told yet
#define TIME_SHIFT 6 // times in units of 64 ns: the low 32 bits are right within minutes
#define NUMBER_SHIFT 32

struct open_bcast {
    uint64_t number; // of the operation; 0: none
    uint32_t began;
    uint8_t class, path; // enum co_copy_path
};

// A root's own.
struct co_shm_bcast_trials {
    struct co_copy_trials trials;
    struct open_bcast open[OPEN];
    unsigned next;
};

static uint32_t now(void)
{
    return (uint32_t)(co_clock_now_ns() >> TIME_SHIFT);
}

static unsigned class_of(size_t bytes)
{
    return co_trial_class(bytes, CO_SHM_BCAST_TRIAL_LEAST);
}

static uint64_t word_of(uint64_t number, uint32_t time)
{
    return number << NUMBER_SHIFT | time;
}

enum told { NOT_YET, TOLD, LOST };

// How long a reader has taken for it.
static enum told reader_took(struct co_shm_control *reader, const struct open_bcast *bcast, uint32_t *took)
{
    uint64_t ended = co_load_acquire(&reader->bcast_ended);                       // acquire B1: when it began
    uint32_t ahead = (uint32_t)(ended >> NUMBER_SHIFT) - (uint32_t)bcast->number; // of its last one
    if (ahead != 0) {
        return (int32_t)ahead < 0 ? NOT_YET : LOST;
    }
    uint64_t began = co_load_relaxed(&reader->bcast_began); // relaxed: it says whether it is of this one
    if (began >> NUMBER_SHIFT != ended >> NUMBER_SHIFT) {
        return LOST; // the next one has begun
    }
    uint32_t both = (int32_t)((uint32_t)began - bcast->began) > 0 ? (uint32_t)began : bcast->began;
    uint32_t its = (uint32_t)ended - both;
    *took = its > *took ? its : *took;
    return TOLD;
}

static enum told all_took(const struct co_shm_team *team, const struct open_bcast *bcast, uint32_t *took)
{
    enum told told = TOLD;
    *took = 0;
    for (int member = 0; member < team->count && told == TOLD; member++) {
        told = member == team->self ? TOLD : reader_took(co_shm_control(team, member), bcast, took);
    }
    return told;
}

static void look_at_open(const struct co_shm_team *team, struct co_shm_bcast_trials *bcasts)
{
    for (unsigned i = 0; i < OPEN; i++) {
        struct open_bcast *bcast = &bcasts->open[i];
        uint32_t took;
        enum told told = bcast->number == 0 ? NOT_YET : all_took(team, bcast, &took);
        if (told == TOLD) {
            co_trial_took(&bcasts->trials, bcast->class, (enum co_copy_path)bcast->path, (uint64_t)took << TIME_SHIFT);
        }
        bcast->number = told == NOT_YET ? bcast->number : 0;
    }
}

static bool root_goes_straight(const struct co_shm_op *op, enum co_copy_path guess)
{
    struct co_shm_team *team = op->team;
    unsigned class = class_of(op->bytes);

    if (team->bcasts == NULL) {
        team->bcasts = calloc(1, sizeof *team->bcasts);
    }
    if (team->bcasts == NULL) {
        return guess == CO_COPY_STRAIGHT;
    }
    look_at_open(team, team->bcasts);
    enum co_copy_path path = co_trial_next(&team->bcasts->trials, class, guess);
    co_trial_went(&team->bcasts->trials, class, path);
    if (co_trial_wants(&team->bcasts->trials, class)) {
        team->bcasts->open[team->bcasts->next++ % OPEN] =
            (struct open_bcast){op->number, now(), (uint8_t) class, (uint8_t)path};
    }
    return path == CO_COPY_STRAIGHT;
}

bool co_shm_bcast_goes_straight(const struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool is_guess = op->bytes >= team->node->direct_bcast_min;

    if (op->bytes < team->node->tried_bcast_min) {
        return is_guess;
    }
    if (op->root == team->self) {
        return root_goes_straight(op, is_guess ? CO_COPY_STRAIGHT : CO_COPY_BY_RING);
    }
    if (op->looks == 0) { // else it begins anew
        // relaxed: published by release B1
        co_store_relaxed(&co_shm_control(team, team->self)->bcast_began, word_of(op->number, now()));
    }
    unsigned bit = 1u << class_of(op->bytes);
    return (team->bcasts_known & bit) != 0 ? (team->bcasts_straight & bit) != 0 : is_guess;
}

void co_shm_bcast_follow(struct co_shm_team *team, size_t bytes, bool is_straight)
{
    unsigned bit = bytes < team->node->tried_bcast_min ? 0 : 1u << class_of(bytes);
    team->bcasts_known |= (uint8_t)bit;
    team->bcasts_straight = (uint8_t)(is_straight ? team->bcasts_straight | bit : team->bcasts_straight & ~bit);
}

void co_shm_bcast_tell(const struct co_shm_op *op)
{
    // release B1: when this member began
    co_store_release(&co_shm_control(op->team, op->team->self)->bcast_ended, word_of(op->number, now()));
}

void co_shm_bcast_trials_close(struct co_shm_team *team)
{
    free(team->bcasts);
}
