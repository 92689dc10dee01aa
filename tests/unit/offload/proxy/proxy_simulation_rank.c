// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of the simulation: what each one does next, and what its memory and its completions have to be.
#include "proxy_simulation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = 0x10000, STAGE_BYTES = 200 };

static const struct program_template *template_of(const struct simulation *simulation, int number)
{
    return &simulation->program.templates[number];
}

// The operation that writes there now: the first on that buffer that has not had all of its bytes.
static int writer_of(const struct simulation_rank *rank, int number, int slot)
{
    const struct program_template *template = template_of(rank->simulation, number);
    for (int i = 0; i < template->count[rank->rank]; i++) {
        const struct program_operation *operation = &template->operations[rank->rank][i];
        bool receives = operation->operation.kind == CO_OFFLOAD_OPERATION_RECEIVE ||
                        operation->operation.kind == CO_OFFLOAD_OPERATION_FORWARD;
        if (receives && operation->slot == slot && rank->uses[number].moved[i] < operation->bytes) {
            return i;
        }
    }
    return -1;
}

// Whether all that a barrier in front of it waits for has come.
static bool barriers_are_passed(const struct simulation_rank *rank, int number, int operation)
{
    const struct program_template *template = template_of(rank->simulation, number);
    int barrier = operation;
    while (barrier >= 0 && template->operations[rank->rank][barrier].operation.kind != CO_OFFLOAD_OPERATION_BARRIER) {
        barrier--;
    }
    for (int i = 0; i < barrier; i++) {
        const struct program_operation *before = &template->operations[rank->rank][i];
        bool receives = before->operation.kind == CO_OFFLOAD_OPERATION_RECEIVE ||
                        before->operation.kind == CO_OFFLOAD_OPERATION_FORWARD;
        if (receives && rank->uses[number].moved[i] != before->bytes) {
            return false;
        }
    }
    return true;
}

// Nothing is read or written outside of a call, and nothing written before its receive has begun.
static int touched(void *context, uint64_t address, uint64_t bytes, bool is_write)
{
    struct simulation_rank *rank = context;
    struct simulation *simulation = rank->simulation;
    int number = (int)((address - BASE) / PROGRAM_AREA_BYTES);
    int slot = (int)((address - BASE) % PROGRAM_AREA_BYTES / PROGRAM_SLOT_BYTES);
    struct simulation_use *use = &rank->uses[number];

    simulation->activity++;
    if (!use->is_open) {
        fail_msg("seed %u: rank %d's memory is touched outside of its call", simulation->program.seed, rank->rank);
    }
    if (is_write) {
        int writer = writer_of(rank, number, slot);
        if (writer < 0 || writer >= use->issued || !barriers_are_passed(rank, number, writer)) {
            fail_msg("seed %u: rank %d's buffer %d of template %d is written before its receive (%d)",
                     simulation->program.seed, rank->rank, slot, number, writer);
        }
        use->moved[writer] += bytes;
    }
    return simulation->limits.faults && simulation_roll(simulation, 300) == 0 ? -EFAULT : 0;
}

static void check_bytes(struct simulation_rank *rank, int number)
{
    struct simulation *simulation = rank->simulation;
    int step = rank->uses[number].step;
    const unsigned char *is = rank->memory + number * PROGRAM_AREA_BYTES;
    const unsigned char *should = simulation->program.expected[step][rank->rank];

    for (int i = 0; i < PROGRAM_AREA_BYTES; i++) {
        if (is[i] != should[i]) {
            fail_msg("seed %u: rank %d, step %d, buffer %d: byte %d is wrong when the call is over",
                     simulation->program.seed, rank->rank, step, i / PROGRAM_SLOT_BYTES, i % PROGRAM_SLOT_BYTES);
        }
    }
}

