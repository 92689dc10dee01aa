// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of the simulation of teams: what each one does next, and what its memory and its completions have to be.
#include "proxy_team_simulation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"
#include "offload/offload_pattern.h"

enum { REFUSED_TICKET = 1000, UNTOUCHED = 0xa5 };

// The naive executor: a byte of the block from place `from` to place `to` of that call.
static unsigned char byte_of(const struct team_simulation *simulation, int team, int call, int from, int to, uint64_t i)
{
    return (unsigned char)co_mix_bits(((uint64_t)simulation->seed << 32) + (uint64_t)team * 1000003 +
                                      (uint64_t)call * 7919 + (uint64_t)from * 131 + (uint64_t)to * 17 + i);
}

static bool has_lengths(const struct team_plan *plan)
{
    return plan->kind == TEAM_ALLTOALLV || plan->kind == TEAM_ALLGATHERV;
}

static bool is_tree(const struct team_plan *plan)
{
    return plan->kind >= TEAM_BCAST;
}

// What the member at place `to` gets, and has room for, from the one at place `from`.
static uint64_t sends_of(const struct team_plan *plan, int from, int to)
{
    switch (plan->kind) {
    case TEAM_ALLTOALLV:
        return plan->sends[from][to];
    case TEAM_ALLGATHERV:
        return plan->sends[from][0];
    case TEAM_BCAST:
        return from == plan->root && to != from ? plan->bytes : 0;
    default:
        return plan->bytes;
    }
}

static uint64_t takes_of(const struct team_plan *plan, int from, int to)
{
    return plan->kind == TEAM_ALLTOALLV ? plan->takes[from][to]
           : plan->kind == TEAM_BCAST   ? plan->takes[0][to]
                                        : sends_of(plan, from, to);
}

// Where block `place` begins in a side of the area.
static uint64_t block_at(const struct team_plan *plan, int place)
{
    return plan->kind == TEAM_BCAST ? 0 : (uint64_t)place * (has_lengths(plan) ? TEAM_BLOCK : plan->bytes);
}

static const struct team_plan *plan_of(const struct team_simulation *simulation, int use)
{
    return &simulation->team[use / TEAM_PLANS].plans[use % TEAM_PLANS];
}

// Nothing is read or written outside of a call, and nothing written where nothing was to come.
int team_touched(void *context, uint64_t address, uint64_t bytes, bool is_write)
{
    struct team_rank *rank = context;
    struct team_simulation *simulation = rank->simulation;
    int use = (int)((address - TEAM_BASE) / TEAM_AREA);
    uint64_t at = (address - TEAM_BASE) % TEAM_AREA;

    simulation->activity++;
    if (!rank->uses[use].is_open) {
        fail_msg("seed %u: rank %d's memory is touched outside of its call", simulation->seed, rank->rank);
    }
    bool is_right = is_write == (at >= TEAM_SIDE) || (!is_write && is_tree(plan_of(simulation, use))); // passed on
    if (!is_right || at % TEAM_SIDE + bytes > TEAM_SIDE) {
        fail_msg("seed %u: rank %d's buffer is touched from the wrong side", simulation->seed, rank->rank);
    }
    return simulation->limits.faults && team_roll(simulation, 400) == 0 ? -EFAULT : 0;
}

static void fill(struct team_rank *rank, int use)
{
    const struct team_plan *plan = plan_of(rank->simulation, use);
    unsigned char *area = rank->memory + use * TEAM_AREA;
    int team = use / TEAM_PLANS, me = rank->place[team];

    memset(area, UNTOUCHED, TEAM_AREA);
    if (is_tree(plan)) { // to all the same; of an allgatherv it is in its place already
        unsigned char *own = area + (plan->kind == TEAM_ALLGATHERV ? TEAM_SIDE + block_at(plan, me) : 0);
        uint64_t bytes = plan->kind == TEAM_ALLGATHERV ? plan->sends[me][0] : plan->bytes;
        for (uint64_t i = 0; i < bytes && (plan->kind != TEAM_BCAST || me == plan->root); i++) {
            own[i] = byte_of(rank->simulation, team, rank->uses[use].call, me, 0, i);
        }
        return;
    }
    for (int to = 0; to < rank->simulation->team[team].count; to++) {
        for (uint64_t i = 0; i < sends_of(plan, me, to); i++) {
            area[block_at(plan, to) + i] = byte_of(rank->simulation, team, rank->uses[use].call, me, to, i);
        }
    }
}

