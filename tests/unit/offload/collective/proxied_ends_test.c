// SPDX-License-Identifier: BSD-3-Clause
//
// Calls by proxies that do not end well, and what is around them: memory that is gone during a call, blocks of another
// length than their receiver thinks, members that cannot, ranks and proxies that die, children of fork.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "proxied_ranks.h"

static const char *const pairs[] = {"CASTOFF_NODE_RANKS=2", NULL}, *const copied[] = {"CASTOFF_PROXY_LEND=copy", NULL},
                         *const each_a_node[] = {"CASTOFF_NODE_RANKS=1", NULL};
static const char *const *settings; // of the test that runs

// Rank 0 gives memory back that its call still needs; the next call is as if nothing had been.
static void memory_gone(void)
{
    enum { BYTES = 200000 };
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    size_t all = BYTES * (size_t)ranks_count;
    unsigned char *send = malloc(all);
    unsigned char *receive = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct co_proxied_call *call;
    char why[CO_PROXIED_WHY_BYTES];

    proxied_fill(send, ranks_count, BYTES, ranks_own, 1);
    if (ranks_own != 0) {
        RANKS_UNTIL(co_load_acquire(&ranks_shared->words[0]) == 1);
    }
    MUST(co_proxied_alltoall(&call, team, send, receive, BYTES) == 0);
    if (ranks_own == 0) {
        MUST(munmap(receive, all) == 0);
        co_store_release(&ranks_shared->words[0], 1);
    }
    struct co_proxied_result result = proxied_wait(world, call);
    // Bytes to it are not taken, and a sender that had given all of them away before it could hear so has no error.
    MUST(ranks_own == 0 ? result.error == -EFAULT : result.error == 0 || result.error == -ECONNRESET);
    MUST(result.error != -ECONNRESET || result.with == 0);
    co_proxied_describe(world, &result, why);
    MUST(why[0] != '\0');
    for (unsigned i = 2; i < 5; i++) {
        proxied_exchange(world, team, 3000, i);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void memory_gone_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(4, memory_gone);
}

// What is too long is cut and said; what is shorter ends the call well.
static void other_lengths(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char send[2 * 64], receive[2 * 64];
    struct co_proxied_call *call;

    for (uint64_t theirs = 16; theirs <= 48; theirs += 32) {
        // Rank 0 has `theirs` for rank 1, which has room for 32; the rest is as both say.
        struct co_proxied_block blocks[2] = {{0, 0, 32, 32}, {64, 64, 32, 32}};
        blocks[1].send_bytes = ranks_own == 0 ? theirs : 32;
        memset(send, 10 + ranks_own, sizeof send);
        memset(receive, 99, sizeof receive);
        MUST(co_proxied_alltoallv(&call, team, send, receive, blocks) == 0);
        struct co_proxied_result result = proxied_wait(world, call);
        bool is_cut = ranks_own == 1 && theirs > 32;
        MUST(result.error == (is_cut ? -EMSGSIZE : 0) && result.with == (is_cut ? 0 : -1));
        if (ranks_own == 1) {
            uint64_t came = theirs < 32 ? theirs : 32;
            MUST(proxied_is_all(receive, came, 10) && proxied_is_all(receive + came, 64 - came, 99));
            MUST(proxied_is_all(receive + 64, 32, 11)); // its own
        }
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void other_lengths_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(2, other_lengths);
    settings = each_a_node;
    ranks_run(2, other_lengths);
}

// One that cannot make its second call: the others hear so, and all go on with the third.
static void refused(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char send[4 * 40], receive[4 * 40];
    struct co_proxied_call *call;

    for (unsigned i = 0; i < 4; i++) {
        if (i % 2 == 0 || ranks_own == 2) {
            if (i % 2 == 1) {
                MUST(co_proxied_refuse(team) == 0);
            } else {
                proxied_exchange(world, team, 40, i);
            }
            continue;
        }
        proxied_fill(send, ranks_count, 40, ranks_own, i);
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
        struct co_proxied_result result = proxied_wait(world, call);
        MUST(result.error == -ECONNRESET && result.with == 2);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void refused_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(3, refused);
    settings = each_a_node;
    ranks_run(4, refused);
}

// Calls that are done and that nobody has asked for leave room for a refusal.
static void refused_beside_done_ones(void)
{
    enum { CALLS = 1024 }; // as many as may be under way
    static unsigned char send[2 * CALLS], receive[2 * CALLS];
    static struct co_proxied_call *calls[CALLS];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;

    for (unsigned i = 0; i < CALLS; i++) {
        proxied_fill(send + 2 * i, 2, 1, ranks_own, i);
        MUST(co_proxied_alltoall(&calls[i], team, send + 2 * i, receive + 2 * i, 1) == 0);
        proxied_await(world, calls[i]);
    }
    if (ranks_own == 0) {
        MUST(co_proxied_refuse(team) == 0);
    } else {
        MUST(co_proxied_alltoall(&call, team, send, receive, 1) == 0);
        MUST(proxied_wait(world, call).error == -ECONNRESET);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        MUST(proxied_wait(world, calls[i]).error == 0);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void refused_beside_done_ones_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, refused_beside_done_ones);
}

// Where the rank copies, memory that is none is seen before the call counts.
static void no_memory_to_copy(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char receive[2 * 40];
    struct co_proxied_block blocks[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    struct co_proxied_call *call;

    if (ranks_own == 0) {
        blocks[1].send_bytes = 40;
        MUST(co_proxied_alltoallv(&call, team, (void *)4096, receive, blocks) == -EFAULT);
        MUST(co_proxied_refuse(team) == 0);
    } else {
        blocks[0].receive_bytes = 40;
        MUST(co_proxied_alltoallv(&call, team, receive, receive, blocks) == 0);
        MUST(proxied_wait(world, call).error == -ECONNRESET);
    }
    proxied_exchange(world, team, 100, 1);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void no_memory_to_copy_test(void **state)
{
    (void)state;
    settings = copied;
    ranks_run(2, no_memory_to_copy);
}

// A child takes nothing along: the parent's calls go on, and its proxy still sees when it ends.
static void forks(void)
{
    enum { BYTES = 90000 };
    static unsigned char send[4 * BYTES], receive[4 * BYTES];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;
    int status;

    for (unsigned i = 0; i < 3; i++) {
        proxied_fill(send, ranks_count, BYTES, ranks_own, i);
        MUST(co_proxied_alltoall(&call, team, send, receive, BYTES) == 0);
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            memset(send, 0, sizeof send); // its own copies
            _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
        MUST(proxied_wait(world, call).error == 0 && proxied_has(receive, ranks_count, BYTES, ranks_own, i));
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void forks_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(4, forks);
}

// One that all have ended: who goes then takes nothing along.
static void exchange_by_all(struct co_proxied_world *world, struct co_proxied_team *team)
{
    proxied_exchange(world, team, 40, 1);
    (void)co_add_acq_rel(&ranks_shared->words[2], 1); // acq_rel: with the look of the others
    RANKS_UNTIL(co_load_acquire(&ranks_shared->words[2]) == ranks_count);
}

// Rank 1 is killed in its second call: the others' ends with its name.
static void a_rank_dies(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char send[4 * 40], receive[4 * 40];
    struct co_proxied_call *call;

    exchange_by_all(world, team);
    if (ranks_own == 1) {
        raise(SIGKILL);
    }
    MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
    struct co_proxied_result result = proxied_wait(world, call);
    MUST(result.error == -ECONNRESET && result.with == 1);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void a_rank_dies_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(4, a_rank_dies);
}

// The proxy is killed while a call is under way: every call of its ranks is done, and none begins.
static void its_proxy_dies(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char send[4 * 40], receive[4 * 40];
    struct co_proxied_call *call, *other;

    exchange_by_all(world, team);
    if (ranks_own != 0) {
        RANKS_UNTIL(co_load_acquire(&ranks_shared->words[0]) == 1);
    } else {
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
        co_store_release(&ranks_shared->words[1], 1);
        struct co_proxied_result result = proxied_wait(world, call);
        MUST(result.error == -ECONNRESET && result.with == -1 && co_proxied_world_is_lost(world));
        MUST(co_proxied_descriptor(world) == -1);
        co_store_release(&ranks_shared->words[0], 1);
    }
    int error = co_proxied_alltoall(&other, team, send, receive, 40);
    if (error == 0) { // it has not looked yet
        MUST(proxied_wait(world, other).error == -ECONNRESET);
        error = co_proxied_alltoall(&other, team, send, receive, 40);
    }
    MUST(error == -ECONNRESET && co_proxied_refuse(team) == -ECONNRESET);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void its_proxy_dies_test(void **state)
{
    (void)state;
    settings = copied; // one node
    ranks_start(2, its_proxy_dies);
    RANKS_UNTIL(co_load_acquire(&ranks_shared->words[1]) == 1);
    kill(ranks_shared->proxy, SIGKILL);
    ranks_end();
}

// Both have begun and are stopped: the bytes come all the same.
static void stopped(void)
{
    enum { BYTES = 1 << 18 };
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char *send = malloc(2 * BYTES), *receive = ranks_shared->memory + ranks_own * 2 * BYTES;
    struct co_proxied_call *call;

    proxied_fill(send, 2, BYTES, ranks_own, 6);
    MUST(co_proxied_alltoall(&call, team, send, receive, BYTES) == 0);
    co_add_relaxed(&ranks_shared->words[0], 1); // relaxed: the test only counts
    raise(SIGSTOP);
    MUST(proxied_wait(world, call).error == 0);
    free(send);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void stopped_test(void **state)
{
    (void)state;
    enum { BYTES = 1 << 18 };
    settings = each_a_node;
    ranks_start(2, stopped);
    for (int i = 0; i < 2; i++) {
        RANKS_UNTIL(ranks_shared->is_denied || ranks_state_of(ranks_processes[i]) == 'T');
    }
    for (int i = 0; i < 2; i++) {
        RANKS_UNTIL(ranks_shared->is_denied || proxied_has(ranks_shared->memory + i * 2 * BYTES, 2, BYTES, i, 6));
        kill(ranks_processes[i], SIGCONT);
    }
    ranks_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_gone_test),       cmocka_unit_test(other_lengths_test),
        cmocka_unit_test(refused_test),           cmocka_unit_test(refused_beside_done_ones_test),
        cmocka_unit_test(no_memory_to_copy_test), cmocka_unit_test(forks_test),
        cmocka_unit_test(a_rank_dies_test),       cmocka_unit_test(its_proxy_dies_test),
        cmocka_unit_test(stopped_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
