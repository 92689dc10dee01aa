// SPDX-License-Identifier: BSD-3-Clause
//
// What is said for an all-to-all by proxies whose arguments they know (M34), between ranks that are processes of this
// host and nodes of their own:
//
//     proxy_records CASTOFF BYTES CALLS
//
// CASTOFF is the command. Counted by `castoff proxy status` and by the ranks, before and behind CALLS calls, for a
// call: commands of a rank, completions, bytes of description; records of control and of data for each ordered pair of
// proxies. One line "records: name value ...".
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/poll.h"
#include "base/settings.h"
#include "offload/collective/proxied_state.h"

enum { RANKS = 4, SLOT_BYTES = 1024, LINE_BYTES = 256 };

static struct shared {
    pthread_barrier_t barrier;
    unsigned char slots[RANKS][SLOT_BYTES];
    _Atomic int proxies[RANKS];
} * shared;

struct counts {
    double commands, control, data;
};

static const char *command;
static int rank;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "proxy_records: rank %d: %s\n", rank, what);
        kill(0, SIGKILL);
    }
}

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    must(bytes <= SLOT_BYTES, "slots");
    memcpy(shared->slots[rank], mine, bytes);
    pthread_barrier_wait(&shared->barrier);
    for (int i = 0; i < RANKS; i++) {
        memcpy((char *)all + (size_t)i * bytes, shared->slots[i], bytes);
    }
    pthread_barrier_wait(&shared->barrier);
    return 0;
}

static bool is_ours(int process)
{
    bool is_one = false;
    for (int i = 0; i < RANKS; i++) {
        is_one = is_one || shared->proxies[i] == process;
    }
    return is_one;
}

// Of all proxies of this job together.
static struct counts proxies_ask(void)
{
    struct counts all = {0, 0, 0};
    char line[LINE_BYTES], ask[LINE_BYTES];
    bool counts = false;
    int process, seen = 0;

    snprintf(ask, sizeof ask, "'%s' proxy status", command);
    FILE *status = popen(ask, "r");
    must(status != NULL, "castoff proxy status");
    while (fgets(line, sizeof line, status) != NULL) {
        double commands, control, data;
        const char *records = strstr(line, "records of control ");
        if (sscanf(line, "proxy %d:", &process) == 1) {
            counts = is_ours(process);
            seen += counts;
        }
        if (counts && sscanf(line, " commands %lf", &commands) == 1) {
            all.commands += commands;
        }
        if (counts && records != NULL && sscanf(records, "records of control %lf, of data %lf", &control, &data) == 2) {
            all.control += control;
            all.data += data;
        }
    }
    pclose(status);
    must(seen == RANKS, "not all proxies have answered");
    return all;
}

static void exchange(struct co_proxied_world *world, struct co_proxied_team *team, unsigned char *out,
                     unsigned char *in, size_t bytes)
{
    struct co_proxied_call *call;
    struct co_proxied_result result;

    must(co_proxied_alltoall(&call, team, out, in, bytes) == 0, "a call");
    while (!co_proxied_is_done(call)) {
        struct pollfd look = {.fd = co_proxied_descriptor(world), .events = POLLIN};
        co_proxied_sleeps(world);
        if (!co_proxied_is_done(call)) {
            (void)co_poll(&look, 1, CO_NS_PER_MS);
        }
        co_proxied_wakes(world);
    }
    co_proxied_end(call, &result);
    must(result.error == 0 && in[0] == 1, "its end");
}

static void run(size_t bytes, int calls)
{
    char why[CO_PROXIED_WHY_BYTES];
    struct co_proxied_world *world;
    struct co_proxied_team *team = NULL;
    int members[RANKS] = {0, 1, 2, 3};
    unsigned char *out = malloc(RANKS * bytes), *in = malloc(RANKS * bytes);
    struct co_proxied_config config = {.rank = rank, .size = RANKS, .allgather = gather, .command = command};

    co_settings_load();
    must(co_proxied_open(&world, &config, why) == 0, why);
    must(out != NULL && in != NULL && co_proxied_team_open(&team, world, 8, members, RANKS, rank) == 0, "a team");
    memset(out, rank + 1, RANKS * bytes);
    shared->proxies[rank] = world->world->proxy;
    exchange(world, team, out, in, bytes); // tells all that there is to be told
    pthread_barrier_wait(&shared->barrier);
    struct counts before = rank == 0 ? proxies_ask() : (struct counts){0, 0, 0};
    uint64_t told = co_rank_client_counts(world->client)->definitions;
    uint64_t ended = co_segment_ended(co_rank_client_segment(world->client));
    pthread_barrier_wait(&shared->barrier);
    for (int i = 0; i < calls; i++) {
        exchange(world, team, out, in, bytes);
    }
    pthread_barrier_wait(&shared->barrier);
    if (rank == 0) {
        struct counts behind = proxies_ask();
        double pairs = (double)calls * RANKS * (RANKS - 1);
        printf("records: commands %.2f completions %.2f description %.0f control %.2f data %.2f\n",
               (behind.commands - before.commands) / calls / RANKS,
               (double)(co_segment_ended(co_rank_client_segment(world->client)) - ended) / calls,
               (double)(co_rank_client_counts(world->client)->definitions - told) * CO_OFFLOAD_COMMAND_BYTES,
               (behind.control - before.control) / pairs, (behind.data - before.data) / pairs);
        fflush(stdout);
    }
    pthread_barrier_wait(&shared->barrier);
    co_proxied_team_close(team);
    co_proxied_close(world);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    pthread_barrierattr_t among;
    int status, failed = 0;

    if (argc != 4 || atoi(argv[3]) < 1 || strtoull(argv[2], NULL, 0) == 0) {
        fprintf(stderr, "proxy_records CASTOFF BYTES CALLS\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 2;
    }
    setpgid(0, 0); // who fails ends all
    command = argv[1];
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    setenv("CASTOFF_PROXY", "yes", 1);
    pthread_barrierattr_init(&among);
    pthread_barrierattr_setpshared(&among, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &among, RANKS);
    for (rank = 0; rank < RANKS; rank++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run(strtoull(argv[2], NULL, 0), atoi(argv[3]));
            exit(0);
        }
    }
    while (wait(&status) > 0) {
        failed |= status != 0;
    }
    return failed;
}
