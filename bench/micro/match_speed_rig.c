// SPDX-License-Identifier: BSD-3-Clause
//
// What all parts of match_speed measure with: a matcher, the receives and messages of the three cases, and the check
// that message i took receive i.
#include "match_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct co_matcher_config usual = {.receives = 32768, .messages = 32768, .bins = 8192};

void speed_rig_open(struct speed_rig *rig)
{
    size_t bytes = (co_matcher_bytes(&usual) + CO_LINE_PAIR - 1) / CO_LINE_PAIR * CO_LINE_PAIR;
    rig->memory = aligned_alloc(CO_LINE_PAIR, bytes);
    if (rig->memory == NULL) {
        fputs("match_speed: out of memory\n", stderr);
        exit(1);
    }
    memset(rig->memory, 0, bytes);
    rig->matcher = co_matcher_open(rig->memory, &usual);
}

void speed_rig_close(struct speed_rig *rig)
{
    free(rig->memory);
}

static int32_t source_of(enum co_match_path path, unsigned receive)
{
    return path == CO_PATH_SLOW && receive % 2 == 1 ? CO_MATCH_ANY : 0;
}

static int32_t tag_of(enum co_match_path path, unsigned i)
{
    return path == CO_PATH_FREE ? (int32_t)i : 0;
}

void speed_rig_post(struct speed_rig *rig, enum co_match_path path, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rig->receives[i] = (struct co_match_node){.source = source_of(path, i), .tag = tag_of(path, i)};
        rig->messages[i] = (struct co_match_node){.source = 0, .tag = tag_of(path, i)};
        co_matcher_post(rig->matcher, &rig->receives[i]);
    }
}

void speed_rig_block(struct speed_rig *rig, struct co_match_batch *block, enum co_match_path path, unsigned first,
                     unsigned lanes)
{
    block->matcher = rig->matcher;
    block->count = lanes;
    block->early_check = false;
    for (unsigned i = 0; i < lanes; i++) {
        block->messages[i] = &rig->messages[first + i];
        block->hashes[i] = co_match_hashes_of(0, tag_of(path, first + i));
    }
}

unsigned speed_rig_check(struct speed_rig *rig, const struct co_match_batch *block, enum co_match_path path,
                         unsigned first)
{
    unsigned by_path = 0;
    for (unsigned i = 0; i < block->count; i++) {
        if (block->receives[i] != &rig->receives[first + i] || block->faults != 0) {
            fprintf(stderr, "match_speed: message %u took another receive\n", first + i);
            exit(1);
        }
        by_path += i > 0 && block->lanes[i].path == path;
    }
    return by_path;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double speed_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}
