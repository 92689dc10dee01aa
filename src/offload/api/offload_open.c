// SPDX-License-Identifier: BSD-3-Clause
//
// Opening a world: which ranks share a node, its proxy, which the first of them starts, and everybody's connection
// with it. Each step ends with what all say of it, so that what one cannot do is an error of all of them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/settings/fault_plan.h"
#include "offload/api/offload_nodes.h"
#include "offload/api/offload_ready.h"
#include "offload/api/offload_world.h"
#include "offload/core_list.h"
#include "offload/rank/rank_proxy_start.h"

enum { PATH_BYTES = 4096, LEND_AUTO = 0, LEND_ATTACH, LEND_STAGE, LEND_COPY };
enum { GROUPS_MAX = 1024, ENDS_MAX = 65536 };
#define START_NS (10 * CO_NS_PER_S) // for a proxy to start and to answer; a deadline may be sooner

// What all say of a step.
struct verdict {
    int32_t error;
    struct co_offload_started started; // of who has started a proxy
    char why[CO_OFFLOAD_WHY_BYTES];
};

// One castoff_offload_open.
struct opening {
    const struct castoff_offload_job *job;
    struct castoff_offload_world *world;
    struct co_offload_fact *facts; // by rank
    struct verdict *verdicts;
    struct co_offload_job_rank *ranks;
    struct co_offload_job proxy_job;
    int starter; // connection with the proxy that this rank has started, or -1
    int proxy;   // a pidfd of that one, or -1
};

