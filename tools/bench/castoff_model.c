// SPDX-License-Identifier: BSD-3-Clause
//
// castoff bench --model: the cost model of a fat tree as a table. Cold.
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/launch/command.h"
#include "model_fat_tree.h"

struct question {
    uint64_t hosts, radix, leaf, pod, bytes;
    enum co_model_collective collective;
};

static const struct option long_options[] = {
    {"model", no_argument, NULL, 'm'},
    {"hosts", required_argument, NULL, 'P'},
    {"radix", required_argument, NULL, 'R'},
    {"collective", required_argument, NULL, 'c'},
    {"bytes", required_argument, NULL, 'b'},
    {"leaf", required_argument, NULL, 'l'},
    {"pod", required_argument, NULL, 'p'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool take_number(uint64_t *number, const char *option)
{
    size_t value;
    if (co_bench_sizes_parse(optarg, &value, 1) != 1) {
        co_command_complain(&co_command_bench, "--%s takes a number from 1 on, not '%s'", option, optarg);
        return false;
    }
    *number = value;
    return true;
}

static bool take_option(struct question *question, int option)
{
    switch (option) {
    case 'm':
        return true;
    case 'P':
        return take_number(&question->hosts, "hosts");
    case 'R':
        return take_number(&question->radix, "radix");
    case 'b':
        return take_number(&question->bytes, "bytes");
    case 'l':
        return take_number(&question->leaf, "leaf");
    case 'p':
        return take_number(&question->pod, "pod");
    default: // 'c'
        if (strcmp(optarg, "allgather") != 0 && strcmp(optarg, "bcast") != 0) {
            co_command_complain(&co_command_bench, "--collective is allgather or bcast, not '%s'", optarg);
            return false;
        }
        question->collective = strcmp(optarg, "bcast") == 0 ? CO_MODEL_BCAST : CO_MODEL_ALLGATHER;
        return true;
    }
}

static int make_tree(const struct question *question, struct co_model_tree *tree)
{
    int failed = co_model_tree_make(tree, question->hosts, question->radix);
    // A partition given by hand stands for any tree, so the radix does not bound it.
    if (question->leaf && (failed == 0 || failed == -ERANGE)) {
        tree->hosts = question->hosts;
        tree->leaf_hosts = question->leaf;
        tree->pod_hosts = question->pod                      ? question->pod
                          : question->hosts > question->leaf ? question->hosts
                                                             : question->leaf;
        failed = 0;
    }
    if (failed) {
        co_command_complain(&co_command_bench,
                            failed == -ERANGE ? "three levels of switches with %" PRIu64
                                                " ports hold fewer than %" PRIu64 " hosts"
                                              : "--radix %" PRIu64 " is not an even number from 2 to "
                                                "1024, or --hosts %" PRIu64 " is none",
                            question->radix, question->hosts);
        return TOOL_USAGE;
    }
    if (tree->pod_hosts < tree->leaf_hosts || tree->pod_hosts % tree->leaf_hosts) {
        co_command_complain(&co_command_bench, "--pod must be a multiple of --leaf");
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

static void print_model(const struct question *question, const struct co_model_tree *tree)
{
    uint64_t multicast = co_model_links(tree, question->collective, CO_MODEL_MULTICAST);
    bool is_allgather = question->collective == CO_MODEL_ALLGATHER;
    printf("# %s on a fat tree of %" PRIu64 " hosts, %" PRIu64 " under a leaf switch, %" PRIu64 " in a pod\n",
           is_allgather ? "Allgather" : "Bcast", tree->hosts, tree->leaf_hosts, tree->pod_hosts);
    printf("# links: sum over links of the blocks that cross each (%s), bytes: with blocks of %" PRIu64 " B\n",
           is_allgather ? "one block of every host" : "one block", question->bytes);
    printf("# %-18s %16s %22s %18s\n", "algorithm", "links", "bytes", "over multicast");
    for (int i = 0; i < CO_MODEL_ALGORITHMS; i++) {
        enum co_model_algorithm algorithm = (enum co_model_algorithm)i;
        uint64_t links = co_model_links(tree, question->collective, algorithm);
        if (links == 0 && tree->hosts > 1) {
            printf("%-20s %16s %22s %18s  (powers of two only)\n", co_model_algorithm_text(algorithm), "-", "-", "-");
            continue;
        }
        printf("%-20s %16" PRIu64 " %22" PRIu64 " %18.4f\n", co_model_algorithm_text(algorithm), links,
               links * question->bytes, multicast ? (double)links / (double)multicast : 1);
    }
    printf("# ports of the hosts alone (all that one switch has): ring over multicast S = 2 - 2/P = %.4f\n",
           co_model_ring_over_multicast(tree->hosts));
}

int co_bench_model_run(int argc, char **argv)
{
    struct question question = {.hosts = 1024, .radix = 32, .bytes = 1 << 20, .collective = CO_MODEL_ALLGATHER};
    struct co_model_tree tree;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            return co_command_odd_option(&co_command_bench, option);
        }
        if (!take_option(&question, option)) {
            return TOOL_USAGE;
        }
    }
    int status = make_tree(&question, &tree);
    if (status == TOOL_OK) {
        print_model(&question, &tree);
    }
    return status;
}
