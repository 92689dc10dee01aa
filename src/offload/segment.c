// SPDX-License-Identifier: BSD-3-Clause
//
// The memory between a rank and its proxy; see the header. Labels of orders are of this file.
#include "offload/segment.h"
#include "base/memory/memory_copy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void co_segment_rank_open(struct co_segment_rank *rank, struct co_segment_memory *memory)
{
    *rank = (struct co_segment_rank){.memory = memory};
    memory->magic = CO_SEGMENT_MAGIC;
}

// What the proxy has read of the area.
static void definitions_release(struct co_segment_rank *rank)
{
    uint64_t taken = co_load_acquire(&rank->memory->taken); // acquire X2: the area is read, and may be written again

    while (rank->definition_count > 0 && rank->definitions[rank->definition_first].command < taken) {
        rank->area_from = rank->definitions[rank->definition_first].end;
        rank->definition_first = (rank->definition_first + 1) % CO_SEGMENT_DEFINITIONS;
        rank->definition_count--;
    }
    if (rank->definition_count == 0) {
        rank->area_from = rank->area_to = 0;
    }
}

// A piece of the area in one, behind what is used or at its beginning.
static int area_find(struct co_segment_rank *rank, size_t bytes, uint32_t *place)
{
    if (bytes > CO_SEGMENT_AREA_BYTES) {
        return -ENOSPC;
    }
    definitions_release(rank);
    if (rank->definition_count == CO_SEGMENT_DEFINITIONS) {
        return -EAGAIN;
    }
    bool is_one_piece = rank->definition_count == 0 || rank->area_from < rank->area_to;
    uint32_t end = is_one_piece ? CO_SEGMENT_AREA_BYTES : rank->area_from;
    if (bytes <= end - rank->area_to) {
        *place = rank->area_to;
        return 0;
    }
    *place = 0;
    return is_one_piece && bytes <= rank->area_from ? 0 : -EAGAIN;
}

static void definition_put(struct co_segment_rank *rank, uint32_t place, const uint8_t *definition, size_t bytes)
{
    uint32_t last = (rank->definition_first + rank->definition_count++) % CO_SEGMENT_DEFINITIONS;

    memcpy(rank->memory->area + place, definition, bytes);
    rank->area_to = place + (uint32_t)bytes;
    rank->definitions[last].command = rank->given;
    rank->definitions[last].end = rank->area_to;
}

int co_segment_give(struct co_segment_rank *rank, struct co_offload_command *command, const uint8_t *definition,
                    size_t definition_bytes, bool *rings)
{
    struct co_segment_memory *memory = rank->memory;
    uint32_t place = 0;

    if (rank->given - co_load_acquire(&memory->taken) == CO_SEGMENT_COMMANDS) { // acquire X2: its place is free
        return -EAGAIN;
    }
    if (definition_bytes > 0) {
        int error = area_find(rank, definition_bytes, &place);
        if (error != 0) {
            return error;
        }
        definition_put(rank, place, definition, definition_bytes);
    }
    command->definition = place;
    co_offload_command_encode(memory->commands[rank->given % CO_SEGMENT_COMMANDS], command);
    rank->given++;
    // Release X1, read by X1 in co_segment_take; and more: either the proxy, which says that it sleeps before it looks
    // at `given`, sees this command, or this sees that it sleeps. That takes one order of all four accesses, for each
    // side loads what the other stores behind a store of its own, and release and acquire let a load pass such a store.
    atomic_store_explicit(&memory->given, rank->given, memory_order_seq_cst);
    *rings = atomic_load_explicit(&memory->proxy_sleeps, memory_order_seq_cst) != 0;
    return 0;
}

static _Atomic uint64_t *state_of(struct co_segment_memory *memory, uint32_t ticket)
{
    assert(ticket < CO_TICKETS);
    return (_Atomic uint64_t *)(void *)memory->completions[ticket];
}

bool co_segment_is_done(const struct co_segment_rank *rank, uint32_t ticket)
{
    return co_load_acquire(state_of(rank->memory, ticket)) == CO_OFFLOAD_COMPLETION_DONE; // acquire X3
}

struct co_offload_completion co_segment_collect(struct co_segment_rank *rank, uint32_t ticket)
{
    struct co_offload_completion completion = {0};
    uint8_t bytes[CO_OFFLOAD_COMPLETION_BYTES];

    memcpy(bytes, rank->memory->completions[ticket], sizeof bytes);
    if (co_offload_completion_decode(&completion, bytes) != 0) {
        completion = (struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = -EPROTO};
    }
    // relaxed: the proxy stores into it again only after it has seen the ticket in a later command, by X1.
    co_store_relaxed(state_of(rank->memory, ticket), 0);
    return completion;
}

