// SPDX-License-Identifier: BSD-3-Clause
//
// Calls by proxies: arguments that come again or differ in one thing, several threads, blocks beyond 2 GiB; why there
// are none.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // memfd_create
#endif
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "proxied_ranks.h"

static const char *const one_node[] = {NULL}, *const each_a_node[] = {"CASTOFF_NODE_RANKS=1", NULL};
static const char *const *settings; // of the test that runs

// What differs in one thing alone is another call; what is the same is known, and may be under way twice if it is
// nothing.
static void arguments(void)
{
    enum { BYTES = 64 };
    static unsigned char send[2][2 * BYTES], receive[2][2 * BYTES];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *teams[] = {proxied_team(world, 9), proxied_team(world, 10)};
    struct co_proxied_call *call, *again;
    struct co_proxied_counts counts;

    for (unsigned i = 0; i < 32; i++) {
        unsigned char *from = send[i & 1], *to = receive[i >> 1 & 1];
        size_t bytes = i & 4 ? BYTES : BYTES - 1;
        proxied_fill(from, 2, bytes, ranks_own, i);
        memset(to, 99, 2 * BYTES);
        MUST(co_proxied_alltoall(&call, teams[i >> 3 & 1], from, to, bytes) == 0);
        MUST(proxied_wait(world, call).error == 0 && proxied_has(to, 2, bytes, ranks_own, i));
        MUST(proxied_is_all(to + 2 * bytes, 2 * (BYTES - bytes), 99));
        co_proxied_count(world, &counts);
        MUST(counts.cached == (i < 16 ? 0 : i - 15));
    }
    MUST(co_proxied_alltoall(&call, teams[0], send, receive, 0) == 0);
    MUST(co_proxied_alltoall(&again, teams[0], send, receive, 0) == 0);
    MUST(proxied_wait(world, again).error == 0 && proxied_wait(world, call).error == 0);
    for (unsigned i = 0; i < 2500; i++) { // more than are kept, the first of them once more
        MUST(co_proxied_alltoall(&call, teams[0], (void *)(uintptr_t)(4096 + i % 2000), receive, 0) == 0);
        MUST(proxied_wait(world, call).error == 0);
    }
    co_proxied_team_close(teams[0]);
    proxied_exchange(world, teams[1], 10, 1);
    co_proxied_team_close(teams[1]);
    co_proxied_close(world);
}

static void arguments_test(void **state)
{
    (void)state;
    settings = one_node;
    ranks_run(2, arguments);
}

struct caller {
    struct co_proxied_world *world;
    struct co_proxied_team *team;
    unsigned number;
};

static void *calls_of_a_thread(void *argument)
{
    const struct caller *caller = argument;
    for (unsigned i = 0; i < 20; i++) {
        proxied_exchange(caller->world, caller->team, 1 + 150 * i, caller->number * 100 + i);
    }
    return NULL;
}

// Each has a communicator, and all have one proxy.
static void threads(void)
{
    enum { THREADS = 3 };
    struct co_proxied_world *world = proxied_open(settings);
    struct caller callers[THREADS];
    pthread_t running[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){world, proxied_team(world, 40 + i), i};
    }
    for (unsigned i = 0; i < THREADS; i++) {
        MUST(pthread_create(&running[i], NULL, calls_of_a_thread, &callers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        MUST(pthread_join(running[i], NULL) == 0);
        co_proxied_team_close(callers[i].team);
    }
    co_proxied_close(world);
}

static void threads_test(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    // The clones that start a proxy share the state of the thread that makes them, and of locks of that thread
    // ThreadSanitizer hears nothing from then on.
    skip();
#endif
    settings = each_a_node;
    ranks_run(3, threads);
}

// Blocks beyond what 32 bits hold, of memory that is there once and stands in many places.
static void huge(void)
{
    enum { PART = 1 << 26, PARTS = 34 };
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 4);
    size_t bytes = (size_t)PART * PARTS + 5, room = (size_t)PART * (PARTS + 1);
    int file = memfd_create("huge", MFD_CLOEXEC);
    unsigned char *sides[2];
    struct co_proxied_call *call;

    MUST(bytes > INT32_MAX && file >= 0 && ftruncate(file, 2L * PART) == 0);
    for (int side = 0; side < 2; side++) {
        sides[side] = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        MUST(sides[side] != MAP_FAILED);
        for (size_t at = 0; at < room; at += PART) {
            MUST(mmap(sides[side] + at, PART, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                      (off_t)side * PART) == sides[side] + at);
        }
    }
    memset(sides[0], proxied_byte(ranks_own, 1 - ranks_own, 1), PART);
    // One way is enough, and takes a while.
    struct co_proxied_block blocks[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    blocks[1 - ranks_own].send_bytes = ranks_own == 0 ? bytes : 0;
    blocks[1 - ranks_own].receive_bytes = ranks_own == 1 ? bytes : 0;
    MUST(co_proxied_alltoallv(&call, team, sides[0], sides[1], blocks) == 0);
    struct co_proxied_result result = proxied_wait(world, call);
    MUST(result.error == 0 && result.bytes == (ranks_own == 1 ? bytes : 0));
    MUST(ranks_own == 0 || proxied_is_all(sides[1], PART, proxied_byte(0, 1, 1)));
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void huge_test(void **state)
{
    (void)state;
    settings = one_node;
    ranks_run(2, huge);
}

// Each choice but yes has its reason.
static void reasons_test(void **state)
{
    (void)state;
    assert_null(co_proxied_why_none(CO_YES));
    assert_non_null(strstr(co_proxied_why_none(CO_AUTO), "CASTOFF_PROXY=auto"));
    assert_non_null(strstr(co_proxied_why_none(CO_NO), "CASTOFF_PROXY=no"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_test),
        cmocka_unit_test(arguments_test),
        cmocka_unit_test(threads_test),
        cmocka_unit_test(huge_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
