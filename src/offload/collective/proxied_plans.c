// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of calls. Those that a program gives again and again are kept, with the group by which the proxy knows
// them, and found by all that they consist of: so a call that was made before is one command, with nothing to be
// described or registered. What memory lies at an address is looked up by the proxy anew in each call. Hot, but for
// making.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/mix_bits.h"
#include "offload/collective/proxied_state.h"

static uint64_t hash_of(const struct co_proxied_team *team, const struct co_proxied_arguments *arguments)
{
    const struct co_proxied_block *blocks = arguments->blocks;
    uint64_t hash = co_mix_bits(team->id + ((uint64_t)arguments->root << 32 | arguments->kind));

    hash = co_mix_bits(hash ^ (uint64_t)(uintptr_t)arguments->send);
    hash = co_mix_bits(hash + (uint64_t)(uintptr_t)arguments->receive);
    hash = co_mix_bits(hash ^ arguments->bytes);
    for (uint32_t i = 0; blocks != NULL && i < team->count; i++) {
        hash = co_mix_bits(hash ^ (uint64_t)blocks[i].send_at) + blocks[i].send_bytes;
        hash = co_mix_bits(hash ^ (uint64_t)blocks[i].receive_at) + blocks[i].receive_bytes;
    }
    return hash;
}

static bool is_same(const struct co_proxied_plan *plan, const struct co_proxied_team *team,
                    const struct co_proxied_arguments *arguments)
{
    const struct co_offload_command *pattern = &plan->pattern;
    return plan->team == team && pattern->kind == arguments->kind && pattern->root == arguments->root &&
           pattern->send == (uint64_t)(uintptr_t)arguments->send &&
           pattern->receive == (uint64_t)(uintptr_t)arguments->receive && pattern->bytes == arguments->bytes &&
           (arguments->blocks == NULL ||
            memcmp(plan->blocks, arguments->blocks, team->count * sizeof *plan->blocks) == 0);
}

// What is sent to, and comes from, the member at that place; in an allgather all get the same.
static struct co_offload_blocks blocks_at(const struct co_proxied_plan *plan, uint32_t place)
{
    const struct co_offload_command *pattern = &plan->pattern;

    if (pattern->kind == CO_OFFLOAD_COMMAND_ALLGATHER) {
        return (struct co_offload_blocks){pattern->send, pattern->bytes, pattern->receive + place * pattern->bytes,
                                          pattern->bytes};
    }
    if (plan->blocks == NULL) {
        return co_offload_blocks_equal(pattern->send, pattern->receive, pattern->bytes, place);
    }
    const struct co_proxied_block *block = &plan->blocks[place];
    // Nothing is anywhere: an address that is none would be refused.
    return (struct co_offload_blocks){
        .send_address = block->send_bytes > 0 ? pattern->send + (uint64_t)block->send_at : 0,
        .send_bytes = block->send_bytes,
        .receive_address = block->receive_bytes > 0 ? pattern->receive + (uint64_t)block->receive_at : 0,
        .receive_bytes = block->receive_bytes};
}

static int range_add(struct co_proxied_plan *plan, uint64_t address, uint64_t bytes, uint32_t kind)
{
    return bytes == 0
               ? 0
               : co_rank_ranges_add(&plan->ranges,
                                    &(struct co_offload_operation){.kind = kind, .address = address, .bytes = bytes});
}

static int send_range_add(struct co_proxied_plan *plan, uint64_t bytes)
{
    return range_add(plan, plan->pattern.send, bytes, CO_OFFLOAD_OPERATION_SEND);
}

static int receive_range_add(struct co_proxied_plan *plan, uint64_t bytes)
{
    return range_add(plan, plan->pattern.receive, bytes, CO_OFFLOAD_OPERATION_RECEIVE);
}

