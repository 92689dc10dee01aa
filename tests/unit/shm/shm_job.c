// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a small job on one node for the tests of src/shm (see shm_job.h). Ranks meet in anonymous shared memory.
#include "shm_job.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pattern.h"

#define WORDS 16
#define VALUES 8 // of one exchange

struct shm_job {
    atomic_int arrived, turn;
    int size;
    atomic_int values[SHM_JOB_RANKS_MAX][VALUES];
    pid_t pids[SHM_JOB_RANKS_MAX];
    _Atomic long words[WORDS];
};

static int job_barrier(void *arg)
{
    struct shm_rank *self = arg;
    struct shm_job *job = self->job;
    int turn = atomic_load(&job->turn);

    if (atomic_fetch_add(&job->arrived, 1) == job->size - 1) {
        atomic_store(&job->arrived, 0);
        atomic_fetch_add(&job->turn, 1);
        return 0;
    }
    while (atomic_load(&job->turn) == turn) {
        sched_yield();
    }
    return 0;
}

static int job_minimum(void *arg, int *values, int count)
{
    struct shm_rank *self = arg;

    for (int i = 0; i < count && i < VALUES; i++) {
        atomic_store(&self->job->values[self->rank][i], values[i]);
    }
    job_barrier(self);
    for (int rank = 0; rank < self->size; rank++) {
        for (int i = 0; i < count && i < VALUES; i++) {
            int value = atomic_load(&self->job->values[rank][i]);
            values[i] = value < values[i] ? value : values[i];
        }
    }
    job_barrier(self);
    return count <= VALUES ? 0 : -1;
}

int shm_job_least(struct shm_rank *self, int mine)
{
    return job_minimum(self, &mine, 1) == 0 ? mine : -1;
}

void shm_job_barrier(struct shm_rank *self)
{
    job_barrier(self);
}

pid_t shm_job_pid(struct shm_rank *self, int rank)
{
    return self->job->pids[rank];
}

_Atomic long *shm_job_word(struct shm_rank *self, int index)
{
    return &self->job->words[index];
}

int shm_job_finish(struct co_shm_op *op)
{
    for (;;) {
        int result = co_shm_op_progress(op);
        if (result != 0) {
            return result;
        }
        sched_yield();
    }
}

uint64_t shm_job_draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t seed_of(uint64_t operation, int member)
{
    return operation << 16 | (uint64_t)member;
}

void shm_job_fill(char *block, uint64_t operation, int member, size_t bytes)
{
    pattern_fill(block, bytes, seed_of(operation, member));
}

bool shm_job_holds(const char *block, uint64_t operation, int member, size_t bytes)
{
    bool holds = pattern_matches(block, bytes, seed_of(operation, member));

    if (!holds) {
        fprintf(stderr, "operation %llu of %zu bytes: those of member %d are wrong\n", (unsigned long long)operation,
                bytes, member);
    }
    return holds;
}

int shm_job_open_members(struct shm_rank *self, struct co_shm_team **team, uint64_t id, const int *members, int count,
                         int place)
{
    int seat = count > 1 ? co_shm_seat_take(self->node, id, members[0], count) : CO_SHM_NO_SEAT;
    int error = seat < 0 && count > 1 ? seat : co_shm_team_open(team, self->node, seat, members, count, place);

    if (error != 0 && seat >= 0) {
        co_shm_seat_leave(self->node, seat);
    }
    return error;
}

int shm_job_open_team(struct shm_rank *self, struct co_shm_team **team, uint64_t id)
{
    int members[SHM_JOB_RANKS_MAX];

    for (int i = 0; i < self->size; i++) {
        members[i] = i;
    }
    return shm_job_open_members(self, team, id, members, self->size, self->rank);
}

