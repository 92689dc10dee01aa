// SPDX-License-Identifier: BSD-3-Clause
//
// castoff_offload.h on one node, through a proxy that is a process: basic primitives, the listings of the paper, errors
// that its users meet. What is shown without a clock: bytes arrive while all ranks are stopped.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "offload_ranks.h"

enum { BLOCK = 5000, CALLS = 5, LARGE = 1 << 20 };

static bool is_all(const unsigned char *memory, size_t bytes, int value)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != (unsigned char)value) {
            return false;
        }
    }
    return true;
}

// There and back, of any size, also nothing, and to oneself.
static void ping_pong(void)
{
    static const size_t sizes[] = {0, 1, 7, 65536, 65537, LARGE + 3};
    static unsigned char out[LARGE + 3], in[LARGE + 3];
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *send, *receive;
    int other = 1 - ranks_own, is_done;
    size_t received;

    MUST(castoff_offload_rank(world) == ranks_own && castoff_offload_size(world) == 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(out, 10 + ranks_own, sizes[i]);
        memset(in, 0, sizeof in);
        MUST(castoff_offload_receive(world, in, sizeof in, other, 7, &receive) == 0);
        MUST(castoff_offload_send(world, out, sizes[i], other, 7, &send) == 0);
        MUST(castoff_offload_wait(receive, &received) == 0 && received == sizes[i]);
        MUST(is_all(in, sizes[i], 10 + other) && in[sizes[i] < sizeof in ? sizes[i] : 0] != 99);
        MUST(castoff_offload_wait(send, NULL) == 0);
    }
    MUST(castoff_offload_receive(world, in, 4, ranks_own, 0, &receive) == 0);
    MUST(castoff_offload_test(receive, &is_done) == 0 && is_done == 0);
    MUST(castoff_offload_send(world, "self", 4, ranks_own, 0, &send) == 0);
    do {
        MUST(castoff_offload_test(receive, &is_done) == 0);
    } while (!is_done);
    MUST(castoff_offload_wait(receive, NULL) == 0 && memcmp(in, "self", 4) == 0);
    MUST(castoff_offload_close(world) == -EBUSY); // the send has not been waited for
    MUST(castoff_offload_wait(send, NULL) == 0);
    MUST(castoff_offload_close(world) == 0);
}

static void ping_pong_test(void **state)
{
    (void)state;
    ranks_run(2, ping_pong);
}

static void errors(void)
{
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request;
    struct castoff_offload_group *group;
    unsigned char memory[8] = {0};
    int other = 1 - ranks_own;

    MUST(castoff_offload_send(world, memory, 1, 2, 0, &request) == -EINVAL);
    MUST(castoff_offload_send(world, memory, 1, -1, 0, &request) == -EINVAL);
    MUST(strstr(castoff_offload_why(), "no such rank") != NULL);
    MUST(castoff_offload_group_start(world, &group) == 0);
    MUST(castoff_offload_group_call(group) == -EINVAL); // without an end
    MUST(castoff_offload_group_wait(group, NULL) == 0); // nothing was called
    MUST(castoff_offload_group_end(group) == 0);
    MUST(castoff_offload_group_barrier(group) == -EBUSY);
    MUST(castoff_offload_close(world) == -EBUSY);
    MUST(castoff_offload_group_free(group) == 0);
    if (ranks_own == 0) { // more than there is room for
        MUST(castoff_offload_send(world, "12345678", 8, other, 1, &request) == 0);
    } else {
        MUST(castoff_offload_receive(world, memory, 4, other, 1, &request) == 0);
    }
    int error = castoff_offload_wait(request, NULL);
    MUST(error == (ranks_own == 1 ? -EMSGSIZE : error) && is_all(memory + 4, 4, 0));
    if (ranks_own == 0) { // from where nothing is
        MUST(castoff_offload_send(world, (void *)4096, 8, other, 2, &request) == 0);
    } else {
        MUST(castoff_offload_receive(world, memory, 8, other, 2, &request) == 0);
    }
    MUST(castoff_offload_wait(request, NULL) == (ranks_own == 0 ? -EFAULT : -ECONNRESET));
    MUST(castoff_offload_close(world) == 0);
}

static void errors_test(void **state)
{
    (void)state;
    ranks_run(2, errors);
}

