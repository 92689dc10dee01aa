// SPDX-License-Identifier: BSD-3-Clause
//
// A peer whose process is gone is noticed, and who has its number then is left alone; one that is stopped is not taken
// for dead and loses nothing.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_node.h"
#include "shm_job.h"

static int one_is_killed(struct shm_rank *self)
{
    struct co_shm_team *team;
    char buffer[100000];
    struct co_shm_op op;

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(co_shm_node_dead_peer(self->node) == -1);
    SHM_CHECK(shm_job_check_allgather(self, team, 1, 100) == 0);
    shm_job_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    co_shm_bcast_start(&op, team, 1, buffer, sizeof buffer); // will never come
    while (co_shm_node_dead_peer(self->node) != 1) {
        SHM_CHECK(co_shm_op_progress(&op) == 0);
        sched_yield();
    }
    return 0;
}

static int copy_both_ways(struct co_shm_node *node, char *secret)
{
    char local[8] = "local";
    int error = co_shm_node_read(node, 1, local, (uint64_t)(uintptr_t)secret, sizeof local);

    if (error == 0 || strcmp(local, "local") != 0) {
        return 0;
    }
    return co_shm_node_write(node, 1, local, (uint64_t)(uintptr_t)secret, sizeof local);
}

// The kernel gives the number of rank 1 to a process that is no rank: ours stands for it.
static int number_is_used_again(struct shm_rank *self)
{
    struct co_shm_process *peer = &self->node->processes[1];
    char secret[8] = "secret";

    shm_job_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    while (co_shm_node_dead_peer(self->node) != 1) {
        sched_yield();
    }
    peer->pid = (uint64_t)getpid();
    self->node->started[1]++;                     // another's: ours is not later than that of a rank forked after us
    co_store_relaxed(&self->node->seen_ns[1], 0); // long ago
    SHM_CHECK(co_shm_node_dead_peer(self->node) == 1);
    SHM_CHECK(co_shm_node_is_gone(self->node, 1));
    SHM_CHECK(copy_both_ways(self->node, secret) == -ESRCH);
    SHM_CHECK(strcmp(secret, "secret") == 0);
    return 0;
}

// Who lives is copied from, and stays so.
static int neighbour_is_the_same(struct shm_rank *self)
{
    int next = (self->rank + 1) % self->size;
    int read = -1;

    *shm_job_word(self, self->rank) = (long)(intptr_t)&self->rank;
    shm_job_barrier(self);
    if (co_shm_node_single_copy(self->node)) {
        for (int i = 0; i < 3; i++) {
            co_store_relaxed(&self->node->seen_ns[next], 0);
            uint64_t from = (uint64_t)*shm_job_word(self, next);
            SHM_CHECK(co_shm_node_read(self->node, next, &read, from, sizeof read) == 0);
            SHM_CHECK(read == next);
        }
    }
    return 0;
}

// Containers that share /dev/shm and not their processes: the number is somebody else's here, whoever has it.
static int number_of_another_namespace(struct shm_rank *self)
{
    struct co_shm_node *node = self->node;
    char secret[8] = "secret";

    shm_job_barrier(self);
    if (self->rank == 0) {
        struct co_shm_process *peer = &node->processes[1], before = *peer;
        peer->pid = (uint64_t)getpid();
        peer->pid_namespace++;
        co_shm_peers_close(node);
        SHM_CHECK(co_shm_peers_open(node) == 0);
        SHM_CHECK(co_shm_node_dead_peer(node) == -1 && !co_shm_node_is_gone(node, 1)); // nothing is known of it
        SHM_CHECK(copy_both_ways(node, secret) == -ESRCH);
        SHM_CHECK(strcmp(secret, "secret") == 0);
        SHM_CHECK(co_shm_peer_is_same(node, 0));
        *peer = before;
    }
    shm_job_barrier(self);
    return 0;
}

static bool rank_1_lives(struct shm_rank *self)
{
    char local = 0;
    int read = co_shm_node_read(self->node, 1, &local, self->node->processes[1].probe_address, sizeof local);
    return co_shm_node_dead_peer(self->node) == -1 && !co_shm_node_is_gone(self->node, 1) &&
           (read == 0 || !co_shm_node_single_copy(self->node));
}