static uint64_t deadline_ns(void)
{
    return (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S;
}

static uint64_t start_ns(void)
{
    return deadline_ns() < START_NS ? deadline_ns() : START_NS;
}

static int gather(const struct opening *opening, const void *mine, void *all, size_t bytes)
{
    int result = opening->job->allgather(opening->job->arg, mine, all, bytes);
    return result == 0 ? 0 : co_offload_fail(result < 0 ? result : -EIO, "the job's allgather has failed: %d", result);
}

static int key_make(uint8_t key[CO_OFFLOAD_KEY_BYTES], const struct castoff_offload_job *job)
{
    if (job->key == NULL) {
        return getrandom(key, CO_OFFLOAD_KEY_BYTES, 0) == CO_OFFLOAD_KEY_BYTES ? 0 : -EIO;
    }
    return sodium_init() < 0 ? -EIO : crypto_generichash(key, CO_OFFLOAD_KEY_BYTES, job->key, job->key_bytes, NULL, 0);
}

// What this rank is, or why it cannot take part.
static void fact_make(struct co_offload_fact *fact, const struct castoff_offload_job *job)
{
    memset(fact, 0, sizeof *fact);
    if (co_setting_number(CO_SET_PROXY) == CO_NO) {
        fact->error = -ENOTSUP;
        snprintf(fact->why, sizeof fact->why, "proxies are off: CASTOFF_PROXY=no");
        return;
    }
    fact->node_ranks = (uint32_t)co_setting_number(CO_SET_NODE_RANKS);
    fact->node_proxies = (uint32_t)co_setting_number(CO_SET_PROXIES);
    fact->error = co_offload_fact_read(fact, co_setting_text(CO_SET_UDP_INTERFACE));
    if (fact->error != 0) {
        snprintf(fact->why, sizeof fact->why, "which ranks share a node cannot be known, for want of /proc: %s",
                 strerror(-fact->error));
    }
    if (fact->error == 0 && job->key == NULL && job->rank == 0) {
        fact->error = key_make(fact->key, job);
    }
}

// The first rank that could not.
static int facts_judge(const struct opening *opening)
{
    for (int i = 0; i < opening->job->size; i++) {
        const struct co_offload_fact *fact = &opening->facts[i];
        if (fact->error != 0) {
            return co_offload_fail(fact->error, "rank %d: %.*s", i, (int)sizeof fact->why - 1, fact->why);
        }
    }
    return 0;
}

static int verdicts_judge(const struct opening *opening)
{
    for (int i = 0; i < opening->job->size; i++) {
        const struct verdict *verdict = &opening->verdicts[i];
        if (verdict->error != 0) {
            return co_offload_fail(verdict->error, "rank %d: %.*s", i, (int)sizeof verdict->why - 1, verdict->why);
        }
    }
    return 0;
}

// What it has become of a step, for all. Where somebody has died meanwhile the job's allgather may fail: then what this
// rank has seen itself says more.
static int verdict_tell(const struct opening *opening, const struct verdict *verdict)
{
    int error = gather(opening, verdict, opening->verdicts, sizeof *verdict);

    if (error != 0 && verdict->error != 0) {
        return co_offload_fail(verdict->error, "rank %d: %.*s", opening->job->rank, (int)sizeof verdict->why - 1,
                               verdict->why);
    }
    return error == 0 ? verdicts_judge(opening) : error;
}

static int nodes_find(struct opening *opening)
{
    const struct castoff_offload_job *job = opening->job;
    struct co_offload_fact fact;

    fact_make(&fact, job);
    int error = gather(opening, &fact, opening->facts, sizeof fact);
    explicit_bzero(fact.key, sizeof fact.key);
    if (error == 0) {
        error = facts_judge(opening);
    }
    if (error != 0) {
        return error;
    }
    co_offload_node_describe(opening->facts, job->size, job->rank, &opening->proxy_job, opening->ranks);
    memcpy(opening->proxy_job.key, opening->facts[0].key, CO_OFFLOAD_KEY_BYTES);
    return job->key == NULL ? 0 : key_make(opening->proxy_job.key, job);
}

// The settings that a proxy obeys.
static int job_configure(struct co_offload_job *job, struct verdict *verdict)
{
    const char *cores = co_setting_text(CO_SET_PROXY_CORES);
    struct co_fault_plan plan = {.first_number = 0};

    (void)co_fault_plan_parse(&plan, co_setting_text(CO_SET_FAULT), NULL, 0); // its words were looked at before
    job->lend = co_setting_number(CO_SET_PROXY_LEND) == LEND_STAGE ? CO_OFFLOAD_LEND_STAGE : CO_OFFLOAD_LEND_ATTACH;
    job->staging_bytes = (uint64_t)co_setting_number(CO_SET_PROXY_STAGING);
    job->sources = (uint32_t)co_setting_number(CO_SET_PROXY_SOURCES);
    job->auth = (uint32_t)co_setting_number(CO_SET_AUTH);
    job->deadline_ns = deadline_ns();
    job->groups_max = GROUPS_MAX;
    job->ends_max = ENDS_MAX;
    job->first_number = plan.first_number;
    job->has_cores = cores[0] != '\0';
    if (job->has_cores && co_offload_cores_parse(job->cores, cores) != 0) {
        snprintf(verdict->why, sizeof verdict->why, "CASTOFF_PROXY_CORES: %s is no list of cores such as 0-3,7", cores);
        return -EINVAL;
    }
    return 0;
}

static void proxy_launch(struct opening *opening, struct verdict *verdict)
{
    char path[PATH_BYTES];
    const char *command = opening->job->command;

    verdict->error = job_configure(&opening->proxy_job, verdict);
    if (verdict->error == 0 && opening->proxy_job.proxies > 1 && opening->proxy_job.place[0] == '\0') {
        verdict->error = -EADDRNOTAVAIL;
        snprintf(verdict->why, sizeof verdict->why, "its host has no network with IPv4 for proxies");
    }
    if (verdict->error == 0 && command == NULL) {
        verdict->error = co_rank_proxy_command_find(path, sizeof path);
        snprintf(verdict->why, sizeof verdict->why, "the castoff command is not where it belongs, beside the library");
        command = path;
    }
    if (verdict->error == 0) {
        verdict->error = co_rank_proxy_start(command, &opening->proxy_job, opening->ranks,
                                             co_clock_now_ns() + start_ns(), &verdict->started, &opening->starter,
                                             &opening->proxy, verdict->why, sizeof verdict->why);
    }
}

// Each proxy's first rank starts it; *started: the one of this rank.
static int proxies_start(struct opening *opening, struct co_offload_started *started)
{
    int first = co_offload_node_first(opening->facts, opening->job->rank);
    struct verdict verdict;

    memset(&verdict, 0, sizeof verdict);
    if (first == opening->job->rank) {
        proxy_launch(opening, &verdict);
    }
    int error = verdict_tell(opening, &verdict);
    *started = opening->verdicts[first].started;
    return error;
}

// Each proxy hears where the others are, and connects with them.
static int proxies_connect(struct opening *opening)
{
    const struct castoff_offload_job *job = opening->job;
    struct co_offload_peer *peers = calloc(opening->proxy_job.proxies, sizeof *peers);
    struct verdict verdict;

    memset(&verdict, 0, sizeof verdict);
    verdict.error = peers == NULL ? -ENOMEM : 0;
    for (int i = 0; peers != NULL && i < job->size; i++) {
        if (co_offload_node_first(opening->facts, i) == i) {
            struct co_offload_peer *peer = &peers[opening->ranks[i].proxy];
            memcpy(peer->host, opening->facts[i].host, sizeof peer->host - 1);
            co_offload_node_place(opening->facts, job->size, i, opening->verdicts[i].started.port, peer->place);
        }
    }
    if (peers != NULL && opening->starter >= 0) {
        // Longer than the proxy needs to find out, for its reason names the host.
        uint64_t until_ns = co_clock_now_ns() + 2 * start_ns() + CO_NS_PER_S;
        verdict.error = co_rank_proxy_connect(opening->starter, peers, opening->proxy_job.proxies, until_ns,
                                              verdict.why, sizeof verdict.why);
    }
    free(peers);
    return verdict_tell(opening, &verdict);
}

static const char *connect_error(int error)
{
    return error == -EPERM ? "the kernel does not let its proxy reach its memory (kernel.yama.ptrace_scope above 1, no "
                             "ptrace in its container, or it is not dumpable)"
           : error == -EFBIG
               ? "its limit of file sizes (ulimit -f) is less than what it shares with its proxy, though that is a "
                 "file in memory: ulimit -f unlimited"
               : strerror(-error);
}

// What people see in a report. By the settings, for one rank of a node alone has told its proxy.
static void state_say(const struct opening *opening, const struct co_offload_started *started)
{
    bool has_cores = co_setting_text(CO_SET_PROXY_CORES)[0] != '\0';
    const char *none = has_cores ? "no core of CASTOFF_PROXY_CORES is to be had" : "no core is left that no rank has";
    const char *how = co_rank_connection_is_copying(opening->world->connection) ? "staged, copied by the ranks"
                      : co_setting_number(CO_SET_PROXY_LEND) == LEND_STAGE      ? "staged"
                                                                                : "attached";
    if (started->cores == 0) {
        co_offload_state_say("%s; %s, so proxies take turns with ranks", how, none);
        co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "proxy: %s: it takes turns with ranks", none);
    } else if (has_cores) {
        co_offload_state_say("%s; on %u of the cores of CASTOFF_PROXY_CORES", how, started->cores);
    } else {
        co_offload_state_say("%s; on %u core%s that no rank has", how, started->cores, started->cores == 1 ? "" : "s");
    }
}

