// SPDX-License-Identifier: BSD-3-Clause
//
// Bins of outstanding receives. How many bins hold so many receives is kept beside them: the fullest is known at once.
#include "tools/trace/analyze/published.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_map.h"

// RFC 3074.
static const uint8_t permutation[256] = {
    1,   87,  49,  12,  176, 178, 102, 166, 121, 193, 6,   84,  249, 230, 44,  163, 14,  197, 213, 181, 161, 85,
    218, 80,  64,  239, 24,  226, 236, 142, 38,  200, 110, 177, 104, 103, 141, 253, 255, 50,  77,  101, 81,  18,
    45,  96,  31,  222, 25,  107, 190, 70,  86,  237, 240, 34,  72,  242, 20,  214, 244, 227, 149, 235, 97,  234,
    57,  22,  60,  250, 82,  175, 208, 5,   127, 199, 111, 62,  135, 248, 174, 169, 211, 58,  66,  154, 106, 195,
    245, 171, 17,  187, 182, 179, 0,   243, 132, 56,  148, 75,  128, 133, 158, 100, 130, 126, 91,  13,  153, 246,
    216, 219, 119, 68,  223, 78,  83,  88,  201, 99,  122, 11,  92,  32,  136, 114, 52,  10,  138, 30,  48,  183,
    156, 35,  61,  26,  143, 74,  251, 94,  129, 162, 63,  152, 170, 7,   115, 167, 241, 206, 3,   150, 55,  59,
    151, 220, 90,  53,  23,  131, 125, 173, 15,  238, 79,  95,  89,  16,  105, 137, 225, 224, 217, 160, 37,  123,
    118, 73,  2,   157, 46,  116, 9,   145, 134, 228, 207, 212, 202, 215, 69,  229, 27,  188, 67,  124, 168, 252,
    42,  4,   29,  108, 21,  247, 19,  205, 39,  203, 233, 40,  186, 147, 198, 192, 155, 33,  164, 191, 98,  204,
    165, 180, 117, 76,  140, 36,  210, 172, 41,  54,  159, 8,   185, 232, 113, 196, 231, 47,  146, 120, 51,  65,
    28,  144, 254, 221, 93,  189, 194, 139, 112, 43,  71,  109, 184, 209,
};

uint8_t co_published_hash(int32_t source, int32_t tag, uint32_t comm)
{
    uint32_t words[3] = {source == CO_CALL_ANY ? 0 : (uint32_t)source, tag == CO_CALL_ANY ? 0 : (uint32_t)tag, comm};
    uint8_t hash = 0;
    for (int word = 0; word < 3; word++) {
        for (int shift = 0; shift < 32; shift += 8) {
            hash = permutation[hash ^ (uint8_t)(words[word] >> shift)];
        }
    }
    return hash;
}

// Of one rank, for one number of bins.
struct bins {
    uint32_t *held;      // by each bin
    uint32_t *bins_with; // so many: index from 0
    uint32_t room;       // of bins_with
    uint32_t fullest, since_point;
};

struct rank {
    struct co_hash_map outstanding; // number of a receive, plus one, to its hash plus one
    struct bins *bins;
    bool is_over;
};

static int hold(struct bins *bins, uint32_t bin)
{
    uint32_t held = bins->held[bin] + 1;
    if (held >= bins->room) {
        uint32_t room = bins->room == 0 ? 64 : 2 * bins->room;
        uint32_t *larger = realloc(bins->bins_with, room * sizeof *larger);
        if (larger == NULL) {
            return -ENOMEM;
        }
        for (uint32_t i = bins->room; i < room; i++) {
            larger[i] = 0;
        }
        bins->bins_with = larger;
        bins->room = room;
    }
    bins->bins_with[held - 1] -= held > 1;
    bins->bins_with[held]++;
    bins->held[bin] = held;
    bins->fullest = held > bins->fullest ? held : bins->fullest;
    bins->since_point = bins->fullest > bins->since_point ? bins->fullest : bins->since_point;
    return 0;
}

static void let_go(struct bins *bins, uint32_t bin)
{
    uint32_t held = bins->held[bin]--;
    bins->bins_with[held]--;
    bins->bins_with[held - 1] += held > 1;
    while (bins->fullest > 0 && bins->bins_with[bins->fullest] == 0) {
        bins->fullest--;
    }
}

