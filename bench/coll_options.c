// SPDX-License-Identifier: BSD-3-Clause
//
// Command line of the coll benchmark. Every rank reads it, rank 0 complains. Cold.
#include "coll.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option long_options[] = {
    {"calls", required_argument, NULL, 'c'},      {"sizes", required_argument, NULL, 's'},
    {"rounds-min", required_argument, NULL, 'm'}, {"rounds-max", required_argument, NULL, 'M'},
    {"seconds", required_argument, NULL, 't'},    {"batch", required_argument, NULL, 'b'},
    {"late-ms", required_argument, NULL, 'l'},    {"compute", required_argument, NULL, 'z'},
    {"blocks", required_argument, NULL, 'k'},     {"pin", required_argument, NULL, 'p'},
    {"algorithms", no_argument, NULL, 'a'},       {"root", required_argument, NULL, 'r'},
    {"in-turn", no_argument, NULL, 'i'},          {NULL, 0, NULL, 0},
};

static bool take_calls(struct coll_options *options, char *list)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        int call = 0;
        while (call < COLL_CALLS && strcmp(word, coll_call_names[call]) != 0) {
            call++;
        }
        if (call == COLL_CALLS) {
            return false;
        }
        options->calls[call] = true;
    }
    return true;
}

// Plain byte counts: `castoff bench` has expanded ranges and suffixes.
static bool take_sizes(struct coll_options *options, char *list)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        char *end;
        unsigned long long bytes = strtoull(word, &end, 10);
        if (*end || bytes == 0 || bytes > (1ULL << 40) || options->size_count == COLL_SIZES_MAX) {
            return false;
        }
        options->sizes[options->size_count++] = bytes;
    }
    return options->size_count > 0;
}

static bool take_count(const char *text, int lowest, int *count)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < lowest || value > 1000000) {
        return false;
    }
    *count = (int)value;
    return true;
}

// Which of the names it is; -1: none.
static int find_word(const char *word, const char *const names[], int count)
{
    int i = 0;
    while (i < count && strcmp(word, names[i]) != 0) {
        i++;
    }
    return i < count ? i : -1;
}

static bool take_compute(struct coll_options *options, const char *word)
{
    static const char *const names[COLL_COMPUTES] = {"osu", "steps", "sleep"};
    int found = find_word(word, names, COLL_COMPUTES);
    options->compute = found < 0 ? COLL_COMPUTE_OSU : (enum coll_compute)found;
    return found >= 0;
}

static bool take_blocks(struct coll_options *options, const char *word)
{
    static const char *const names[COLL_BLOCKS] = {"growing", "equal", "long"};
    int found = find_word(word, names, COLL_BLOCKS);
    options->blocks = found < 0 ? COLL_BLOCKS_GROWING : (enum coll_blocks)found;
    return found >= 0;
}

static bool take_pin(struct coll_options *options, const char *word)
{
    static const char *const names[COLL_PINS] = {"none", "measured", "shared"};
    int found = find_word(word, names, COLL_PINS);
    options->pin = found < 0 ? COLL_PIN_NONE : (enum coll_pin)found;
    return found >= 0;
}

static bool take_option(struct coll_options *options, int option)
{
    switch (option) {
    case 'c':
        return take_calls(options, optarg);
    case 's':
        return take_sizes(options, optarg);
    case 'm':
        return take_count(optarg, 1, &options->rounds_min);
    case 'M':
        return take_count(optarg, 1, &options->rounds_max);
    case 't':
        options->seconds = atof(optarg);
        return options->seconds >= 0;
    case 'b':
        return take_count(optarg, 0, &options->batch);
    case 'l':
        return take_count(optarg, 0, &options->late_ms);
    case 'r':
        return take_count(optarg, 0, &options->root);
    case 'z':
        return take_compute(options, optarg);
    case 'k':
        return take_blocks(options, optarg);
    case 'p':
        return take_pin(options, optarg);
    case 'a':
        options->has_algorithms = true;
        return true;
    case 'i':
        options->takes_turns = true;
        return true;
    default:
        return false;
    }
}

bool coll_options_read(struct coll_options *options, int argc, char **argv, int rank)
{
    *options = (struct coll_options){.rounds_min = 10, .rounds_max = 200, .seconds = 0.5, .late_ms = 20};
    opterr = rank == 0;
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (!take_option(options, option)) {
            if (rank == 0) {
                fprintf(stderr, "coll: bad option or value near '%s'; castoff bench -h lists what there is\n",
                        optarg ? optarg : argv[optind - 1]);
            }
            return false;
        }
    }
    bool is_of_rounds = true;
    for (int call = COLL_ISTART; call < COLL_CALLS; call++) {
        is_of_rounds &= !options->calls[call];
    }
    if (options->takes_turns && !is_of_rounds) {
        if (rank == 0) {
            fputs("coll: --in-turn is not for istart and the overlaps\n", stderr);
        }
        return false;
    }
    if (options->size_count == 0 || options->rounds_max < options->rounds_min) {
        if (rank == 0) {
            fputs("coll: --sizes is missing, or --rounds-max is below --rounds-min\n", stderr);
        }
        return false;
    }
    return true;
}
