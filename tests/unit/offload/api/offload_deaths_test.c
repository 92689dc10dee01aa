// SPDX-License-Identifier: BSD-3-Clause
//
// What ends with whom: ranks that die, with a child that holds their connection or without, proxies that are killed, on
// one node and between two; and ranks that leave at once, whose bytes arrive all the same.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload_ranks.h"

// The last error is one of that rank, and says on which host it is.
static bool why_names(int rank)
{
    char host[CO_OFFLOAD_PLACE_BYTES] = "", expected[CO_OFFLOAD_WHY_BYTES];
    MUST(gethostname(host, sizeof host - 1) == 0);
    snprintf(expected, sizeof expected, "rank %d on host %s has ended", rank, host);
    return strstr(castoff_offload_why(), expected) != NULL;
}

// So is one of its own proxy.
static bool why_names_the_proxy(void)
{
    char host[CO_OFFLOAD_PLACE_BYTES] = "", expected[CO_OFFLOAD_WHY_BYTES];
    MUST(gethostname(host, sizeof host - 1) == 0);
    snprintf(expected, sizeof expected, "the proxy of host %s has ended", host);
    return strstr(castoff_offload_why(), expected) != NULL;
}

// Rank 1 is gone in one way or another, while rank 0 waits for it.
static void waits_for_the_dead(struct castoff_offload_world *world)
{
    struct castoff_offload_request *request;
    char byte;
    MUST(castoff_offload_receive(world, &byte, 1, 1, 0, &request) == 0);
    ranks_shared->words[0] = 1;
    MUST(castoff_offload_wait(request, NULL) == -ECONNRESET && why_names(1));
    MUST(castoff_offload_send(world, &byte, 1, 1, 0, &request) == 0);
    MUST(castoff_offload_wait(request, NULL) == -ECONNRESET && why_names(1));
    MUST(castoff_offload_close(world) == 0);
}

static void dies_with_a_child(bool by_fork)
{
    struct castoff_offload_world *world = ranks_world();
    if (ranks_own == 0) {
        waits_for_the_dead(world);
        ranks_shared->words[2] = 1; // the child may go
        return;
    }
    RANKS_UNTIL(ranks_shared->words[0] == 1);
    // The other way knows no handlers: all descriptors stay open in the child.
    pid_t child = by_fork ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        struct castoff_offload_request *request;
        if (by_fork) {
            bool is_refused = castoff_offload_send(world, "x", 1, 0, 0, &request) == -ECHILD;
            ranks_shared->words[3] = is_refused && castoff_offload_close(world) == 0 ? 1 : 2;
        }
        RANKS_UNTIL(ranks_shared->words[2] == 1 || ranks_has_ended(ranks_processes[0]));
        _exit(0);
    }
    MUST(child > 0);
    RANKS_UNTIL(!by_fork || ranks_shared->words[3] != 0);
    MUST(!by_fork || ranks_shared->words[3] == 1);
    _exit(0); // without a word
}

static void dies_with_a_forked_child(void)
{
    dies_with_a_child(true);
}

static void dies_with_a_cloned_child(void)
{
    dies_with_a_child(false);
}

static void a_child_does_not_hide_a_death(void **state)
{
    (void)state;
    ranks_run(2, dies_with_a_forked_child);
    ranks_run(2, dies_with_a_cloned_child);
}

static void is_killed(void)
{
    struct castoff_offload_world *world = ranks_world();
    if (ranks_own == 0) {
        waits_for_the_dead(world);
        return;
    }
    RANKS_UNTIL(ranks_shared->words[0] == 1);
    kill(getpid(), SIGKILL);
}

static void a_killed_rank_is_an_error_of_who_needs_it(void **state)
{
    (void)state;
    ranks_run(2, is_killed);
}

static void loses_its_proxy(void)
{
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request, *more;
    struct castoff_offload_group *group;
    int other = 1 - ranks_own, is_done = 0;
    char bytes[2];

    MUST(castoff_offload_receive(world, bytes, 1, other, 0, &request) == 0);
    MUST(castoff_offload_group_start(world, &group) == 0);
    MUST(castoff_offload_group_receive(group, bytes + 1, 1, other, 0) == 0);
    MUST(castoff_offload_group_end(group) == 0 && castoff_offload_group_call(group) == 0);
    ranks_shared->words[ranks_own] = 1;
    if (ranks_own == 0) {
        RANKS_UNTIL(ranks_shared->words[1] == 1);
        MUST(kill(ranks_shared->proxy, SIGKILL) == 0);
        MUST(castoff_offload_wait(request, NULL) == -ECONNRESET && why_names_the_proxy()); // that sleeps
    } else {
        while (!is_done) { // that asks
            MUST(castoff_offload_test(request, &is_done) == 0);
        }
        MUST(castoff_offload_wait(request, NULL) == -ECONNRESET);
    }
    MUST(castoff_offload_send(world, bytes, 1, other, 0, &more) == -ECONNRESET);
    MUST(castoff_offload_group_wait(group, NULL) == -ECONNRESET);
    MUST(castoff_offload_group_call(group) == -ECONNRESET);
    MUST(castoff_offload_group_free(group) == 0);
    MUST(castoff_offload_close(world) == 0);
}

