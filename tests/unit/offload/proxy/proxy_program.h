// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs for the simulation of proxies, made from a seed, and the naive executor that says what they have to
// come to. A template is a graph of messages: a list of them in one order, of which each rank records its own ends,
// with a barrier where a buffer is used again and at random. Since all ranks keep to that order, no graph has a ring. A
// program is a list of steps that all ranks go through, each a run of a template, with fresh bytes in its buffers. One
// template is not recorded: its operations are basic ones.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_PROGRAM_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_PROGRAM_H

#include <stdbool.h>

#include "offload/offload_command.h"

enum {
    PROGRAM_RANKS = 12,
    PROGRAM_TEMPLATES = 4,
    PROGRAM_MESSAGES = 24,
    PROGRAM_OPERATIONS = 4 * PROGRAM_MESSAGES, // of one rank
    PROGRAM_STEPS = 12,
    PROGRAM_SLOTS = 5, // buffers of a rank for one template
    PROGRAM_SLOT_BYTES = 96,
    PROGRAM_AREA_BYTES = PROGRAM_SLOTS * PROGRAM_SLOT_BYTES,
    PROGRAM_MEMORY_BYTES = PROGRAM_TEMPLATES * PROGRAM_AREA_BYTES
};

struct program_message {
    int from, to;
    int from_slot, to_slot;
    uint64_t bytes;
};

struct program_operation {
    struct co_offload_operation operation; // its address counts from the rank's memory
    int slot;
    uint64_t bytes; // that really come, of a receive
};

struct program_template {
    bool is_basic;
    int message_count;
    struct program_message messages[PROGRAM_MESSAGES];
    int count[PROGRAM_RANKS];
    struct program_operation operations[PROGRAM_RANKS][PROGRAM_OPERATIONS];
};

struct program {
    unsigned seed;
    uint64_t random;
    int ranks, template_count, step_count;
    struct program_template templates[PROGRAM_TEMPLATES];
    int steps[PROGRAM_STEPS]; // templates
    unsigned char expected[PROGRAM_STEPS][PROGRAM_RANKS][PROGRAM_AREA_BYTES];
};

unsigned program_random(struct program *program, unsigned below);
// Everything, with what it has to come to.
void program_make(struct program *program, unsigned seed, int ranks);
// What is in a rank's buffers of the step's template when it calls.
void program_scribble(const struct program *program, int step, int rank, unsigned char area[PROGRAM_AREA_BYTES]);

#endif