// Staged is slower than attached, and a rank has to see to it itself: nobody should wonder why.
static void copying_say(const struct opening *opening)
{
    if (co_setting_number(CO_SET_PROXY_LEND) != LEND_COPY &&
        co_rank_connection_is_copying(opening->world->connection)) {
        co_log(CO_LOG_WARN, CO_SUBSYS_BASE,
               "proxy: messages are staged: this rank copies them itself, when they begin and in wait, for %s",
               connect_error(-EPERM));
    }
}

static int ranks_connect(struct opening *opening, const struct co_offload_started *started)
{
    static const enum co_rank_copying copying[] = {
        [LEND_AUTO] = CO_RANK_COPIES_IF_NEEDED,
        [LEND_ATTACH] = CO_RANK_COPIES_NEVER,
        [LEND_STAGE] = CO_RANK_COPIES_IF_NEEDED,
        [LEND_COPY] = CO_RANK_COPIES_ALWAYS,
    };
    struct verdict verdict;

    memset(&verdict, 0, sizeof verdict);
    verdict.error = co_rank_connection_open(
        &opening->world->connection,
        &(struct co_rank_connection_config){.rank = (uint32_t)opening->job->rank,
                                            .ranks = (uint32_t)opening->job->size,
                                            .key = opening->proxy_job.key,
                                            .started = started,
                                            .until_ns = co_clock_now_ns() + start_ns(),
                                            .progress = opening->job->progress,
                                            .context = opening->job->arg,
                                            .copying = copying[co_setting_number(CO_SET_PROXY_LEND)],
                                            .copies_kept = (uint64_t)co_setting_number(CO_SET_PROXY_STAGING),
                                            .deadline_ns = deadline_ns()});
    if (verdict.error != 0) {
        snprintf(verdict.why, sizeof verdict.why, "it cannot join its proxy: %s", connect_error(verdict.error));
    }
    int error = verdict_tell(opening, &verdict);
    if (error != 0 && verdict.error == 0) {
        co_rank_connection_close(opening->world->connection);
    } else if (error == 0) {
        copying_say(opening);
        state_say(opening, started);
    }
    return error;
}