static void a_killed_proxy_is_an_error_of_its_ranks(void **state)
{
    (void)state;
    ranks_run(2, loses_its_proxy);
}

static void a_killed_rank_of_another_node(void **state)
{
    (void)state;
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    ranks_run(2, is_killed);
    unsetenv("CASTOFF_NODE_RANKS");
}

static void loses_the_other_proxy(void)
{
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request;
    int other = 1 - ranks_own;
    char byte;

    MUST(castoff_offload_receive(world, &byte, 1, other, 0, &request) == 0);
    ranks_shared->words[ranks_own] = world->proxy;
    if (ranks_own == 0) {
        RANKS_UNTIL(ranks_shared->words[1] != 0);
        MUST(ranks_shared->words[1] != world->proxy && kill(ranks_shared->words[1], SIGKILL) == 0);
    }
    MUST(castoff_offload_wait(request, NULL) == -ECONNRESET);
    MUST(ranks_own == 0 ? why_names(1) : why_names_the_proxy());
    if (ranks_own == 0) { // whose own proxy is there, and knows
        MUST(castoff_offload_send(world, &byte, 1, 1, 0, &request) == 0);
        MUST(castoff_offload_wait(request, NULL) == -ECONNRESET);
        MUST(castoff_offload_send(world, &byte, 1, 0, 7, &request) == 0); // and serves on
        ranks_shared->proxy = world->proxy;
    } else {
        MUST(castoff_offload_send(world, &byte, 1, 0, 0, &request) == -ECONNRESET);
        MUST(castoff_offload_close(world) == 0);
        return;
    }
    struct castoff_offload_request *receive;
    MUST(castoff_offload_receive(world, &byte, 1, 0, 7, &receive) == 0);
    MUST(castoff_offload_wait(request, NULL) == 0 && castoff_offload_wait(receive, NULL) == 0);
    MUST(castoff_offload_close(world) == 0);
}

static void a_killed_proxy_of_another_node(void **state)
{
    (void)state;
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    ranks_run(2, loses_the_other_proxy);
    unsetenv("CASTOFF_NODE_RANKS");
}

// A rank is gone as soon as its bytes have left, and its proxy with it; they arrive all the same.
static void leaves_at_once(void)
{
    enum { LARGE = RANKS_SHARED_BYTES };
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request;
    int other = 1 - ranks_own;

    if (ranks_own == 0) {
        unsigned char *memory = malloc(LARGE);
        MUST(memory != NULL);
        memset(memory, 5, LARGE);
        MUST(castoff_offload_send(world, memory, LARGE, other, 0, &request) == 0);
        MUST(castoff_offload_wait(request, NULL) == 0);
        memset(memory, 6, LARGE);
        MUST(castoff_offload_close(world) == 0);
        _exit(0);
    }
    MUST(castoff_offload_receive(world, ranks_shared->memory, LARGE, other, 0, &request) == 0);
    MUST(castoff_offload_wait(request, NULL) == 0);
    for (size_t i = 0; i < LARGE; i++) {
        MUST(ranks_shared->memory[i] == 5);
    }
    MUST(castoff_offload_close(world) == 0);
}

static void who_leaves_owes_nothing(void **state)
{
    (void)state;
    ranks_run(2, leaves_at_once);
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    ranks_run(2, leaves_at_once);
    unsetenv("CASTOFF_NODE_RANKS");
}

static void leaves_a_stopped_proxy(void)
{
    struct castoff_offload_world *world = ranks_world();
    if (ranks_own == 0) {
        MUST(kill(world->proxy, SIGSTOP) == 0);
        RANKS_UNTIL(ranks_state_of(world->proxy) == 'T');
        ranks_shared->words[0] = 1;
    }
    RANKS_UNTIL(ranks_shared->words[0] == 1);
    MUST(castoff_offload_close(world) == 0);
}

static void a_stopped_proxy_ends_with_its_ranks(void **state)
{
    (void)state;
    ranks_run(2, leaves_a_stopped_proxy); // which waits for its end
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_does_not_hide_a_death),
        cmocka_unit_test(a_killed_rank_is_an_error_of_who_needs_it),
        cmocka_unit_test(a_killed_proxy_is_an_error_of_its_ranks),
        cmocka_unit_test(a_killed_rank_of_another_node),
        cmocka_unit_test(a_killed_proxy_of_another_node),
        cmocka_unit_test(who_leaves_owes_nothing),
        cmocka_unit_test(a_stopped_proxy_ends_with_its_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