int shm_job_check_bcast(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, int root, size_t bytes)
{
    char *buffer = calloc(1, bytes + 1);
    struct co_shm_op op;

    if (self->rank == root) {
        shm_job_fill(buffer, operation, root, bytes);
    }
    co_shm_bcast_start(&op, team, root, buffer, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    SHM_CHECK(shm_job_holds(buffer, operation, root, bytes));
    free(buffer);
    return 0;
}

static int check_all(struct shm_rank *self, const char *all, uint64_t operation, size_t bytes)
{
    for (int member = 0; member < self->size; member++) {
        SHM_CHECK(shm_job_holds(all + (size_t)member * bytes, operation, member, bytes));
    }
    return 0;
}

int shm_job_check_allgather(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, size_t bytes)
{
    char *mine = malloc(bytes + 1), *all = calloc(1, bytes * (size_t)self->size + 1);
    struct co_shm_op op;

    shm_job_fill(mine, operation, self->rank, bytes);
    co_shm_allgather_start(&op, team, mine, all, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    memset(mine, 0, bytes); // ours again: nobody may still read it
    int line = check_all(self, all, operation, bytes);
    free(mine);
    free(all);
    return line;
}

int shm_job_check_gather(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, int root, size_t bytes)
{
    char *mine = malloc(bytes + 1), *all = calloc(1, bytes * (size_t)self->size + 1);
    struct co_shm_op op;

    shm_job_fill(mine, operation, self->rank, bytes);
    co_shm_gather_start(&op, team, root, mine, self->rank == root ? all : NULL, bytes);
    SHM_CHECK(shm_job_finish(&op) == 1);
    memset(mine, 0, bytes);
    int line = self->rank == root ? check_all(self, all, operation, bytes) : 0;
    free(mine);
    free(all);
    return line;
}

struct launch {
    struct shm_rank self;
    bool leave_closed;
    shm_rank_function *function;
    int result;
    bool alone_at_end;
};

static void *run_rank(void *arg)
{
    struct launch *launch = arg;
    struct shm_rank *self = &launch->self;

    self->job->pids[self->rank] = getpid();
    self->config.arg = self;
    if (!launch->leave_closed) {
        launch->result = co_shm_node_open(&self->node, &self->config);
        if (launch->result != 0) {
            fprintf(stderr, "rank %d: node open: %d\n", self->rank, launch->result);
            return NULL;
        }
    }
    launch->result = launch->function(self);
    if (launch->result == 0 && !launch->alone_at_end) {
        job_barrier(self);
    }
    if (!launch->leave_closed) {
        co_shm_node_close(self->node);
    }
    return NULL;
}

static void run_threads(struct launch *launches, int size)
{
    pthread_t threads[SHM_JOB_RANKS_MAX];

    for (int rank = 0; rank < size; rank++) {
        pthread_create(&threads[rank], NULL, run_rank, &launches[rank]);
    }
    for (int rank = 0; rank < size; rank++) {
        pthread_join(threads[rank], NULL);
    }
}

static void run_processes(struct launch *launches, int size, int victim)
{
    pid_t pids[SHM_JOB_RANKS_MAX];

    fflush(NULL);
    for (int rank = 0; rank < size; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(1200); // a hang ends as a failure
            run_rank(&launches[rank]);
            fflush(NULL);
            _exit(launches[rank].result != 0);
        }
    }
    for (int done = 0; done < size; done++) {
        int status = 0;
        pid_t pid = wait(&status);
        for (int rank = 0; rank < size; rank++) {
            if (pids[rank] == pid) {
                launches[rank].result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
        }
        if (status != 0 && !(victim >= 0 && pid == pids[victim])) { // the others would wait for it until the alarm
            for (int rank = 0; rank < size; rank++) {
                if (pids[rank] != pid && launches[rank].result == -1) {
                    kill(pids[rank], SIGKILL);
                }
            }
        }
    }
}

int shm_job_run(const struct shm_job_options *options, shm_rank_function *function)
{
    return shm_job_run_with_victim(options, function, -1);
}

int shm_job_run_with_victim(const struct shm_job_options *options, shm_rank_function *function, int victim)
{
    static unsigned jobs;
    struct launch launches[SHM_JOB_RANKS_MAX];
    struct shm_job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = 0;

    if (job == MAP_FAILED) {
        return options->size;
    }
    job->size = options->size;
    jobs++;
    for (int rank = 0; rank < options->size; rank++) {
        struct shm_rank self = {
            .job = job,
            .rank = rank,
            .size = options->size,
            .argument = options->argument,
            .is_thread = options->threads,
            .config =
                {
                    .job_key = (uint64_t)getpid() << 32 | jobs,
                    .node_index = 3,
                    .rank = rank,
                    .size = options->size,
                    .team_bytes = options->team_bytes ? options->team_bytes : 65536,
                    .staging_bytes = options->staging_bytes,
                    .cores = options->cores,
                    .single_copy = options->single_copy,
                    .single_copy_min = options->single_copy_min ? options->single_copy_min : 16384,
                    .watched_most = options->by_number ? 0 : options->size,
                    .minimum = job_minimum,
                },
        };
        launches[rank] = (struct launch){self, options->leave_closed, function, -1, victim >= 0};
    }
    if (options->threads) {
        run_threads(launches, options->size);
    } else {
        run_processes(launches, options->size, victim);
    }
    for (int rank = 0; rank < options->size; rank++) {
        failed += launches[rank].result != (rank == victim ? 128 + SIGKILL : 0);
    }
    munmap(job, sizeof *job);
    return failed;
}

int shm_job_names_left(void)
{
    DIR *folder = opendir("/dev/shm");
    char own[32];
    int count = 0;

    if (!folder) {
        return -1;
    }
    snprintf(own, sizeof own, "castoff-%08x", (unsigned)getpid()); // the upper half of our keys
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        count += strncmp(entry->d_name, own, strlen(own)) == 0;
    }
    closedir(folder);
    return count;
}