static void check(const struct team_rank *rank, int use)
{
    static unsigned char should[TEAM_SIDE];
    const struct team_simulation *simulation = rank->simulation;
    const struct team_plan *plan = plan_of(simulation, use);
    int team = use / TEAM_PLANS, me = rank->place[team], call = rank->uses[use].call;

    memset(should, UNTOUCHED, sizeof should);
    for (int from = 0; from < simulation->team[team].count; from++) {
        for (uint64_t i = 0; i < sends_of(plan, from, me) && i < takes_of(plan, from, me); i++) {
            should[block_at(plan, from) + i] = byte_of(simulation, team, call, from, is_tree(plan) ? 0 : me, i);
        }
    }
    if (memcmp(rank->memory + use * TEAM_AREA + TEAM_SIDE, should, TEAM_SIDE) != 0) {
        fail_msg("seed %u: rank %d, team %d, call %d: wrong bytes when it is over", simulation->seed, rank->rank, team,
                 call);
    }
}

static uint64_t bytes_to_come(const struct team_rank *rank, int use)
{
    const struct team_plan *plan = plan_of(rank->simulation, use);
    int team = use / TEAM_PLANS, me = rank->place[team];
    uint64_t bytes = 0;
    for (int from = 0; from < rank->simulation->team[team].count; from++) {
        uint64_t sent = sends_of(plan, from, me), room = takes_of(plan, from, me);
        bytes += plan->kind == TEAM_ALLGATHERV && from == me ? 0 : sent < room ? sent : room;
    }
    return bytes;
}

// Of a broadcast for which there is less room than comes, and nothing else.
static int error_to_come(const struct team_rank *rank, int use)
{
    const struct team_plan *plan = plan_of(rank->simulation, use);
    int me = rank->place[use / TEAM_PLANS];
    return plan->kind == TEAM_BCAST && sends_of(plan, plan->root, me) > takes_of(plan, plan->root, me) ? -EMSGSIZE : 0;
}

void team_completed(void *context, int number, uint32_t ticket, const struct co_offload_completion *completion)
{
    struct team_simulation *simulation = context;
    struct team_rank *rank = &simulation->rank[number];

    simulation->activity++;
    if (ticket >= REFUSED_TICKET) {
        assert_true(rank->refused > 0);
        rank->refused--;
        return;
    }
    assert_true(rank->uses[ticket].is_open);
    rank->uses[ticket].is_open = false;
    if (completion->error != error_to_come(rank, (int)ticket)) {
        simulation->errors++;
        if (!simulation->limits.deaths && !simulation->limits.faults) {
            fail_msg("seed %u: a call of rank %d ends with %d", simulation->seed, number, completion->error);
        }
        return;
    }
    check(rank, (int)ticket);
    if (completion->bytes != bytes_to_come(rank, (int)ticket)) {
        fail_msg("seed %u: rank %d is told of %llu bytes", simulation->seed, number,
                 (unsigned long long)completion->bytes);
    }
}

static void command(struct team_rank *rank, const struct co_offload_command *command, const uint8_t *definition)
{
    int error = co_proxy_command(rank->simulation->proxies[rank->proxy], rank->rank, command, definition,
                                 co_offload_command_definition_bytes(command));
    rank->simulation->activity++;
    if (error != 0) {
        fail_msg("seed %u: a command of rank %d is refused: %d", rank->simulation->seed, rank->rank, error);
    }
}