// A /proc for the numbers of another namespace, or a time namespace of the peer's own: what it says of itself is not
// what /proc says of that number here.
static int proc_says_otherwise(struct shm_rank *self)
{
    struct co_shm_node *node = self->node;

    if (self->rank == 0) {
        node->processes[1].started++;
        co_shm_peers_close(node);
        SHM_CHECK(co_shm_peers_open(node) == 0);
        SHM_CHECK(node->started[1] == 0);
        SHM_CHECK(co_shm_node_dead_peer(node) == -1 && !co_shm_node_is_gone(node, 1));
    }
    shm_job_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    while (co_shm_node_dead_peer(node) != 1 || !co_shm_node_is_gone(node, 1)) {
        sched_yield();
    }
    return 0;
}

// The program may lower the limit below what is open.
static int one_is_killed_under_a_limit(struct shm_rank *self)
{
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = 10};

    SHM_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    shm_job_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    while (co_shm_node_dead_peer(self->node) < 0) { // who has noticed ends and may be the first that others notice
        sched_yield();
    }
    return 0;
}

// The program closes descriptors that are not its own, and opens files in their place, which are always readable.
static int descriptors_are_the_programs(struct shm_rank *self)
{
    int never[2];
    shm_job_barrier(self);
    if (self->rank == 0) {
        int watched = self->node->watched[1], file = open("/dev/null", O_RDONLY | O_CLOEXEC);
        SHM_CHECK(watched >= 0 && file >= 0);
        SHM_CHECK(dup2(file, watched) == watched);
        co_store_relaxed(&self->node->seen_ns[1], 0); // long ago
        SHM_CHECK(rank_1_lives(self));
        close(watched);
        co_store_relaxed(&self->node->seen_ns[1], 0);
        SHM_CHECK(rank_1_lives(self));
        close(file);
        SHM_CHECK(pipe(never) == 0 && dup2(never[0], watched) == watched); // it never tells anything
        SHM_CHECK(rank_1_lives(self));
    }
    shm_job_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    while (co_shm_node_dead_peer(self->node) != 1) {
        sched_yield();
    }
    SHM_CHECK(co_shm_node_is_gone(self->node, 1));
    return 0;
}

static bool is_stopped(pid_t pid)
{
    char path[64], line[256] = "";

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *end = strrchr(line, ')');
    return read && end && end[1] == ' ' && end[2] == 'T';
}

// Rank 0 broadcasts until the rings are full while the last rank is stopped.
static int one_is_stopped(struct shm_rank *self)
{
    enum { OPERATIONS = 400, BYTES = 100 };
    struct co_shm_team *team;
    struct co_shm_op op;
    char *blocks = calloc(OPERATIONS, BYTES);
    pid_t last = shm_job_pid(self, self->size - 1);
    int ahead = 0, idle = 0;

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(shm_job_check_allgather(self, team, 1, 8) == 0);
    shm_job_barrier(self);
    if (self->rank == 0) {
        kill(last, SIGSTOP);
        while (!is_stopped(last)) {
            sched_yield();
        }
    }
    for (int i = 0; i < OPERATIONS; i++) {
        char *block = blocks + (size_t)i * BYTES;
        int result = 0;
        if (self->rank == 0) {
            shm_job_fill(block, (uint64_t)i, 0, BYTES);
        }
        co_shm_bcast_start(&op, team, 0, block, BYTES);
        while (self->rank == 0 && idle < 1000 && (result = co_shm_op_progress(&op)) == 0) {
            idle++;
            sched_yield();
        }
        ahead += self->rank == 0 && result == 1 && idle < 1000;
        if (self->rank == 0 && idle == 1000) {
            SHM_CHECK(co_shm_node_dead_peer(self->node) == -1);
            kill(last, SIGCONT);
            idle++;
        }
        SHM_CHECK(result == 1 || shm_job_finish(&op) == 1);
    }
    SHM_CHECK(self->rank != 0 || (ahead >= 8 && idle == 1001)); // went on without it, but not for ever
    for (int i = 0; i < OPERATIONS; i++) {
        SHM_CHECK(shm_job_holds(blocks + (size_t)i * BYTES, (uint64_t)i, 0, BYTES));
    }
    free(blocks);
    co_shm_team_close(team);
    return 0;
}