void co_segment_rank_may_sleep(struct co_segment_rank *rank)
{
    atomic_store_explicit(&rank->memory->rank_sleeps, 1, memory_order_seq_cst); // as below
}

bool co_segment_rank_sleeps(struct co_segment_rank *rank, uint32_t ticket)
{
    // As in co_segment_give, with co_segment_complete on the other side.
    atomic_store_explicit(&rank->memory->rank_sleeps, 1, memory_order_seq_cst);
    if (atomic_load_explicit(state_of(rank->memory, ticket), memory_order_seq_cst) != CO_OFFLOAD_COMPLETION_DONE) {
        return true;
    }
    co_segment_rank_wakes(rank);
    return false;
}

void co_segment_rank_wakes(struct co_segment_rank *rank)
{
    co_store_relaxed(&rank->memory->rank_sleeps, 0); // relaxed: a ring too many does no harm
}

uint64_t co_segment_moved(const struct co_segment_rank *rank)
{
    return co_load_relaxed(&rank->memory->moved); // relaxed: a hint
}

uint64_t co_segment_ended(const struct co_segment_rank *rank)
{
    return co_load_acquire(&rank->memory->ended); // acquire X4
}

uint64_t co_segment_news(const struct co_segment_rank *rank)
{
    const struct co_segment_memory *memory = rank->memory;

    // acquire X4; relaxed: co_segment_give looks again.
    return co_load_acquire(&memory->ended) + co_load_relaxed(&memory->taken);
}

// What a rank may write over at any moment, as it was at one: the compiler, which may see what the caller does with the
// copy, shall not read the original again in its place.
static void copy_once(uint8_t *into, const uint8_t *from, size_t bytes)
{
    co_memory_copy(into, from, bytes);
    atomic_signal_fence(memory_order_seq_cst); // of this thread's compiler alone: nothing is ordered by the processor
}

int co_segment_proxy_open(struct co_segment_proxy *proxy, struct co_segment_memory *memory)
{
    *proxy = (struct co_segment_proxy){.memory = memory};
    return memory->magic == CO_SEGMENT_MAGIC ? 0 : -EPROTO;
}

int co_segment_take(struct co_segment_proxy *proxy, uint8_t command[CO_OFFLOAD_COMMAND_BYTES])
{
    uint64_t given = co_load_acquire(&proxy->memory->given); // acquire X1: the command and its definition are there

    if (given == proxy->taken) {
        return 0;
    }
    if (given - proxy->taken > CO_SEGMENT_COMMANDS) {
        return -EPROTO;
    }
    copy_once(command, proxy->memory->commands[proxy->taken % CO_SEGMENT_COMMANDS], CO_OFFLOAD_COMMAND_BYTES);
    return 1;
}

int co_segment_read(const struct co_segment_proxy *proxy, uint64_t place, uint8_t *into, size_t bytes)
{
    if (place > CO_SEGMENT_AREA_BYTES || bytes > CO_SEGMENT_AREA_BYTES - place) {
        return -EPROTO;
    }
    copy_once(into, proxy->memory->area + place, bytes);
    return 0;
}

void co_segment_taken(struct co_segment_proxy *proxy)
{
    proxy->taken++;
    co_store_release(&proxy->memory->taken, proxy->taken); // release X2: both have been read
}

bool co_segment_complete(struct co_segment_proxy *proxy, uint32_t ticket,
                         const struct co_offload_completion *completion)
{
    struct co_segment_memory *memory = proxy->memory;
    uint8_t bytes[CO_OFFLOAD_COMPLETION_BYTES];

    co_offload_completion_encode(bytes, completion);
    memcpy(memory->completions[ticket] + 8, bytes + 8, sizeof bytes - 8);
    // Release X3: with all that was received. As in co_segment_give, with co_segment_rank_sleeps on the other side.
    atomic_store_explicit(state_of(memory, ticket), completion->state, memory_order_seq_cst);
    co_store_release(&memory->ended, ++proxy->ended); // release X4: with that state
    return atomic_load_explicit(&memory->rank_sleeps, memory_order_seq_cst) != 0;
}

bool co_segment_proxy_sleeps(struct co_segment_proxy *proxy)
{
    // See co_segment_give.
    atomic_store_explicit(&proxy->memory->proxy_sleeps, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&proxy->memory->given, memory_order_seq_cst) == proxy->taken) {
        return true;
    }
    co_segment_proxy_wakes(proxy);
    return false;
}

void co_segment_proxy_wakes(struct co_segment_proxy *proxy)
{
    co_store_relaxed(&proxy->memory->proxy_sleeps, 0); // relaxed: a ring too many does no harm
}