// Where the rank copies: all that is sent, and where anything may come.
static int ranges_make(struct co_proxied_plan *plan)
{
    uint32_t count = plan->team->count;
    uint64_t one = plan->pattern.bytes, all = one * count;
    int error = 0;

    if (plan->pattern.kind == CO_OFFLOAD_COMMAND_BCAST) {
        return plan->pattern.root == plan->team->place ? send_range_add(plan, one) : receive_range_add(plan, one);
    }
    if (plan->blocks == NULL) {
        error = send_range_add(plan, plan->pattern.kind == CO_OFFLOAD_COMMAND_ALLTOALL ? all : one);
        return error == 0 ? receive_range_add(plan, all) : error;
    }
    for (uint32_t i = 0; i < count && error == 0; i++) {
        struct co_offload_blocks blocks = blocks_at(plan, i);
        error = range_add(plan, blocks.send_address, blocks.send_bytes, CO_OFFLOAD_OPERATION_SEND);
        if (error == 0) {
            error = range_add(plan, blocks.receive_address, blocks.receive_bytes, CO_OFFLOAD_OPERATION_RECEIVE);
        }
    }
    return error;
}

static int group_make(struct co_proxied_plan *plan)
{
    uint32_t count = plan->team->count;
    struct co_offload_command told = plan->pattern;
    uint8_t *definition = NULL;

    if (plan->blocks != NULL) {
        definition = malloc((size_t)count * CO_OFFLOAD_BLOCKS_BYTES);
        if (definition == NULL) {
            return -ENOMEM;
        }
        for (uint32_t i = 0; i < count; i++) {
            struct co_offload_blocks blocks = blocks_at(plan, i);
            co_offload_blocks_encode(definition + (size_t)i * CO_OFFLOAD_BLOCKS_BYTES, &blocks);
        }
        told.send = told.receive = told.bytes = 0;
    }
    int error = co_rank_group_pattern(plan->team->world->client, &told, definition, count, &plan->group);
    free(definition);
    if (error == 0) {
        co_rank_group_join(plan->group, &plan->team->calls);
    }
    return error;
}

static void plan_free(struct co_proxied_plan *plan)
{
    free(plan->ranges.at);
    free(plan->blocks);
    free(plan);
}

// A small own block the rank copies; one that is too long for its place is the proxy's, which says so. It may be in
// its place already.
static void own_choose(struct co_proxied_plan *plan)
{
    struct co_offload_blocks own = blocks_at(plan, plan->team->place);

    if (plan->pattern.kind == CO_OFFLOAD_COMMAND_BCAST || own.send_address == own.receive_address) {
        return;
    }
    plan->pattern.has_own = own.send_bytes > CO_PROXIED_OWN_BYTES || own.send_bytes > own.receive_bytes;
    if (!plan->pattern.has_own) {
        plan->own = own;
    }
}

static int plan_make(struct co_proxied_plan **out, struct co_proxied_team *team,
                     const struct co_proxied_arguments *arguments)
{
    const struct co_proxied_block *blocks = arguments->blocks;
    struct co_proxied_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return -ENOMEM;
    }
    plan->team = team;
    co_proxied_link_init(&plan->listed);
    plan->pattern = (struct co_offload_command){.kind = arguments->kind,
                                                .root = arguments->root,
                                                .operations = blocks != NULL ? team->count : 0,
                                                .team = team->id,
                                                .send = (uint64_t)(uintptr_t)arguments->send,
                                                .receive = (uint64_t)(uintptr_t)arguments->receive,
                                                .bytes = arguments->bytes};
    int error = 0;
    if (blocks != NULL) {
        plan->blocks = malloc(team->count * sizeof *blocks);
        error = plan->blocks == NULL ? -ENOMEM : 0;
    }
    if (error == 0 && blocks != NULL) {
        memcpy(plan->blocks, blocks, team->count * sizeof *blocks);
    }
    if (error == 0 && co_rank_connection_copies(team->world->connection) != NULL) {
        error = ranges_make(plan);
    }
    if (error == 0) {
        own_choose(plan);
        error = group_make(plan);
    }
    if (error != 0) {
        plan_free(plan);
        return error;
    }
    team->uses++;
    *out = plan;
    return 0;
}

static bool plan_end(struct co_proxied_plan *plan)
{
    if (co_rank_group_free(plan->group) != 0) {
        return false;
    }
    plan->team->world->has_changed = true; // there is room
    co_proxied_team_release(plan->team);
    plan_free(plan);
    return true;
}

// It is in no list and out no more.
static void plan_doom(struct co_proxied_plan *plan)
{
    struct co_proxied_world *world = plan->team->world;
    if (!plan_end(plan)) {
        co_proxied_link_join_last(&world->doomed_plans, &plan->listed);
    }
}