// The one that stops is in the middle of a large operation.
static int one_is_stopped_while_copying(struct shm_rank *self)
{
    struct co_shm_team *team;
    pid_t last = shm_job_pid(self, self->size - 1);

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (uint64_t i = 0; i < 6; i++) {
        if (self->rank == 0) {
            kill(last, SIGSTOP);
            sched_yield();
            kill(last, SIGCONT);
        }
        SHM_CHECK(shm_job_check_bcast(self, team, 3 * i, (int)(i % 3), 700001) == 0);
        SHM_CHECK(shm_job_check_gather(self, team, 3 * i + 1, (int)(i % 3), 300001) == 0);
        SHM_CHECK(shm_job_check_allgather(self, team, 3 * i + 2, 300001) == 0);
    }
    co_shm_team_close(team);
    return 0;
}

static void a_killed_process_is_noticed(void **state)
{
    struct shm_job_options options = {.size = 2, .leave_closed = false};

    (void)state;
    // Rank 1 fails by signal; rank 0 must have noticed, or it would be killed by its alarm or as a failure.
    assert_int_equal(shm_job_run_with_victim(&options, one_is_killed, 1), 0);
    options.by_number = true;
    assert_int_equal(shm_job_run_with_victim(&options, one_is_killed, 1), 0);
    struct shm_job_options many = {.size = 12};
    assert_int_equal(shm_job_run_with_victim(&many, one_is_killed_under_a_limit, 1), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void who_lives_is_not_given_up(void **state)
{
    struct shm_job_options options = {.size = 2, .single_copy = CO_YES};

    (void)state;
    assert_int_equal(shm_job_run_with_victim(&options, descriptors_are_the_programs, 1), 0);
    assert_int_equal(shm_job_run_with_victim(&options, proc_says_otherwise, 1), 0);
    options.by_number = true;
    assert_int_equal(shm_job_run_with_victim(&options, proc_says_otherwise, 1), 0);
}

static void a_number_used_again_is_left_alone(void **state)
{
    struct shm_job_options options = {.size = 2, .single_copy = CO_YES};

    (void)state;
    assert_int_equal(shm_job_run_with_victim(&options, number_is_used_again, 1), 0);
    assert_int_equal(shm_job_run(&options, neighbour_is_the_same), 0);
    assert_int_equal(shm_job_run(&options, number_of_another_namespace), 0);
    options.by_number = true;
    assert_int_equal(shm_job_run_with_victim(&options, number_is_used_again, 1), 0);
    assert_int_equal(shm_job_run(&options, neighbour_is_the_same), 0);
}

static void a_stopped_process_loses_nothing(void **state)
{
    struct shm_job_options options = {.size = 3, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run(&options, one_is_stopped), 0);
    assert_int_equal(shm_job_run(&options, one_is_stopped_while_copying), 0);
    options.single_copy = CO_YES;
    assert_int_equal(shm_job_run(&options, one_is_stopped_while_copying), 0);
}

enum { LOOKS = 300 };

static void *look_for_the_dead(void *arg)
{
    const struct co_shm_node *node = arg;
    intptr_t wrong = 0;
    for (int i = 0; i < LOOKS; i++) {
        wrong += co_shm_node_dead_peer(node) != -1;
    }
    return (void *)wrong;
}

static void *look_at_one(void *arg)
{
    struct co_shm_node *node = arg;
    intptr_t wrong = 0;
    for (int i = 0; i < LOOKS; i++) {
        co_store_relaxed(&node->seen_ns[1], 0); // long ago
        wrong += co_shm_node_is_gone(node, 1) || !co_shm_peer_is_same(node, 1);
    }
    return (void *)wrong;
}

// A caller that waits looks for the dead while a worker copies; ThreadSanitizer sees whether they share anything.
static void several_threads_may_look(void **state)
{
    struct co_shm_process processes[2] = {{.pid = (uint64_t)getpid()}, {.pid = 0}};
    struct co_shm_node node = {.config = {.size = 2, .watched_most = 2}, .processes = processes};
    pthread_t threads[3];
    void *wrong;
    int ends[2];
    char none;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit((int)read(ends[0], &none, 1)); // until we end it, or end
    }
    processes[1].pid = (uint64_t)child;
    assert_int_equal(co_shm_peers_open(&node), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i == 2 ? look_at_one : look_for_the_dead, &node), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &wrong);
        assert_int_equal((intptr_t)wrong, 0);
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(co_shm_node_dead_peer(&node), 1);
    assert_true(co_shm_node_is_gone(&node, 1));
    co_shm_peers_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_process_is_noticed),       cmocka_unit_test(who_lives_is_not_given_up),
        cmocka_unit_test(a_number_used_again_is_left_alone), cmocka_unit_test(a_stopped_process_loses_nothing),
        cmocka_unit_test(several_threads_may_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