void simulation_completed(void *context, int number, uint32_t ticket, const struct co_offload_completion *completion)
{
    struct simulation *simulation = context;
    struct simulation_rank *rank = &simulation->ranks[number];

    simulation->activity++;
    simulation->completions++;
    assert_true(ticket < SIMULATION_TICKETS && rank->ticket_template[ticket] >= 0);
    assert_int_equal(completion->state, CO_OFFLOAD_COMPLETION_DONE);
    struct simulation_use *use = &rank->uses[rank->ticket_template[ticket]];
    const struct program_template *template = template_of(simulation, rank->ticket_template[ticket]);
    use->pending--;
    use->has_error = use->has_error || completion->error != 0;
    if (completion->error !=
        0) { // half of the ranks abort, as MPI would have it; basic operations depend on each other
        rank->has_error = rank->has_error || template->is_basic || simulation_roll(simulation, 2);
        simulation->errors++;
    } else {
        assert_true(completion->bytes == rank->ticket_bytes[ticket]);
    }
    if (completion->error != 0 && !simulation->limits.deaths && !simulation->limits.faults) {
        fail_msg("seed %u: rank %d, step %d: error %d", simulation->program.seed, number, use->step, completion->error);
    }
    bool is_whole = use->pending == 0 && use->issued == template->count[number];
    use->is_open = !is_whole;
    if (is_whole && !use->has_error) {
        check_bytes(rank, rank->ticket_template[ticket]);
    }
    rank->ticket_template[ticket] = -1;
}

static void command(struct simulation_rank *rank, const struct co_offload_command *what, const uint8_t *definition,
                    size_t bytes)
{
    uint8_t encoded[CO_OFFLOAD_COMMAND_BYTES];
    struct co_offload_command decoded;
    struct co_proxy *proxy = rank->simulation->proxies[rank->proxy];

    co_offload_command_encode(encoded, what);
    assert_int_equal(co_offload_command_decode(&decoded, encoded, (uint32_t)rank->simulation->program.ranks), 0);
    assert_int_equal(co_proxy_command(proxy, rank->rank, &decoded, definition, bytes), 0);
    rank->simulation->activity++;
}

static struct co_offload_operation operation_at(const struct program_operation *operation)
{
    struct co_offload_operation there = operation->operation;
    there.address += there.kind == CO_OFFLOAD_OPERATION_BARRIER ? 0 : BASE;
    return there;
}

// Of operations [first, first + count) of a template.
static uint64_t bytes_to_receive(const struct simulation_rank *rank, int number, int first, int count)
{
    const struct program_operation *operations = template_of(rank->simulation, number)->operations[rank->rank];
    uint64_t bytes = 0;
    for (int i = first; i < first + count; i++) {
        bool receives = operations[i].operation.kind == CO_OFFLOAD_OPERATION_RECEIVE ||
                        operations[i].operation.kind == CO_OFFLOAD_OPERATION_FORWARD;
        bytes += receives ? operations[i].bytes : 0;
    }
    return bytes;
}

static int ticket_take(struct simulation_rank *rank, int number, uint64_t bytes)
{
    int ticket = (int)simulation_roll(rank->simulation, SIMULATION_TICKETS);
    for (int i = 0; i < SIMULATION_TICKETS; i++, ticket = (ticket + 1) % SIMULATION_TICKETS) {
        if (rank->ticket_template[ticket] < 0) {
            rank->ticket_template[ticket] = number;
            rank->ticket_bytes[ticket] = bytes;
            return ticket;
        }
    }
    return -1;
}

static void define(struct simulation_rank *rank, int number)
{
    const struct program_template *template = template_of(rank->simulation, number);
    uint8_t definition[PROGRAM_OPERATIONS * CO_OFFLOAD_OPERATION_BYTES];
    struct simulation_use *use = &rank->uses[number];

    for (int i = 0; i < template->count[rank->rank]; i++) {
        struct co_offload_operation operation = operation_at(&template->operations[rank->rank][i]);
        co_offload_operation_encode(definition + (size_t)i * CO_OFFLOAD_OPERATION_BYTES, &operation);
    }
    use->group = rank->next_group++;
    command(rank,
            &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_GROUP,
                                         .group = use->group,
                                         .operations = (uint32_t) template->count[rank->rank]},
            definition, (size_t) template->count[rank->rank] * CO_OFFLOAD_OPERATION_BYTES);
}

static void call_group(struct simulation_rank *rank, int number)
{
    struct simulation_use *use = &rank->uses[number];

    if (use->group == 0) {
        define(rank, number);
    }
    use->issued = template_of(rank->simulation, number)->count[rank->rank];
    use->pending = 1;
    int ticket = ticket_take(rank, number, bytes_to_receive(rank, number, 0, use->issued));
    command(
        rank,
        &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_CALL, .ticket = (uint32_t)ticket, .group = use->group},
        NULL, 0);
    if (simulation_roll(rank->simulation, 4) == 0) { // while the call is under way
        command(rank, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = use->group}, NULL, 0);
        use->group = 0;
    }
    rank->step++;
}

