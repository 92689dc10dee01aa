// SPDX-License-Identifier: BSD-3-Clause
//
// Threads as ranks. Waiting in an exchange moves the rank's engine, as native MPI's progress loop would.
#include "engine_job.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"

void job_require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "engine job: %s\n", what);
        abort();
    }
}

void (*engine_job_listener)(unsigned char *data, size_t bytes);

static void hear(unsigned char *data, size_t bytes)
{
    if (engine_job_listener != NULL) {
        engine_job_listener(data, bytes);
    }
}

static int board_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct job_rank *rank = arg;
    struct engine_job *job = rank->job;
    job_require(bytes <= 512, "an exchange larger than the board");
    rank->exchanges++;
    memcpy(job->board + (size_t)rank->rank * bytes, mine, bytes);
    hear(job->board + (size_t)rank->rank * bytes, bytes);
    pthread_barrier_wait(&job->all);
    memcpy(all, job->board, bytes * (size_t)job->size);
    pthread_barrier_wait(&job->all);
    return 0;
}

static int board_broadcast(void *arg, int root, void *data, size_t bytes)
{
    struct job_rank *rank = arg;
    struct engine_job *job = rank->job;
    rank->exchanges++;
    if (rank->rank == root) {
        memcpy(job->board, data, bytes);
        hear(job->board, bytes);
    }
    pthread_barrier_wait(&job->all);
    memcpy(data, job->board, bytes);
    pthread_barrier_wait(&job->all);
    return 0;
}

static int board_minimum(void *arg, int *values, int count)
{
    struct job_rank *rank = arg;
    const struct engine_job *job = rank->job;
    int all[JOB_RANKS_MAX][16];
    job_require(count <= 16, "more values than the board has");
    int mine[16] = {0};
    memcpy(mine, values, (size_t)count * sizeof(int));
    board_allgather(arg, mine, all, sizeof(mine));
    for (int i = 0; i < job->size; i++) {
        for (int k = 0; k < count; k++) {
            values[k] = all[i][k] < values[k] ? all[i][k] : values[k];
        }
    }
    return 0;
}

static int all_barrier(void *arg)
{
    struct job_rank *rank = arg;
    struct engine_job *job = rank->job;
    unsigned wanted = ++rank->barrier_turn * (unsigned)job->size;
    atomic_fetch_add(&job->arrived, 1);
    while (atomic_load(&job->arrived) < wanted) {
        if (rank->engine != NULL) {
            co_engine_progress(rank->engine);
        }
        sched_yield();
    }
    return 0;
}

void engine_job_barrier(struct job_rank *rank)
{
    all_barrier(rank);
}

static void one_node_barrier(void *arg)
{
    struct job_rank *rank = arg;
    pthread_barrier_wait(&rank->job->by_node[rank->node]);
}

static int one_node_minimum(void *arg, int *values, int count)
{
    struct job_rank *rank = arg;
    struct engine_job *job = rank->job;
    job_require(count <= JOB_VALUES_MAX, "more values than the node's board has");
    memcpy(job->node_board[rank->node][rank->node_rank], values, (size_t)count * sizeof(int));
    rank->node_exchanges++;
    one_node_barrier(arg);
    for (int i = 0; i < rank->node_size; i++) {
        for (int k = 0; k < count; k++) {
            int value = job->node_board[rank->node][i][k];
            values[k] = value < values[k] ? value : values[k];
        }
    }
    one_node_barrier(arg);
    return 0;
}

static int one_node_broadcast(void *arg, void *data, size_t bytes)
{
    struct job_rank *rank = arg;
    unsigned char *board = rank->job->node_bytes[rank->node];
    job_require(bytes <= sizeof(rank->job->node_bytes[0]), "a broadcast larger than the node's board");
    rank->node_exchanges++;
    if (rank->node_rank == 0) {
        memcpy(board, data, bytes);
        hear(board, bytes);
    }
    one_node_barrier(arg);
    memcpy(data, board, bytes);
    one_node_barrier(arg);
    return 0;
}

void (*engine_job_before_open)(struct job_rank *rank);
bool engine_job_needs_workers;
int (*engine_job_ping)(void *arg, int rank, bool is_last);
int (*engine_job_echo)(void *arg, int rank);