static int post(struct rank *rank, const struct co_event *event, const struct co_published_depth *depths, size_t count)
{
    uint32_t hash = co_published_hash(event->peer, event->tag, event->comm);
    int error = co_hash_map_put(&rank->outstanding, (uint64_t)event->number + 1, (void *)(uintptr_t)(hash + 1));
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = hold(&rank->bins[i], hash % depths[i].bins);
    }
    return error == -EEXIST ? 0 : error; // numbers come once, but for a file that is damaged
}

static void retire(struct rank *rank, const struct co_event *event, const struct co_published_depth *depths,
                   size_t count)
{
    uint32_t hash = (uint32_t)(uintptr_t)co_hash_map_remove(&rank->outstanding, (uint64_t)event->number + 1);
    for (size_t i = 0; hash != 0 && i < count; i++) {
        let_go(&rank->bins[i], (hash - 1) % depths[i].bins);
    }
}

// On to the next progress point: 1; 0: there is none; or -errno.
static int advance(struct rank *rank, struct co_event_reader *events, const struct co_published_depth *depths,
                   size_t count)
{
    const struct co_event *event;
    while ((event = co_event_reader_peek(events)) != NULL) {
        co_event_reader_move_on(events);
        int error = 0;
        if (event->op == CO_EVENT_POST && (event->flags & CO_EVENT_NONBLOCKING) != 0) {
            error = post(rank, event, depths, count);
        } else if (event->op == CO_EVENT_DONE || event->op == CO_EVENT_CANCEL || event->op == CO_EVENT_FREE) {
            retire(rank, event, depths, count);
        } else if (event->op == CO_EVENT_POINT) {
            return 1;
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static void close_ranks(struct rank *ranks, size_t rank_count, size_t depth_count)
{
    for (size_t r = 0; ranks != NULL && r < rank_count; r++) {
        for (size_t i = 0; ranks[r].bins != NULL && i < depth_count; i++) {
            free(ranks[r].bins[i].held);
            free(ranks[r].bins[i].bins_with);
        }
        free(ranks[r].bins);
        co_hash_map_close(&ranks[r].outstanding);
    }
    free(ranks);
}

static struct rank *open_ranks(size_t rank_count, const struct co_published_depth *depths, size_t depth_count)
{
    struct rank *ranks = calloc(rank_count + 1, sizeof *ranks);
    for (size_t r = 0; ranks != NULL && r < rank_count; r++) {
        bool is_there = (ranks[r].bins = calloc(depth_count + 1, sizeof *ranks[r].bins)) != NULL;
        for (size_t i = 0; is_there && i < depth_count; i++) {
            ranks[r].bins[i].held = calloc(depths[i].bins, sizeof *ranks[r].bins[i].held);
            is_there = ranks[r].bins[i].held != NULL;
        }
        if (!is_there) {
            close_ranks(ranks, rank_count, depth_count);
            return NULL;
        }
    }
    return ranks;
}

static uint32_t depth_of(uint32_t held)
{
    return held > 0 ? held - 1 : 0;
}

// All ranks that have a point are at it: what it adds.
static void take_point(struct rank *ranks, size_t rank_count, struct co_published_depth *depths, size_t depth_count)
{
    for (size_t i = 0; i < depth_count; i++) {
        uint64_t sum = 0, present = 0;
        for (size_t r = 0; r < rank_count; r++) {
            struct bins *bins = &ranks[r].bins[i];
            if (ranks[r].is_over) {
                continue;
            }
            uint32_t depth = depth_of(bins->since_point);
            bins->since_point = bins->fullest;
            sum += depth;
            present++;
            depths[i].largest = depth > depths[i].largest ? depth : depths[i].largest;
        }
        double mean = present > 0 ? (double)sum / (double)present : 0;
        depths[i].average = mean > depths[i].average ? mean : depths[i].average;
    }
}

int co_published_depths(struct co_event_reader *readers, size_t rank_count, struct co_published_depth *depths,
                        size_t depth_count)
{
    struct rank *ranks = open_ranks(rank_count, depths, depth_count);
    int error = ranks == NULL ? -ENOMEM : 0;
    size_t going = rank_count;
    while (error == 0 && going > 0) {
        going = 0;
        for (size_t r = 0; error == 0 && r < rank_count; r++) {
            int got = ranks[r].is_over ? 0 : advance(&ranks[r], &readers[r], depths, depth_count);
            ranks[r].is_over = got <= 0;
            going += got > 0;
            error = got < 0 ? got : 0;
        }
        if (error == 0) {
            take_point(ranks, rank_count, depths, depth_count);
        }
    }
    close_ranks(ranks, rank_count, depth_count);
    return error;
}