// The next basic operation of the step; where a group has a barrier, a program waits.
static void call_basic(struct simulation_rank *rank, int number)
{
    const struct program_template *template = template_of(rank->simulation, number);
    struct simulation_use *use = &rank->uses[number];
    const struct program_operation *next = &template->operations[rank->rank][use->issued];

    if (use->issued < template->count[rank->rank] && next->operation.kind != CO_OFFLOAD_OPERATION_BARRIER) {
        bool sends = next->operation.kind == CO_OFFLOAD_OPERATION_SEND;
        int ticket = ticket_take(rank, number, bytes_to_receive(rank, number, use->issued, 1));
        use->issued++;
        use->pending++;
        command(rank,
                &(struct co_offload_command){.kind = sends ? CO_OFFLOAD_COMMAND_SEND : CO_OFFLOAD_COMMAND_RECEIVE,
                                             .ticket = (uint32_t)ticket,
                                             .operation = operation_at(next)},
                NULL, 0);
    } else if (use->issued < template->count[rank->rank] && use->pending == 0) {
        use->issued++;
        rank->simulation->activity++;
    }
    if (use->issued == template->count[rank->rank]) {
        use->is_open = use->pending > 0; // nothing but barriers
        rank->step++;
        rank->simulation->activity++;
    }
}

static void leave(struct simulation_rank *rank)
{
    for (int i = 0; i < PROGRAM_TEMPLATES; i++) {
        if (rank->uses[i].is_open) {
            return;
        }
    }
    command(rank, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL, 0);
    assert_int_equal(co_proxy_rank_calls(rank->simulation->proxies[rank->proxy], rank->rank), 0);
    rank->is_over = true;
    if (simulation_roll(rank->simulation, 2)) { // its process ends while others are under way
        co_proxy_rank_lost(rank->simulation->proxies[rank->proxy], rank->rank);
    }
}

void simulation_rank_lose(struct simulation_rank *rank)
{
    if (rank->simulation->proxies[rank->proxy] != NULL) {
        co_proxy_rank_lost(rank->simulation->proxies[rank->proxy], rank->rank);
    }
    for (int i = 0; i < PROGRAM_TEMPLATES; i++) {
        rank->uses[i].is_open = false; // nothing may touch it any more
    }
    rank->is_lost = rank->is_over = true;
    rank->simulation->activity++;
}

void simulation_rank_act(struct simulation_rank *rank)
{
    struct simulation *simulation = rank->simulation;

    if (rank->is_over) {
        return;
    }
    if (rank->has_error) {
        simulation_rank_lose(rank);
    } else if (rank->step == simulation->program.step_count) {
        leave(rank);
    } else {
        int number = simulation->program.steps[rank->step];
        struct simulation_use *use = &rank->uses[number];
        bool is_within = use->is_open && use->step == rank->step;
        if (use->is_open && !is_within) {
            return; // its last call is not over
        }
        if (!is_within) {
            *use = (struct simulation_use){.is_open = true, .step = rank->step, .group = use->group};
            program_scribble(&simulation->program, rank->step, rank->rank, rank->memory + number * PROGRAM_AREA_BYTES);
        }
        if (template_of(simulation, number)->is_basic) {
            call_basic(rank, number);
        } else {
            call_group(rank, number);
        }
    }
}

void simulation_rank_open(struct simulation *simulation, int number)
{
    struct simulation_rank *rank = &simulation->ranks[number];

    *rank = (struct simulation_rank){
        .simulation = simulation, .rank = number, .proxy = simulation->proxy_of_rank[number], .next_group = 1};
    rank->patience = simulation_roll(simulation, 4) == 0 ? 1 + (int)simulation_roll(simulation, 200) : 1;
    for (int ticket = 0; ticket < SIMULATION_TICKETS; ticket++) {
        rank->ticket_template[ticket] = -1;
    }
    memory_window_open(&rank->window, rank->memory, BASE, PROGRAM_MEMORY_BYTES);
    rank->window.context = rank;
    rank->window.touch = touched;
    struct co_rank_window *window = &rank->window.window;
    if (simulation->limits.stage && simulation_roll(simulation, 3) > 0) {
        co_stage_window_open(&rank->stage, window, simulation_roll(simulation, STAGE_BYTES));
        window = &rank->stage.window;
    }
    assert_int_equal(co_proxy_rank_join(simulation->proxies[rank->proxy], number, window), 0);
}
