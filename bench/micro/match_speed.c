// SPDX-License-Identifier: BSD-3-Clause
//
// How fast src/matching is, alone: one inline lane against the depth of its queues, and blocks of messages by 1 to 32
// lanes, by threads as far as there are cores and by counted steps, beside the published rates.
//
//   match_speed [seconds for each value] [file of published rates] [greatest depth]
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "match_speed.h"

enum { WINDOW = 128, DEPTH_MAX = 16384, TURNS_MAX = 20000 };

static double seconds = 0.2;

// Inline lane.
struct deep {
    struct speed_rig rig;
    struct co_match_node standing[DEPTH_MAX];
    int depth;
    int32_t source; // that receives name
};

static double turns_first[TURNS_MAX], turns_second[TURNS_MAX];

struct pair_of_times {
    double wait, match; // nanoseconds of what comes first and waits, of what finds it
};

static void fail(const char *what)
{
    fprintf(stderr, "match_speed: %s\n", what);
    exit(1);
}

static void fill(struct deep *deep, bool are_messages)
{
    for (int i = 0; i < deep->depth; i++) {
        struct co_match_node *node = &deep->standing[i];
        *node = (struct co_match_node){.source = are_messages ? 0 : deep->source, .tag = WINDOW + i};
        if ((are_messages ? co_matcher_arrive(deep->rig.matcher, node, NULL)
                          : co_matcher_post(deep->rig.matcher, node)) != NULL) {
            fail("what should wait was matched");
        }
    }
}

// Behind all that stand, last first: a list would walk past everything.
static void posted_turn(struct deep *deep, double *posting, double *matching)
{
    struct speed_rig *rig = &deep->rig;
    struct co_match_node *found[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        rig->receives[i] = (struct co_match_node){.source = deep->source, .tag = i};
        rig->messages[i] = (struct co_match_node){.source = 0, .tag = i};
    }
    uint64_t start = co_clock_now_ns();
    for (int i = 0; i < WINDOW; i++) {
        co_matcher_post(rig->matcher, &rig->receives[i]);
    }
    uint64_t middle = co_clock_now_ns();
    for (int i = WINDOW - 1; i >= 0; i--) {
        found[i] = co_matcher_arrive(rig->matcher, &rig->messages[i], NULL);
    }
    *matching = (double)(co_clock_now_ns() - middle) / WINDOW;
    *posting = (double)(middle - start) / WINDOW;
    for (int i = 0; i < WINDOW; i++) {
        if (found[i] != &rig->receives[i]) {
            fail("a message took another receive");
        }
    }
}

static void unexpected_turn(struct deep *deep, double *storing, double *matching)
{
    struct speed_rig *rig = &deep->rig;
    struct co_match_node *found[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        rig->receives[i] = (struct co_match_node){.source = deep->source, .tag = i};
        rig->messages[i] = (struct co_match_node){.source = 0, .tag = i};
    }
    uint64_t start = co_clock_now_ns();
    for (int i = 0; i < WINDOW; i++) {
        co_matcher_arrive(rig->matcher, &rig->messages[i], NULL);
    }
    uint64_t middle = co_clock_now_ns();
    for (int i = WINDOW - 1; i >= 0; i--) {
        found[i] = co_matcher_post(rig->matcher, &rig->receives[i]);
    }
    *matching = (double)(co_clock_now_ns() - middle) / WINDOW;
    *storing = (double)(middle - start) / WINDOW;
    for (int i = 0; i < WINDOW; i++) {
        if (found[i] != &rig->messages[i]) {
            fail("a receive took another message");
        }
    }
}

static struct pair_of_times inline_lane(int depth, bool are_messages, int32_t source)
{
    static struct deep deep;
    deep.depth = depth;
    deep.source = source;
    speed_rig_open(&deep.rig);
    fill(&deep, are_messages);
    uint64_t start = co_clock_now_ns();
    int turns = 0;
    while (turns < TURNS_MAX && (turns < 5 || (double)(co_clock_now_ns() - start) < seconds * 1e9)) {
        (are_messages ? unexpected_turn : posted_turn)(&deep, &turns_first[turns], &turns_second[turns]);
        turns++;
    }
    speed_rig_close(&deep.rig);
    return (struct pair_of_times){speed_median(turns_first, turns), speed_median(turns_second, turns)};
}