static void team_open(struct team_rank *rank, int number)
{
    const struct team *team = &rank->simulation->team[number];
    uint8_t definition[TEAM_RANKS * CO_OFFLOAD_MEMBER_BYTES];

    for (int i = 0; i < team->count; i++) {
        co_little_endian_put(definition + (size_t)i * CO_OFFLOAD_MEMBER_BYTES, (uint64_t)team->members[i], 4);
    }
    command(rank,
            &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN,
                                         .team = team->id,
                                         .operations = (uint32_t)team->count,
                                         .begun = team_begun(rank, number)},
            definition);
    rank->is_open[number] = true;
}

static enum co_offload_command_kind command_of(enum team_kind kind)
{
    static const enum co_offload_command_kind kinds[] = {CO_OFFLOAD_COMMAND_ALLTOALL, CO_OFFLOAD_COMMAND_ALLTOALLV,
                                                         CO_OFFLOAD_COMMAND_BCAST, CO_OFFLOAD_COMMAND_ALLGATHER,
                                                         CO_OFFLOAD_COMMAND_ALLGATHERV};
    return kinds[kind];
}

static struct co_offload_blocks blocks_of(const struct team_plan *plan, int me, int place, uint64_t send,
                                          uint64_t receive)
{
    uint64_t at = block_at(plan, place);
    if (plan->kind == TEAM_ALLGATHERV) {
        return (struct co_offload_blocks){place == me ? receive + at : 0, place == me ? sends_of(plan, me, me) : 0,
                                          receive + at, sends_of(plan, place, me)};
    }
    return (struct co_offload_blocks){send + at, sends_of(plan, me, place), receive + at, takes_of(plan, place, me)};
}

static void define(struct team_rank *rank, int use)
{
    struct team_simulation *simulation = rank->simulation;
    const struct team_plan *plan = plan_of(simulation, use);
    int number = use / TEAM_PLANS, me = rank->place[number], count = simulation->team[number].count;
    uint64_t send = TEAM_BASE + (uint64_t)use * TEAM_AREA, receive = send + TEAM_SIDE;
    uint8_t definition[TEAM_RANKS * CO_OFFLOAD_BLOCKS_BYTES];
    struct co_offload_command pattern = {.kind = command_of(plan->kind),
                                         .group = rank->next_group++,
                                         .team = simulation->team[number].id,
                                         .has_own = plan->kind != TEAM_BCAST && plan->kind != TEAM_ALLGATHERV};
    if (has_lengths(plan)) {
        pattern.operations = (uint32_t)count;
    } else {
        pattern.send = send;
        pattern.receive = receive;
        pattern.bytes = plan->kind == TEAM_BCAST && me != plan->root ? plan->takes[0][me] : plan->bytes;
        pattern.root = plan->kind == TEAM_BCAST ? (uint32_t)plan->root : 0;
    }
    for (int i = 0; has_lengths(plan) && i < count; i++) {
        struct co_offload_blocks blocks = blocks_of(plan, me, i, send, receive);
        co_offload_blocks_encode(definition + (size_t)i * CO_OFFLOAD_BLOCKS_BYTES, &blocks);
    }
    rank->uses[use].group = pattern.group;
    command(rank, &pattern, definition);
}

static void call(struct team_rank *rank, int number, int use)
{
    rank->uses[use].call = rank->next[number]++;
    rank->uses[use].is_open = true;
    fill(rank, use);
    if (rank->uses[use].group == 0) {
        define(rank, use);
    }
    command(rank,
            &(struct co_offload_command){
                .kind = CO_OFFLOAD_COMMAND_CALL, .ticket = (uint32_t)use, .group = rank->uses[use].group},
            NULL);
    if (team_roll(rank->simulation, 4) == 0) { // while the call is under way
        command(rank, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = rank->uses[use].group},
                NULL);
        rank->uses[use].group = 0;
    }
}