static void open_engine(struct job_rank *rank)
{
    struct engine_job *job = rank->job;
    if (engine_job_before_open != NULL) {
        engine_job_before_open(rank);
    }
    struct co_bootstrap bootstrap = {.world_rank = rank->rank,
                                     .world_size = job->size,
                                     .allgather = board_allgather,
                                     .broadcast = board_broadcast,
                                     .minimum = board_minimum,
                                     .barrier = all_barrier,
                                     .node_minimum = one_node_minimum,
                                     .node_broadcast = one_node_broadcast,
                                     .ping = engine_job_ping,
                                     .echo = engine_job_echo,
                                     .node_rank = rank->node_rank,
                                     .node_size = rank->node_size,
                                     .node_first = rank->node_first,
                                     .needs_workers = engine_job_needs_workers,
                                     .arg = rank};
    struct co_engine *engine = co_engine_make(job->size);
    int has_memory = engine != NULL;
    board_minimum(rank, &has_memory, 1);
    if (!has_memory) {
        co_engine_discard(engine);
        rank->open_status = -ENOMEM;
        snprintf(rank->why, sizeof(rank->why), "a rank has no memory for the start");
        return;
    }
    rank->exchanges = rank->node_exchanges = 0;
    rank->open_status = co_engine_open(engine, &bootstrap, rank->why, sizeof(rank->why));
    rank->engine = rank->open_status == 0 ? engine : NULL;
    if (rank->engine != NULL) {
        int least = co_engine_last_word(rank->engine);
        board_minimum(rank, &least, 1);
        rank->open_status = co_engine_settle(rank->engine, least, rank->why, sizeof(rank->why));
    }
    if (rank->engine != NULL && rank->open_status < 0) {
        co_engine_close(rank->engine);
        rank->engine = NULL;
    }
}

static void *run_rank(void *arg)
{
    struct job_rank *rank = arg;
    open_engine(rank);
    rank->job->body(rank);
    if (rank->open_status == 0) {
        co_engine_close(rank->engine);
    }
    return NULL;
}

static int first_of(const struct engine_job *job, int rank)
{
    int first = 0;
    while (job->node_of_rank[first] != job->node_of_rank[rank]) {
        first++;
    }
    return first;
}

static void place(struct engine_job *job, int size, const int *node_of_rank)
{
    int on_node[JOB_RANKS_MAX] = {0};
    for (int i = 0; i < size; i++) {
        struct job_rank *rank = &job->ranks[i];
        job->node_of_rank[i] = rank->node = node_of_rank[i];
        rank->rank = i;
        rank->job = job;
        rank->node_first = first_of(job, i);
        rank->node_rank = on_node[rank->node]++;
        job->nodes = rank->node >= job->nodes ? rank->node + 1 : job->nodes;
    }
    for (int i = 0; i < size; i++) {
        job->ranks[i].node_size = on_node[job->ranks[i].node];
    }
    pthread_barrier_init(&job->all, NULL, (unsigned)size);
    for (int node = 0; node < job->nodes; node++) {
        pthread_barrier_init(&job->by_node[node], NULL, (unsigned)on_node[node]);
    }
}

void engine_job_run_in(struct engine_job *job, int size, const int *node_of_rank, void (*body)(struct job_rank *rank))
{
    memset(job, 0, sizeof(*job));
    job->size = size;
    job->body = body;
    place(job, size, node_of_rank);
    pthread_t threads[JOB_RANKS_MAX];
    for (int i = 0; i < size; i++) {
        job_require(pthread_create(&threads[i], NULL, run_rank, &job->ranks[i]) == 0, "no thread");
    }
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&job->all);
    for (int node = 0; node < job->nodes; node++) {
        pthread_barrier_destroy(&job->by_node[node]);
    }
}

void engine_job_run(int size, const int *node_of_rank, void (*body)(struct job_rank *rank))
{
    struct engine_job *job = malloc(sizeof(*job));
    job_require(job != NULL, "no memory");
    engine_job_run_in(job, size, node_of_rank, body);
    free(job);
}

struct co_team *engine_job_team(struct job_rank *rank, uint64_t id, const int *members, int count)
{
    struct co_team *team = NULL;
    for (int i = 0; i < count; i++) {
        if (members[i] == rank->rank) {
            struct co_team_seed seed;
            job_require(co_team_seed_open(&seed, rank->engine, id, members, count, i) == 0, "seed");
            job_require(co_team_open(&team, rank->engine, &seed, members) == 0, "team");
        }
    }
    return team;
}

struct co_team *engine_job_world(struct job_rank *rank, uint64_t id)
{
    int members[JOB_RANKS_MAX];
    for (int i = 0; i < rank->job->size; i++) {
        members[i] = i;
    }
    return engine_job_team(rank, id, members, rank->job->size);
}

void engine_job_set(const char *name, const char *value)
{
    if (value == NULL) {
        unsetenv(name);
    } else {
        setenv(name, value, 1);
    }
    co_settings_forget();
    co_settings_load();
}

int engine_job_set_up(void **state)
{
    (void)state;
    alarm(1200); // run_unit.sh ends what hangs long before; a busy machine, or a sanitizer, takes minutes
    engine_job_set("CASTOFF_LOG", "error");
    engine_job_set("CASTOFF_UDP_INTERFACE", "lo");
    // Half a second may pass on a busy machine before all have been heard.
    engine_job_set("CASTOFF_PROBE", "20s");
    return 0;
}

int engine_job_set_up_split(void **state)
{
    setenv("CASTOFF_PROGRESS", "threads", 1);
    setenv("CASTOFF_WORKERS", "3", 1);
    setenv("CASTOFF_UDP_SUBGROUPS", "2", 1);
    return engine_job_set_up(state);
}