static int memory_take(struct opening *opening)
{
    size_t size = (size_t)opening->job->size;

    opening->facts = calloc(size, sizeof *opening->facts);
    opening->verdicts = calloc(size, sizeof *opening->verdicts);
    opening->ranks = calloc(size, sizeof *opening->ranks);
    opening->world = calloc(1, sizeof *opening->world);
    if (opening->world != NULL) {
        opening->world->hosts = calloc(size, sizeof *opening->world->hosts);
    }
    bool has_all = opening->facts != NULL && opening->verdicts != NULL && opening->ranks != NULL &&
                   opening->world != NULL && opening->world->hosts != NULL;
    return has_all ? 0 : -ENOMEM;
}

// Each may be the one that has no memory, and says so: the others would wait for it.
static int ranks_agree(struct opening *opening)
{
    return co_offload_ready_tell(opening->job, &(struct co_offload_ready){.error = memory_take(opening),
                                                                          .version = CO_OFFLOAD_OPENING_VERSION,
                                                                          .fact_bytes = sizeof *opening->facts,
                                                                          .verdict_bytes = sizeof *opening->verdicts});
}

static int world_open(struct opening *opening)
{
    struct co_offload_started started;
    int error = ranks_agree(opening);

    if (error != 0) {
        return error;
    }
    error = nodes_find(opening);
    for (int i = 0; i < opening->job->size; i++) { // each has its end
        memcpy(opening->world->hosts[i], opening->facts[i].host, sizeof opening->facts[i].host - 1);
    }
    if (error == 0) {
        error = proxies_start(opening, &started);
    }
    if (error == 0 && opening->proxy_job.proxies > 1) {
        error = proxies_connect(opening);
    }
    if (error == 0) {
        error = ranks_connect(opening, &started);
    }
    if (opening->starter >= 0 && error != 0) {
        co_rank_proxy_abandon(opening->starter, opening->proxy);
    } else if (opening->starter >= 0) {
        close(opening->starter);
        if (opening->proxy >= 0) {
            close(opening->proxy);
        }
    }
    opening->world->proxy = error == 0 ? (pid_t)started.process : 0;
    return error;
}

int co_offload_world_open(struct castoff_offload_world **out, const struct castoff_offload_job *job)
{
    struct opening opening = {.job = job, .starter = -1, .proxy = -1};
    int error = world_open(&opening);
    if (opening.facts != NULL) {
        explicit_bzero(opening.facts, (size_t)job->size * sizeof *opening.facts); // the key
    }
    explicit_bzero(opening.proxy_job.key, sizeof opening.proxy_job.key);
    free(opening.facts);
    free(opening.verdicts);
    free(opening.ranks);
    if (error != 0) {
        if (opening.world != NULL) {
            free(opening.world->hosts);
        }
        free(opening.world);
        co_offload_count(CASTOFF_OFFLOAD_REFUSED, 1);
        co_offload_state_say("%s", castoff_offload_why());
        return error;
    }
    opening.world->rank = job->rank;
    opening.world->size = job->size;
    co_offload_count(CASTOFF_OFFLOAD_WORLDS, 1);
    co_offload_world_join(opening.world);
    *out = opening.world;
    return 0;
}