static void refuse(struct team_rank *rank, int number)
{
    const struct team *team = &rank->simulation->team[number];
    const struct team_plan *plan = &team->plans[team->plan_of[rank->next[number]]];
    struct co_offload_command refusal = {.kind = CO_OFFLOAD_COMMAND_REFUSE, .ticket = REFUSED_TICKET, .team = team->id};

    if (plan->kind == TEAM_BCAST) {
        refusal.refused = CO_OFFLOAD_COMMAND_BCAST;
        refusal.root = (uint32_t)plan->root;
    } else if (is_tree(plan)) {
        refusal.refused = CO_OFFLOAD_COMMAND_ALLGATHER;
    }
    rank->next[number]++;
    rank->refused++;
    command(rank, &refusal, NULL);
}

// Of a team that will be closed. False: a call is under way; patterns that are gone are told again.
static bool patterns_forget(struct team_rank *rank, int number)
{
    bool is_busy = rank->refused > 0;
    for (int use = number * TEAM_PLANS; use < (number + 1) * TEAM_PLANS; use++) {
        is_busy = is_busy || rank->uses[use].is_open;
        if (rank->uses[use].group != 0) {
            command(rank,
                    &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = rank->uses[use].group},
                    NULL);
            rank->uses[use].group = 0;
        }
    }
    return !is_busy;
}

static void team_close(struct team_rank *rank, int number)
{
    command(
        rank,
        &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = rank->simulation->team[number].id},
        NULL);
    rank->is_open[number] = false;
}

enum acted { HAS_NOTHING, HAS_TO_WAIT, HAS_DONE };

static enum acted team_act(struct team_rank *rank, int number)
{
    struct team_simulation *simulation = rank->simulation;
    const struct team *team = &simulation->team[number];

    if (rank->place[number] < 0 || rank->is_closed[number]) {
        return HAS_NOTHING;
    }
    if (!rank->is_open[number]) {
        team_open(rank, number);
    } else if (rank->next[number] == team->calls) {
        if (!patterns_forget(rank, number)) {
            return HAS_TO_WAIT;
        }
        team_close(rank, number);
        rank->is_closed[number] = true;
    } else if (rank->next[number] > 0 && team_roll(simulation, 6) == 0 && patterns_forget(rank, number)) {
        team_close(rank, number); // for others, and it is opened again where it was
    } else {
        int use = number * TEAM_PLANS + team->plan_of[rank->next[number]];
        if (simulation->limits.faults && rank->refused == 0 && team_roll(simulation, 30) == 0) {
            refuse(rank, number);
        } else if (!rank->uses[use].is_open) {
            call(rank, number, use);
        } else {
            return HAS_TO_WAIT; // the last call with these buffers is not over
        }
    }
    return HAS_DONE;
}

static void leave(struct team_rank *rank)
{
    for (int i = 0; i < TEAM_USES; i++) {
        if (rank->uses[i].is_open) {
            return;
        }
    }
    if (rank->refused > 0) {
        return;
    }
    command(rank, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL);
    assert_int_equal(co_proxy_rank_calls(rank->simulation->proxies[rank->proxy], rank->rank), 0);
    rank->is_over = true;
    if (team_roll(rank->simulation, 2)) { // its process ends while others are under way
        co_proxy_rank_lost(rank->simulation->proxies[rank->proxy], rank->rank);
    }
}

void team_rank_lose(struct team_rank *rank)
{
    if (rank->simulation->proxies[rank->proxy] != NULL) {
        co_proxy_rank_lost(rank->simulation->proxies[rank->proxy], rank->rank);
    }
    for (int i = 0; i < TEAM_USES; i++) {
        rank->uses[i].is_open = false; // nothing may touch it any more
    }
    rank->is_lost = rank->is_over = true;
    rank->simulation->activity++;
}

void team_rank_act(struct team_rank *rank)
{
    int first = (int)team_roll(rank->simulation, TEAM_TEAMS);
    enum acted most = HAS_NOTHING;

    if (rank->is_over) {
        return;
    }
    for (int i = 0; i < TEAM_TEAMS && most != HAS_DONE; i++) {
        enum acted acted = team_act(rank, (first + i) % TEAM_TEAMS);
        most = acted > most ? acted : most;
    }
    if (most == HAS_NOTHING) {
        leave(rank);
    }
}
