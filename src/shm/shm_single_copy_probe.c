// SPDX-License-Identifier: BSD-3-Clause
//
// The probe at start that tells whether the kernel lets every rank copy straight between processes: containers, Yama
// and seccomp often do not; and from which size on such copies are used. Cold.
#include "shm/shm_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/preload.h"
#include "base/settings.h"

#define BCAST_MIN ((size_t)48 << 10)
#define GATHER_MIN ((size_t)12 << 10)
#define CROWDED_BCAST_MIN ((size_t)2 << 20)
#define CROWDED_GATHER_MIN ((size_t)192 << 10)

// Reads a word of the next rank and writes one there. 0 or -errno.
static int try_neighbour(struct co_shm_node *node)
{
    int next = (node->config.rank + 1) % node->config.size;
    const struct co_shm_process *peer = &node->processes[next];
    uint64_t word = 0;
    int result = co_shm_node_read(node, next, &word, peer->probe_address, sizeof word);

    if (result != 0) {
        return result;
    }
    if (word != peer->probe_value) {
        return -ESRCH;
    }
    uint64_t target =
        peer->probe_address + offsetof(struct co_shm_node, probe_target) - offsetof(struct co_shm_node, probe_word);
    return co_shm_node_write(node, next, &word, target, sizeof word);
}

static int try_single_copy(struct co_shm_node *node)
{
    return co_preload_has_valgrind(co_environment("LD_PRELOAD"), "memcheck") ? -EOPNOTSUPP : try_neighbour(node);
}

// Where Yama restricts tracing to ancestors: whoever asks for single copy lets his other processes in, as long as it
// lasts. What the program had told Yama before cannot be read, and is lost with it.
static void let_others_in(struct co_shm_node *node, bool lets)
{
#ifdef PR_SET_PTRACER
    if (node->lets_others_in != lets) {
        node->lets_others_in = prctl(PR_SET_PTRACER, lets ? PR_SET_PTRACER_ANY : 0, 0, 0, 0) == 0 && lets;
    }
#else
    (void)node, (void)lets;
#endif
}

void co_shm_single_copy_end(struct co_shm_node *node)
{
    let_others_in(node, false);
}

static void set_reason(struct co_shm_node *node, int verdict)
{
    if (verdict == 0) {
        snprintf(node->reason, sizeof node->reason, "allowed");
    } else if (node->config.single_copy == CO_NO) {
        snprintf(node->reason, sizeof node->reason, "switched off by CASTOFF_SHM_SINGLE_COPY");
    } else if (node->config.size == 1) {
        snprintf(node->reason, sizeof node->reason, "one rank on this node");
    } else if (verdict == -EOPNOTSUPP) {
        snprintf(node->reason, sizeof node->reason, "a rank runs under valgrind, which does not see what others write");
    } else {
        snprintf(node->reason, sizeof node->reason, "process_vm_readv between ranks of this node: %s",
                 strerror(-verdict));
    }
}

static size_t threshold(const struct co_shm_node *node, size_t measured)
{
    const struct co_shm_config *config = &node->config;
    bool is_asked = config->single_copy == CO_YES || config->single_copy_min > measured;

    return !node->single_copy ? SIZE_MAX : is_asked ? config->single_copy_min : measured;
}

// In use: no smaller ones than CASTOFF_SHM_SINGLE_COPY_MIN.
static size_t tried(const struct co_shm_node *node, size_t least)
{
    size_t asked = node->config.single_copy_min;
    return asked > least ? asked : least;
}

static void say_size(char *text, size_t room, size_t from)
{
    if (from == SIZE_MAX) {
        snprintf(text, room, "none");
    } else {
        snprintf(text, room, "%zu KiB", from >> 10);
    }
}

// What was measured between two ranks holds for messages, and for collectives where there are no more: who else reads
// the same memory at the same time was not there.
static void use_measured(struct co_shm_node *node)
{
    struct co_shm_measured measured = node->header->measured;
    if (measured.from[0] == 0) {
        return;
    }
    size_t message = measured.from[CO_SHM_PATTERN_MESSAGE];
    node->stream_most =
        message == co_shm_measured_size(0) ? message / 2 : message; // below the least nothing was measured
    if (node->config.size == 2) {
        node->direct_bcast_min = threshold(node, measured.from[CO_SHM_PATTERN_BCAST]);
        node->direct_allgather_min = threshold(node, measured.from[CO_SHM_PATTERN_ALLGATHER]);
    }
    char messages[24], bcasts[24], allgathers[24], how[48] = "measured";
    say_size(messages, sizeof messages, message);
    say_size(bcasts, sizeof bcasts, node->direct_bcast_min);
    say_size(allgathers, sizeof allgathers, node->direct_allgather_min);
    if (measured.certain < CO_SHM_PAIRS) {
        snprintf(how, sizeof how, "measured in %u of %d cases, the others as usual", (unsigned)measured.certain,
                 CO_SHM_PAIRS);
    }
    snprintf(node->reason, sizeof node->reason,
             "allowed; %s, and used from: messages %s, bcast %s, allgather %s at first", how, messages, bcasts,
             allgathers);
}

