// SPDX-License-Identifier: BSD-3-Clause
//
// Command line of the p2p benchmark. Every rank reads it, rank 0 complains. Cold.
#include "p2p.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct p2p_call p2p_calls[P2P_CALLS] = {
    {"latency", P2P_LATENCY, false, false},
    {"bandwidth", P2P_BANDWIDTH, false, false},
    {"one-way", P2P_ONE_WAY, false, false},
    {"exchange", P2P_EXCHANGE, false, false},
    {"sendrecv", P2P_SENDRECV, false, false},
    {"persistent", P2P_PERSISTENT, false, false},
    {"probe", P2P_PROBE, false, false},
    {"test", P2P_TEST, false, false},
    {"ssend", P2P_SSEND, false, false},
    {"vector", P2P_VECTOR, false, false},
    {"rate", P2P_RATE, false, false},
    {"posting", P2P_POSTING, false, false},
    {"posted", P2P_POSTED, false, false},
    {"posted-reverse", P2P_POSTED, false, true},
    {"posted-any", P2P_POSTED, true, false},
    {"posted-any-reverse", P2P_POSTED, true, true},
    {"unexpected", P2P_UNEXPECTED, false, false},
    {"unexpected-reverse", P2P_UNEXPECTED, false, true},
    {"unexpected-any", P2P_UNEXPECTED, true, false},
    {"unexpected-any-reverse", P2P_UNEXPECTED, true, true},
};

static const struct option long_options[] = {
    {"calls", required_argument, NULL, 'c'},      {"sizes", required_argument, NULL, 's'},
    {"depths", required_argument, NULL, 'd'},     {"rounds-min", required_argument, NULL, 'm'},
    {"rounds-max", required_argument, NULL, 'M'}, {"seconds", required_argument, NULL, 't'},
    {"batch", required_argument, NULL, 'b'},      {NULL, 0, NULL, 0},
};

bool p2p_call_has_depth(const struct p2p_call *call)
{
    return call->kind >= P2P_RATE;
}

static bool take_calls(struct p2p_options *options, char *list)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        int call = 0;
        while (call < P2P_CALLS && strcmp(word, p2p_calls[call].name) != 0) {
            call++;
        }
        if (call == P2P_CALLS) {
            return false;
        }
        options->calls[call] = true;
    }
    return true;
}

// Plain numbers: `castoff bench` has expanded ranges and suffixes.
static bool take_steps(struct p2p_steps *steps, char *list, unsigned long long least, unsigned long long most)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
        char *end;
        unsigned long long value = strtoull(word, &end, 10);
        if (*end || value < least || value > most || steps->count == P2P_STEPS_MAX) {
            return false;
        }
        steps->at[steps->count++] = value;
    }
    return steps->count > 0;
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

static bool take_option(struct p2p_options *options, int option)
{
    switch (option) {
    case 'c':
        return take_calls(options, optarg);
    case 's':
        return take_steps(&options->sizes, optarg, 1, 1ULL << 30);
    case 'd':
        return take_steps(&options->depths, optarg, 0, 1ULL << 20);
    case 'm':
        return take_count(optarg, 1, &options->rounds_min);
    case 'M':
        return take_count(optarg, 1, &options->rounds_max);
    case 't':
        options->seconds = atof(optarg);
        return options->seconds >= 0;
    case 'b':
        return take_count(optarg, 0, &options->batch);
    default:
        return false;
    }
}

static bool has_steps(const struct p2p_options *options)
{
    for (int call = 0; call < P2P_CALLS; call++) {
        const struct p2p_steps *steps = p2p_call_has_depth(&p2p_calls[call]) ? &options->depths : &options->sizes;
        if (options->calls[call] && steps->count == 0) {
            return false;
        }
    }
    return options->rounds_max >= options->rounds_min;
}

bool p2p_options_read(struct p2p_options *options, int argc, char **argv, int rank)
{
    *options = (struct p2p_options){.rounds_min = 10, .rounds_max = 200, .seconds = 0.5};
    opterr = rank == 0;
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (!take_option(options, option)) {
            if (rank == 0) {
                fprintf(stderr, "p2p: bad option or value near '%s'; castoff bench p2p -h lists what there is\n",
                        optarg ? optarg : argv[optind - 1]);
            }
            return false;
        }
    }
    if (!has_steps(options)) {
        if (rank == 0) {
            fputs("p2p: --sizes or --depths is missing, or --rounds-max is below --rounds-min\n", stderr);
        }
        return false;
    }
    return true;
}