bool co_proxied_plans_tidy(struct co_proxied_world *world)
{
    while (world->doomed_plans.after != &world->doomed_plans) {
        struct co_proxied_plan *plan = (struct co_proxied_plan *)world->doomed_plans.after;
        co_proxied_link_leave(&plan->listed);
        if (!plan_end(plan)) {
            co_proxied_link_join_last(&world->doomed_plans, &plan->listed);
            return false;
        }
    }
    return true;
}

void co_proxied_plans_abandon(struct co_proxied_world *world)
{
    world->is_leaving = true; // to close the team of a plan that it still has is what a proxy hangs up for
    while (world->doomed_plans.after != &world->doomed_plans) {
        struct co_proxied_plan *plan = (struct co_proxied_plan *)world->doomed_plans.after;
        co_proxied_link_leave(&plan->listed);
        co_rank_group_abandon(plan->group);
        co_proxied_team_release(plan->team);
        plan_free(plan);
    }
}

static uint64_t blocks_of(const struct co_proxied_plan *plan)
{
    return plan->blocks != NULL ? plan->team->count : 1;
}

// Out of those that are kept; one whose call is under way ends with that.
static void kept_drop(struct co_proxied_world *world, struct co_proxied_plan *plan)
{
    struct co_proxied_plan *first = co_hash_map_remove(&world->by_hash, plan->hash);
    struct co_proxied_plan **link = &first;

    while (*link != plan) {
        link = &(*link)->next;
    }
    *link = plan->next;
    if (first != NULL) {
        (void)co_hash_map_put(&world->by_hash, plan->hash, first); // it was there: there is room
    }
    co_proxied_link_leave(&plan->listed);
    world->kept_count--;
    world->kept_blocks -= blocks_of(plan);
    plan->is_kept = false;
    if (!plan->is_out) {
        plan_doom(plan);
    }
}

static void kept_put(struct co_proxied_world *world, struct co_proxied_plan *plan)
{
    uint64_t blocks = blocks_of(plan);
    while (world->kept_count > 0 &&
           (world->kept_count == CO_PROXIED_PLANS || world->kept_blocks + blocks > CO_PROXIED_BLOCKS)) {
        kept_drop(world, (struct co_proxied_plan *)world->kept.after);
    }
    plan->next = co_hash_map_remove(&world->by_hash, plan->hash);
    if (co_hash_map_put(&world->by_hash, plan->hash, plan) != 0) {
        return; // nothing was there either: it stays one of its call alone
    }
    plan->is_kept = true;
    co_proxied_link_join_last(&world->kept, &plan->listed);
    world->kept_count++;
    world->kept_blocks += blocks;
}

void co_proxied_plans_drop(struct co_proxied_world *world, const struct co_proxied_team *team)
{
    for (struct co_proxied_link *link = world->kept.after, *next; link != &world->kept; link = next) {
        struct co_proxied_plan *plan = (struct co_proxied_plan *)link;
        next = link->after;
        if (team == NULL || plan->team == team) {
            kept_drop(world, plan);
        }
    }
}

int co_proxied_plan_find(struct co_proxied_plan **out, struct co_proxied_team *team,
                         const struct co_proxied_arguments *arguments)
{
    struct co_proxied_world *world = team->world;
    uint64_t hash = hash_of(team, arguments);
    struct co_proxied_plan *plan = co_hash_map_get(&world->by_hash, hash);

    while (plan != NULL && !is_same(plan, team, arguments)) {
        plan = plan->next;
    }
    if (plan != NULL && !plan->is_out) {
        co_proxied_link_leave(&plan->listed);
        co_proxied_link_join_last(&world->kept, &plan->listed);
        *out = plan;
        return 0;
    }
    bool is_twice = plan != NULL; // blocks of no bytes, and what is only sent, may be under way twice
    int error = plan_make(&plan, team, arguments);
    if (error != 0) {
        return error;
    }
    plan->hash = hash;
    if (!is_twice) {
        kept_put(world, plan);
    }
    *out = plan;
    return 0;
}

void co_proxied_plan_return(struct co_proxied_plan *plan)
{
    plan->is_out = false;
    if (!plan->is_kept) {
        plan_doom(plan);
    }
}