static struct castoff_offload_group *ring_record(struct castoff_offload_world *world, unsigned char *memory,
                                                 size_t bytes, bool forwards)
{
    struct castoff_offload_group *group;
    bool is_last = ranks_own == ranks_count - 1;

    MUST(castoff_offload_group_start(world, &group) == 0);
    if (ranks_own > 0 && (is_last || !forwards)) {
        MUST(castoff_offload_group_receive(group, memory, bytes, ranks_own - 1, 1) == 0);
        MUST(castoff_offload_group_barrier(group) == 0);
    }
    if (ranks_own > 0 && !is_last && forwards) {
        MUST(castoff_offload_group_forward(group, memory, bytes, ranks_own - 1, 1, ranks_own + 1, 1) == 0);
    } else if (!is_last) {
        MUST(castoff_offload_group_send(group, memory, bytes, ranks_own + 1, 1) == 0);
    }
    MUST(castoff_offload_group_end(group) == 0);
    return group;
}

static struct castoff_offload_group *all_to_all_record(struct castoff_offload_world *world, unsigned char out[][BLOCK],
                                                       unsigned char in[][BLOCK])
{
    struct castoff_offload_group *group;
    MUST(castoff_offload_group_start(world, &group) == 0);
    for (int i = 0; i < ranks_count; i++) {
        MUST(castoff_offload_group_send(group, out[i], BLOCK, i, 2) == 0);
        MUST(castoff_offload_group_receive(group, in[i], BLOCK, i, 2) == 0);
    }
    MUST(castoff_offload_group_end(group) == 0);
    return group;
}

// Rings, by barriers and by passing on, and a personalized all-to-all, at the same time and again.
static void groups(void)
{
    static unsigned char memory[2][LARGE], out[RANKS_RANKS_MAX][BLOCK], in[RANKS_RANKS_MAX][BLOCK];
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_group *ring = ring_record(world, memory[0], LARGE, false),
                                 *chain = ring_record(world, memory[1], LARGE, true),
                                 *all = all_to_all_record(world, out, in);
    size_t received;
    int is_done;

    for (int call = 0; call < CALLS; call++) {
        memset(memory, ranks_own == 0 ? 10 + call : 0, sizeof memory);
        memset(in, 0, sizeof in);
        for (int i = 0; i < ranks_count; i++) {
            memset(out[i], 50 * call + 4 * ranks_own + i, BLOCK);
        }
        MUST(castoff_offload_group_call(ring) == 0);
        MUST(castoff_offload_group_call(all) == 0 && castoff_offload_group_call(all) == -EBUSY);
        MUST(castoff_offload_group_free(all) == -EBUSY);
        MUST(castoff_offload_group_wait(all, &received) == 0 && received == (size_t)ranks_count * BLOCK);
        MUST(castoff_offload_group_call(chain) == 0);
        for (int i = 0; i < ranks_count; i++) {
            MUST(is_all(in[i], BLOCK, 50 * call + 4 * i + ranks_own));
        }
        MUST(castoff_offload_group_wait(ring, NULL) == 0 && castoff_offload_group_wait(chain, NULL) == 0);
        MUST(castoff_offload_group_test(ring, &is_done) == 0 && is_done == 1);
        MUST(is_all(memory[0], LARGE, 10 + call) && is_all(memory[1], LARGE, 10 + call));
    }
    MUST(castoff_offload_group_free(ring) == 0 && castoff_offload_group_free(chain) == 0 &&
         castoff_offload_group_free(all) == 0);
    MUST(castoff_offload_close(world) == 0);
}

static void groups_test(void **state)
{
    (void)state;
    ranks_run(4, groups);
}

static void groups_staged_test(void **state)
{
    (void)state;
    setenv("CASTOFF_PROXY_LEND", "stage", 1);
    ranks_run(3, groups);
    unsetenv("CASTOFF_PROXY_LEND");
}

static void groups_of_two_nodes_test(void **state)
{
    (void)state;
    setenv("CASTOFF_NODE_RANKS", "2", 1); // two proxies, which speak by TCP
    ranks_run(3, groups);
    ranks_run(4, groups);
    unsetenv("CASTOFF_NODE_RANKS");
}

static void two_proxies(void)
{
    struct castoff_offload_world *world = ranks_world();
    ranks_shared->words[ranks_own] = world->proxy;
    for (int i = 0; i < ranks_count; i++) {
        RANKS_UNTIL(ranks_shared->words[i] != 0);
    }
    for (int i = 0; i < ranks_count; i++) {
        MUST((ranks_shared->words[i] == world->proxy) == (i % 2 == ranks_own % 2));
    }
    MUST(castoff_offload_close(world) == 0);
    groups();
}

static void two_proxies_of_a_node_test(void **state)
{
    (void)state;
    setenv("CASTOFF_PROXIES", "2", 1);
    ranks_run(4, two_proxies);
    unsetenv("CASTOFF_PROXIES");
}

static void nodes_of_one_rank_test(void **state)
{
    (void)state;
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    ranks_run(2, ping_pong);
    ranks_run(2, errors);
    unsetenv("CASTOFF_NODE_RANKS");
}

