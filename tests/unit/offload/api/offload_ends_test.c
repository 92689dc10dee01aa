// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks and proxies that are killed or stopped while a world is opened, and when it is closed; and proxies that are
// stopped in between. The others have an error, or all that they have waited for, and no proxy stays. Proxies are known
// by a command that writes down its number first.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload_ranks.h"

enum { STEPS = 5, PROXIES_MAX = 4 }; // gathers of an opening, of several nodes; no proxy before the third

static char folder[64];

// The command of this test: castoff, with its number in the folder, and `before` it.
static void command_write(const char *before)
{
    char path[128];
    snprintf(path, sizeof path, "%s/castoff", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\necho $$ >>%s/proxies\n%s\nexec %s/command proxy --job\n", folder, before, folder);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/castoff-ends.XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    // Its path may have what a shell takes for its own.
    char target[PATH_MAX], link[128];
    snprintf(link, sizeof link, "%s/command", folder);
    if (realpath(ranks_command(), target) == NULL || symlink(target, link) != 0) {
        return -1;
    }
    command_write("");
    return 0;
}

static int end(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/castoff", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/proxies", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/command", folder);
    unlink(path);
    return rmdir(folder);
}

// All that have started so far.
static int proxies_list(pid_t proxies[PROXIES_MAX])
{
    char path[128];
    int count = 0;
    snprintf(path, sizeof path, "%s/proxies", folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && count < PROXIES_MAX && fscanf(file, "%d", &proxies[count]) == 1) {
        count++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static void no_proxy_stays(void)
{
    pid_t proxies[PROXIES_MAX];
    char path[128];
    int count = proxies_list(proxies);

    assert_true(count > 0 || ranks_count == 0);
    for (int i = 0; i < count; i++) {
        RANKS_UNTIL(ranks_has_ended(proxies[i]));
    }
    snprintf(path, sizeof path, "%s/proxies", folder);
    unlink(path);
}

// What happens at one gather of an opening.
static struct {
    int step, rank; // that one, of this rank:
    int proxys;     // its proxies get this signal, all of them; 0: the rank itself is killed
    int passed;
} plan;

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    if (++plan.passed == plan.step) {
        if (plan.proxys == 0 && ranks_own == plan.rank) {
            kill(getpid(), SIGKILL);
        }
        if (plan.proxys == 0) {
            return -EIO; // as an allgather of MPI would see it, or its launcher
        }
        pid_t proxies[PROXIES_MAX];
        int count = ranks_own == plan.rank ? proxies_list(proxies) : 0;
        for (int i = 0; i < count; i++) {
            MUST(kill(proxies[i], plan.proxys) == 0);
        }
    }
    return ranks_gather(arg, mine, all, bytes);
}

static int world_open(struct castoff_offload_world **world)
{
    char path[128];
    snprintf(path, sizeof path, "%s/castoff", folder);
    return castoff_offload_open(world, &(struct castoff_offload_job){.struct_bytes = sizeof(struct castoff_offload_job),
                                                                     .rank = ranks_own,
                                                                     .size = ranks_count,
                                                                     .allgather = gather,
                                                                     .command = path});
}

static void cannot_open(void)
{
    struct castoff_offload_world *world;
    int error = world_open(&world);
    MUST(error < 0);
    // The latter two where the own proxy has ended first: after it has taken this rank in, or before.
    MUST(plan.proxys != 0 || error == -EIO || error == -ECONNRESET || error == -ECONNREFUSED);
    MUST(castoff_offload_why()[0] != '\0');
}

static void a_rank_is_killed_at_the_start(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 2; nodes++) {
        setenv("CASTOFF_NODE_RANKS", nodes == 1 ? "2" : "1", 1);
        for (plan.rank = 0; plan.rank < 2; plan.rank++) {
            for (plan.step = 3; plan.step <= STEPS - (nodes == 1); plan.step++) {
                ranks_run(2, cannot_open);
                no_proxy_stays();
            }
        }
        unsetenv("CASTOFF_NODE_RANKS");
    }
}

static void proxies_are_hit_at_the_start(int signal)
{
    setenv("CASTOFF_DEADLINE_S", signal == SIGKILL ? "20" : "1", 1);
    plan.proxys = signal;
    for (int nodes = 1; nodes <= 2; nodes++) {
        setenv("CASTOFF_NODE_RANKS", nodes == 1 ? "2" : "1", 1);
        plan.step = nodes + 2; // when they serve: before ranks, or other proxies, come
        plan.rank = 0;
        ranks_run(2, cannot_open);
        no_proxy_stays();
        unsetenv("CASTOFF_NODE_RANKS");
    }
    unsetenv("CASTOFF_DEADLINE_S");
    plan.proxys = 0;
}

static void a_proxy_is_killed_at_the_start(void **state)
{
    (void)state;
    proxies_are_hit_at_the_start(SIGKILL);
}

static void a_proxy_is_stopped_at_the_start(void **state)
{
    (void)state;
    proxies_are_hit_at_the_start(SIGSTOP);
}

static void stopped_before_its_first_word(void)
{
    struct castoff_offload_world *world;
    MUST(world_open(&world) == -ETIMEDOUT);
}

static void a_proxy_is_stopped_before_its_first_word(void **state)
{
    (void)state;
    plan.step = 0;
    // Again where the end of the process that has started it lets it go on: its group is an orphan then (POSIX).
    command_write("trap '' HUP\nwhile :; do kill -STOP $$; done");
    setenv("CASTOFF_DEADLINE_S", "1", 1);
    ranks_run(2, stopped_before_its_first_word);
    no_proxy_stays();
    unsetenv("CASTOFF_DEADLINE_S");
}

static void exchange(struct castoff_offload_world *world)
{
    struct castoff_offload_request *receive, *send;
    char in;
    MUST(castoff_offload_receive(world, &in, 1, 1 - ranks_own, 0, &receive) == 0);
    MUST(castoff_offload_send(world, "e", 1, 1 - ranks_own, 0, &send) == 0);
    MUST(castoff_offload_wait(receive, NULL) == 0 && castoff_offload_wait(send, NULL) == 0 && in == 'e');
}

static struct castoff_offload_world *world_used(void)
{
    struct castoff_offload_world *world;
    int error = world_open(&world);
    if (error == -EPERM) {
        ranks_shared->is_denied = 1;
        _exit(0);
    }
    MUST(error == 0);
    exchange(world);
    ranks_shared->words[ranks_own] = world->proxy;
    RANKS_UNTIL(ranks_shared->words[1 - ranks_own] != 0);
    return world;
}

// Rank 1 has what it wanted, and is gone without a word; or its proxy is, when nothing needs it any more.
static void rank_ends_without_a_word(void)
{
    struct castoff_offload_world *world = world_used();
    if (ranks_own == 1) {
        kill(getpid(), SIGKILL);
    }
    MUST(castoff_offload_close(world) == 0);
}

static void proxy_is_killed_at_the_end(void)
{
    struct castoff_offload_world *world = world_used();
    if (ranks_own == 0) {
        MUST(kill(ranks_shared->words[1], SIGKILL) == 0);
        ranks_shared->words[2] = 1;
    }
    RANKS_UNTIL(ranks_shared->words[2] == 1);
    MUST(castoff_offload_close(world) == 0);
}

static void killed_at_the_end(void **state)
{
    (void)state;
    plan.step = 0;
    for (int nodes = 1; nodes <= 2; nodes++) {
        setenv("CASTOFF_NODE_RANKS", nodes == 1 ? "2" : "1", 1);
        ranks_run(2, rank_ends_without_a_word);
        no_proxy_stays();
        ranks_run(2, proxy_is_killed_at_the_end);
        no_proxy_stays();
        unsetenv("CASTOFF_NODE_RANKS");
    }
}

// Of rank 1: both have an error that says where, and it does not go on later.
static void proxy_is_stopped(void)
{
    struct castoff_offload_world *world = world_used();
    struct castoff_offload_request *request;
    char host[CO_OFFLOAD_PLACE_BYTES] = "", byte;

    MUST(gethostname(host, sizeof host - 1) == 0);
    MUST(castoff_offload_receive(world, &byte, 1, 1 - ranks_own, 3, &request) == 0);
    if (ranks_own == 0) {
        MUST(kill(ranks_shared->words[1], SIGSTOP) == 0);
    }
    MUST(castoff_offload_wait(request, NULL) == -ECONNRESET);
    MUST(strstr(castoff_offload_why(), host) != NULL);
    if (ranks_own == 1) {
        RANKS_UNTIL(ranks_has_ended((pid_t)ranks_shared->words[1]));
    }
    MUST(castoff_offload_close(world) == 0);
}

static void stopped_in_between(void **state)
{
    (void)state;
    plan.step = 0;
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    setenv("CASTOFF_DEADLINE_S", "3", 1); // one that has to wait for a core for a second is not stopped
    ranks_run(2, proxy_is_stopped);
    no_proxy_stays();
    unsetenv("CASTOFF_DEADLINE_S");
    unsetenv("CASTOFF_NODE_RANKS");
}

// Its rank does not wait for it, so nobody knows that it is stopped: it ends when it goes on, as its ranks let it at
// their ends. Then it may have gone before anybody else asks it to.
static void proxy_is_stopped_at_the_end(void)
{
    struct castoff_offload_world *world = world_used();
    if (ranks_own == 0) {
        MUST(kill(world->proxy, SIGSTOP) == 0);
        RANKS_UNTIL(ranks_state_of(world->proxy) == 'T');
        ranks_shared->words[2] = 1;
    }
    RANKS_UNTIL(ranks_shared->words[2] == 1);
    MUST(castoff_offload_close(world) == 0);
    ranks_shared->words[3 + ranks_own] = 1;
    RANKS_UNTIL(ranks_shared->words[4 - ranks_own] == 1);
    if (ranks_own == 0) {
        MUST(kill((pid_t)ranks_shared->words[0], SIGCONT) == 0 || errno == ESRCH);
    }
}

static void stopped_at_the_end(void **state)
{
    (void)state;
    plan.step = 0;
    ranks_run(2, proxy_is_stopped_at_the_end);
    no_proxy_stays();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rank_is_killed_at_the_start, begin, end),
        cmocka_unit_test_setup_teardown(a_proxy_is_killed_at_the_start, begin, end),
        cmocka_unit_test_setup_teardown(a_proxy_is_stopped_at_the_start, begin, end),
        cmocka_unit_test_setup_teardown(a_proxy_is_stopped_before_its_first_word, begin, end),
        cmocka_unit_test_setup_teardown(killed_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(stopped_in_between, begin, end),
        cmocka_unit_test_setup_teardown(stopped_at_the_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