static bool is_worth_measuring(const struct co_shm_node *node)
{
    return node->config.measures && !node->shares_cores && co_shm_measure_is_possible(node);
}

// Nobody has said which of both.
static bool may_try(const struct co_shm_node *node)
{
    return node->single_copy && node->config.measures && !node->shares_cores;
}

// From where on a straight copy wins, as measured on one machine. It makes ranks wait for each other, the rings do not,
// which counts twice when ranks share cores. With slots borrowed from the node the rings were faster at every size up
// to 64 MiB, by two: the kernel looks up and pins every page that it copies. Only a gather, where one member reads
// everything, leaves that work to the others. Whoever asks for single copy gets it from single_copy_min on.
static void set_thresholds(struct co_shm_node *node, bool has_measured)
{
    bool crowded = node->shares_cores, lends = node->plan.loans > 0;

    node->direct_bcast_min = threshold(node, lends ? SIZE_MAX : crowded ? CROWDED_BCAST_MIN : BCAST_MIN);
    node->direct_gather_min = threshold(node, crowded ? CROWDED_GATHER_MIN : GATHER_MIN);
    node->direct_allgather_min = lends ? threshold(node, SIZE_MAX) : node->direct_gather_min;
    node->stream_most = 0;
    node->tried_allgather_min = may_try(node) ? tried(node, CO_SHM_TRIAL_LEAST) : SIZE_MAX;
    node->tried_bcast_min = may_try(node) ? tried(node, CO_SHM_BCAST_TRIAL_LEAST) : SIZE_MAX;
    if (has_measured) {
        use_measured(node);
    }
}

// All try once more, now that all have let the others in.
static int try_let_in(struct co_shm_node *node)
{
    const struct co_shm_config *config = &node->config;
    int nothing = 0;

    let_others_in(node, true);
    int error = config->minimum(config->arg, &nothing, 1);
    int verdict = try_neighbour(node);
    error = error != 0 ? error : config->minimum(config->arg, &verdict, 1);
    return error != 0 ? error : verdict;
}

// Once all have copied: the last words about it, and the measurement, while which nobody needs to hear of anybody.
// `memory`: all that take part are prepared for it; NULL on those that do not.
static int finish(struct co_shm_node *node, bool measures, char *memory, bool *has_measured)
{
    const struct co_shm_config *config = &node->config;
    enum { ARRIVED, MEASURED, WORDS };
    int told[WORDS];

    told[MEASURED] = measures ? co_shm_measure_run(node, memory) : -ENODATA;
    told[ARRIVED] = node->probe_target == node->probe_word ? 0 : -EFAULT; // though all tries have succeeded
    int error = config->minimum(config->arg, told, WORDS);
    *has_measured = error == 0 && told[ARRIVED] == 0 && told[MEASURED] == 0;
    return error != 0 ? error : told[ARRIVED];
}

// What all have said of their tries; the same on all of them.
static void conclude(struct co_shm_node *node, int verdict, bool has_measured)
{
    const struct co_shm_config *config = &node->config;

    if (verdict != 0) {
        let_others_in(node, false);
    }
    node->single_copy = verdict == 0;
    set_reason(node, verdict);
    if (!node->single_copy && config->rank == 0 && config->size > 1) {
        co_log(config->single_copy == CO_YES ? CO_LOG_WARN : CO_LOG_INFO, CO_SUBSYS_SHM, "single copy is off: %s",
               node->reason);
    }
    set_thresholds(node, has_measured);
}

int co_shm_single_copy_probe(struct co_shm_node *node, int status)
{
    const struct co_shm_config *config = &node->config;
    enum { STATUS, TRIED, PREPARED, WORDS };
    bool tries = config->size > 1 && config->single_copy != CO_NO, has_measured = false;
    bool measures = tries && is_worth_measuring(node);
    char *memory = NULL;
    int told[WORDS] = {status, tries && status == 0 ? try_single_copy(node) : -EOPNOTSUPP, 0};

    if (measures && told[TRIED] == 0) {
        told[PREPARED] = co_shm_measure_prepare(node, &memory);
    }
    int error = config->minimum(config->arg, told, WORDS);
    error = error != 0 ? error : told[STATUS];
    measures = measures && error == 0 && told[TRIED] == 0 && told[PREPARED] == 0;
    if (!measures) {
        co_shm_measure_cancel(node, memory);
    }
    if (error == 0) {
        int verdict = told[TRIED];
        if (verdict == -EPERM && config->single_copy == CO_YES) { // the least of all errors: nothing else is wrong
            verdict = try_let_in(node);
        }
        verdict = verdict == 0 ? finish(node, measures, memory, &has_measured) : verdict;
        conclude(node, verdict, has_measured);
    }
    free(memory); // the other may have read it until the last exchange
    return error;
}

size_t co_shm_node_stream_most(const struct co_shm_node *node)
{
    return node->stream_most;
}

bool co_shm_node_single_copy(const struct co_shm_node *node)
{
    return node->single_copy;
}

const char *co_shm_node_single_copy_reason(const struct co_shm_node *node)
{
    return node->reason;
}