// What another rank waits for goes on while this one waits for it: it sends when that has been called.
static void other_progress(void *arg)
{
    _Atomic int *calls = arg;
    (*calls)++;
}

static int arg_gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    return ranks_gather(NULL, mine, all, bytes);
}

static void progresses(void)
{
    enum { PROGRESSED = 100 };
    struct castoff_offload_world *world;
    struct castoff_offload_request *request;
    char byte = 'p';
    int error =
        castoff_offload_open(&world, &(struct castoff_offload_job){.struct_bytes = sizeof(struct castoff_offload_job),
                                                                   .rank = ranks_own,
                                                                   .size = 2,
                                                                   .allgather = arg_gather,
                                                                   .arg = &ranks_shared->words[ranks_own],
                                                                   .command = ranks_command(),
                                                                   .progress = ranks_own == 0 ? other_progress : NULL});
    ranks_shared->is_denied = ranks_shared->is_denied || error == -EPERM;
    if (error == -EPERM) {
        return;
    }
    MUST(error == 0);
    if (ranks_own == 0) {
        MUST(castoff_offload_receive(world, &byte, 1, 1, 0, &request) == 0);
    } else {
        RANKS_UNTIL(ranks_shared->words[0] >= PROGRESSED);
        MUST(ranks_shared->words[1] == 0);
        MUST(castoff_offload_send(world, &byte, 1, 0, 0, &request) == 0);
    }
    MUST(castoff_offload_wait(request, NULL) == 0 && castoff_offload_close(world) == 0);
}

static void waiting_lets_others_go_on(void **state)
{
    (void)state;
    ranks_run(2, progresses);
}

// Each rank's memory of the ring is its part of what the test sees.
enum { STOPPED_BYTES = RANKS_SHARED_BYTES / RANKS_RANKS_MAX };

static void stopped(void)
{
    struct castoff_offload_world *world = ranks_world();
    unsigned char *memory = ranks_shared->memory + (size_t)ranks_own * STOPPED_BYTES;
    struct castoff_offload_group *ring = ring_record(world, memory, STOPPED_BYTES, false);

    if (ranks_own == 0) {
        memset(memory, 99, STOPPED_BYTES);
    }
    ranks_shared->words[ranks_own] = 1;
    RANKS_UNTIL(ranks_shared->words[RANKS_RANKS_MAX] == 1); // its proxy is stopped
    MUST(castoff_offload_group_call(ring) == 0);
    raise(SIGSTOP);
    MUST(is_all(memory, STOPPED_BYTES, 99)); // before anything is asked
    MUST(castoff_offload_group_wait(ring, NULL) == 0);
    MUST(castoff_offload_group_free(ring) == 0);
    MUST(castoff_offload_close(world) == 0);
}

static bool all_have_stopped(int ranks)
{
    bool have_stopped = true;
    for (int i = 0; i < ranks; i++) {
        int status;
        assert_int_equal(waitpid(ranks_processes[i], &status, WUNTRACED), ranks_processes[i]);
        have_stopped = have_stopped && WIFSTOPPED(status);
    }
    return have_stopped;
}

static void bytes_arrive_while_all_ranks_are_stopped(void **state)
{
    (void)state;
    enum { RANKS = 4 };

    ranks_start(RANKS, stopped);
    for (int i = 0; i < RANKS; i++) {
        RANKS_UNTIL(ranks_shared->words[i] == 1 || ranks_shared->is_denied);
    }
    if (!ranks_shared->is_denied) {
        pid_t proxy = ranks_shared->proxy;
        kill(proxy, SIGSTOP);
        RANKS_UNTIL(ranks_state_of(proxy) == 'T');
        ranks_shared->words[RANKS_RANKS_MAX] = 1;
        assert_true(all_have_stopped(RANKS));
        assert_true(is_all(ranks_shared->memory + STOPPED_BYTES, sizeof ranks_shared->memory - STOPPED_BYTES, 0));
        kill(proxy, SIGCONT);
        RANKS_UNTIL(is_all(ranks_shared->memory, sizeof ranks_shared->memory, 99));
        for (int i = 0; i < RANKS; i++) {
            kill(ranks_processes[i], SIGCONT);
        }
    }
    ranks_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_pong_test),
        cmocka_unit_test(errors_test),
        cmocka_unit_test(groups_test),
        cmocka_unit_test(groups_staged_test),
        cmocka_unit_test(groups_of_two_nodes_test),
        cmocka_unit_test(two_proxies_of_a_node_test),
        cmocka_unit_test(nodes_of_one_rank_test),
        cmocka_unit_test(waiting_lets_others_go_on),
        cmocka_unit_test(bytes_arrive_while_all_ranks_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
