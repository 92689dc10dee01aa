// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs, and what they come to; see the header.
#include "proxy_program.h"

#include <assert.h>
#include <string.h>

#include "base/mix_bits.h"

// Of one rank, of one template: what has been done with each buffer since the last barrier.
struct use {
    bool is_read[PROGRAM_SLOTS], is_written[PROGRAM_SLOTS];
};

unsigned program_random(struct program *program, unsigned below)
{
    program->random += UINT64_C(0x9E3779B97F4A7C15);
    return (unsigned)(co_mix_bits(program->random) >> 33) % below;
}

static bool chance(struct program *program, unsigned percent)
{
    return program_random(program, 100) < percent;
}

static struct program_operation *operation_add(struct program_template *template, int rank, uint32_t kind)
{
    assert(template->count[rank] < PROGRAM_OPERATIONS);
    struct program_operation *operation = &template->operations[rank][template->count[rank]++];
    *operation = (struct program_operation){.operation.kind = kind};
    return operation;
}

static void barrier_add(struct program_template *template, struct use *use, int rank)
{
    operation_add(template, rank, CO_OFFLOAD_OPERATION_BARRIER);
    *use = (struct use){0};
}

static void barrier_before(struct program *program, struct program_template *template, struct use *use, int rank,
                           int slot, bool is_write)
{
    if (use->is_written[slot] || (is_write && use->is_read[slot]) || chance(program, 10)) {
        barrier_add(template, use, rank);
    }
}

// From a buffer of the first rank to one of each of the others, by way of those between.
static void chain_add(struct program *program, struct program_template *template, struct use *uses, const int *ranks,
                      int count)
{
    int number = (int)(template - program->templates), slots[PROGRAM_RANKS];
    uint64_t bytes = chance(program, 10) ? 0 : program_random(program, PROGRAM_SLOT_BYTES + 1);
    uint32_t tags[PROGRAM_RANKS];

    for (int i = 0; i < count; i++) {
        slots[i] = (int)program_random(program, PROGRAM_SLOTS);
        tags[i] = program_random(program, 2);
        slots[i] = i > 0 && ranks[i] == ranks[0] && slots[i] == slots[0] ? (slots[i] + 1) % PROGRAM_SLOTS : slots[i];
    }
    // Who sends to itself must not wait in between: all barriers come first.
    for (int i = 0; i < count; i++) {
        barrier_before(program, template, &uses[ranks[i]], ranks[i], slots[i], i > 0);
    }
    for (int i = 0; i < count; i++) {
        bool receives = i > 0, sends = i + 1 < count;
        struct program_operation *operation = operation_add(template, ranks[i],
                                                            receives && sends ? CO_OFFLOAD_OPERATION_FORWARD
                                                            : sends           ? CO_OFFLOAD_OPERATION_SEND
                                                                              : CO_OFFLOAD_OPERATION_RECEIVE);
        operation->slot = slots[i];
        operation->bytes = bytes;
        operation->operation.address = (uint64_t)(number * PROGRAM_AREA_BYTES + slots[i] * PROGRAM_SLOT_BYTES);
        operation->operation.bytes = bytes;
        if (receives) {
            operation->operation.from = (uint32_t)ranks[i - 1];
            operation->operation.from_tag = tags[i - 1];
            operation->operation.bytes += program_random(program, (unsigned)(PROGRAM_SLOT_BYTES - bytes + 1));
            uses[ranks[i]].is_written[slots[i]] = true;
            template->messages[template->message_count++] =
                (struct program_message){ranks[i - 1], ranks[i], slots[i - 1], slots[i], bytes};
        } else {
            uses[ranks[i]].is_read[slots[i]] = true;
        }
        if (sends) {
            operation->operation.to = (uint32_t)ranks[i + 1];
            operation->operation.to_tag = tags[i];
        }
    }
}

static void template_make(struct program *program, struct program_template *template, bool is_basic)
{
    struct use uses[PROGRAM_RANKS] = {0};
    int wanted = 1 + (int)program_random(program, PROGRAM_MESSAGES - 4);

    template->is_basic = is_basic;
    while (template->message_count < wanted) {
        int ranks[PROGRAM_RANKS], count = 0;
        int length = !is_basic && chance(program, 30) ? 3 + (int)program_random(program, 2) : 2;
        ranks[count++] = (int)program_random(program, (unsigned)program->ranks);
        while (count < length && count < program->ranks) {
            int next =
                (ranks[count - 1] + 1 + (int)program_random(program, (unsigned)program->ranks - 1)) % program->ranks;
            for (int i = 0; i < count; i++) {
                next = next == ranks[i] ? -1 : next;
            }
            if (next >= 0) {
                ranks[count++] = next;
            }
        }
        if (count == 2 && chance(program, 5)) {
            ranks[1] = ranks[0]; // to itself
        }
        chain_add(program, template, uses, ranks, count);
    }
}

void program_scribble(const struct program *program, int step, int rank, unsigned char area[PROGRAM_AREA_BYTES])
{
    for (unsigned i = 0; i < PROGRAM_AREA_BYTES; i++) {
        area[i] = (unsigned char)co_mix_bits(((uint64_t)program->seed << 32) + (uint64_t)step * 1000003 +
                                             (uint64_t)rank * 7919 + i);
    }
}

// One message after the other.
static void expect(struct program *program, int step)
{
    const struct program_template *template = &program->templates[program->steps[step]];

    for (int rank = 0; rank < program->ranks; rank++) {
        program_scribble(program, step, rank, program->expected[step][rank]);
    }
    for (int i = 0; i < template->message_count; i++) {
        const struct program_message *message = &template->messages[i];
        memmove(program->expected[step][message->to] + message->to_slot * PROGRAM_SLOT_BYTES,
                program->expected[step][message->from] + message->from_slot * PROGRAM_SLOT_BYTES, message->bytes);
    }
}

void program_make(struct program *program, unsigned seed, int ranks)
{
    memset(program, 0, sizeof *program);
    program->seed = seed;
    program->random = co_mix_bits(seed);
    program->ranks = ranks;
    program->template_count = 1 + (int)program_random(program, PROGRAM_TEMPLATES);
    program->step_count = 2 + (int)program_random(program, PROGRAM_STEPS - 1);
    for (int i = 0; i < program->template_count; i++) {
        template_make(program, &program->templates[i], i == 0 && chance(program, 50));
    }
    for (int step = 0; step < program->step_count; step++) {
        program->steps[step] = (int)program_random(program, (unsigned)program->template_count);
        expect(program, step);
    }
}