static void print_inline(int greatest)
{
    static const int depths[] = {0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    printf("# Inline lane, behind all that wait, last first: ns a message, M/s in brackets; median of turns of %d\n",
           WINDOW);
    printf("# %7s %15s %15s %8s %15s %15s %8s\n", "depth", "posted", "from any", "post it", "unexpected", "by any",
           "store it");
    for (size_t i = 0; i < sizeof depths / sizeof *depths && depths[i] <= greatest; i++) {
        struct pair_of_times exact = inline_lane(depths[i], false, 0);
        struct pair_of_times any = inline_lane(depths[i], false, CO_MATCH_ANY);
        struct pair_of_times early = inline_lane(depths[i], true, 0);
        struct pair_of_times early_any = inline_lane(depths[i], true, CO_MATCH_ANY);
        printf("inline %2d %8.1f (%4.1f) %8.1f (%4.1f) %8.1f %8.1f (%4.1f) %8.1f (%4.1f) %8.1f\n", depths[i],
               exact.match, 1e3 / exact.match, any.match, 1e3 / any.match, exact.wait, early.match, 1e3 / early.match,
               early_any.match, 1e3 / early_any.match, early.wait);
    }
}

// Lanes.
static const char *const path_names[CO_PATHS] = {"no conflict", "fast path", "slow path"};

// The published rate for so many threads, M/s; 0: not in the file. Lines: lanes,path,rate.
static double published_rate(const char *file, unsigned lanes, enum co_match_path path)
{
    FILE *stream = file ? fopen(file, "r") : NULL;
    char line[256], name[32];
    unsigned count;
    double rate, found = 0;
    while (stream && fgets(line, sizeof line, stream)) {
        if (sscanf(line, "%u,%31[^,],%lf", &count, name, &rate) == 3 && count == lanes &&
            strcmp(name, path_names[path]) == 0) {
            found = rate;
        }
    }
    if (stream) {
        fclose(stream);
    } else if (file) {
        fail("the file of published rates is not there");
    }
    return found;
}

struct lane_row {
    double one_rate, threads_rate, share, published;
    struct speed_steps steps;
};

// One thread runs the lanes of a block one after the other, so that they never meet.
static struct lane_row measure_lanes(unsigned lanes, enum co_match_path path, unsigned cores, const char *published)
{
    struct lane_row row = {.published = published_rate(published, lanes, path),
                           .steps = speed_steps_count(path, lanes)};
    if (path == CO_PATH_FREE) {
        row.one_rate = 1e3 / speed_threads(path, lanes, 1, seconds, &row.share);
    }
    if (lanes > 1 && lanes <= cores) {
        row.threads_rate = 1e3 / speed_threads(path, lanes, lanes, seconds, &row.share);
    }
    return row;
}

static void put(double value, int width, int digits)
{
    if (value > 0) {
        printf(" %*.*f", width, digits, value);
    } else {
        printf(" %*s", width, "-");
    }
}

static void print_row(unsigned lanes, enum co_match_path path, const struct lane_row *row, const struct lane_row *free,
                      double published_one)
{
    double speed = (double)lanes / row->steps.rounds, free_speed = (double)lanes / free->steps.rounds;
    printf("lanes %2u %-11s", lanes, path_names[path]);
    put(row->one_rate, 7, 2);
    put(row->threads_rate, 8, 3);
    if (row->threads_rate > 0) {
        printf(" %4.0f", 100 * row->share);
    } else {
        printf(" %4s", "-");
    }
    printf(" %7u %7u %8.4f %6.2f", row->steps.rounds, row->steps.work, speed, speed / free_speed);
    put(row->published, 9, 3);
    put(free->published > 0 ? row->published / free->published : 0, 6, 2);
    put(published_one > 0 ? row->published / published_one : 0, 6, 2);
    putchar('\n');
}

static void print_lanes(const char *published)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cores = online > CO_MATCH_LANES_MAX ? CO_MATCH_LANES_MAX : (unsigned)online;
    double published_one = published_rate(published, 1, CO_PATH_FREE);
    printf("# Blocks of as many messages as lanes, %u cores. M/s with begin and end of the block: all lanes by one\n"
           "# thread, a thread for each lane, and how many of 100 lanes went by the path. Counted steps of a block on\n"
           "# its critical path and in all, messages a step of that path, and that over the same without conflict.\n"
           "# Published: M/s, over the same without conflict, over one lane.\n",
           cores);
    printf("# %4s %-11s %7s %8s %4s %7s %7s %8s %6s %9s %6s %6s\n", "", "", "one", "threads", "%", "path", "all",
           "m/step", "ratio", "published", "ratio", "lanes");
    for (unsigned lanes = 1; lanes <= CO_MATCH_LANES_MAX; lanes *= 2) {
        struct lane_row rows[CO_PATHS];
        for (int path = 0; path < CO_PATHS; path++) {
            rows[path] = measure_lanes(lanes, (enum co_match_path)path, cores, published);
            print_row(lanes, (enum co_match_path)path, &rows[path], &rows[CO_PATH_FREE], published_one);
        }
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    seconds = argc > 1 ? atof(argv[1]) : seconds;
    print_inline(argc > 3 ? atoi(argv[3]) : DEPTH_MAX);
    print_lanes(argc > 2 ? argv[2] : NULL);
    return 0;
}
