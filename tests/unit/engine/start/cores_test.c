// SPDX-License-Identifier: BSD-3-Clause
//
// Cores against ranks: who shares a node's cores, who is bound to one, which node decides for all, what the setting
// overrules, a rank that cannot tell its cores, limits of time, and sessions. Masks, limits and sessions are the
// test's, whatever this machine has.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/start/cpu_quota.h"
#include "base/settings.h"
#include "engine_inside.h"
#include "engine_job.h"

#define UNKNOWN 0 // a mask that the kernel does not tell
// One that does not fit a cpu_set_t, from core 1024 on.
#define WIDE (UINT64_C(1) << 63)

struct expectation {
    int ranks;
    int node_of_rank[4];
    uint64_t cores_of_rank[4]; // bit for each core
    int cores_of_node[2];
    bool is_oversubscribed, uses_threads;
};

static const struct expectation *expected;
static const struct co_cores_quota *quota_of_rank; // NULL: none
static _Thread_local uint64_t mask_here;           // of this thread's rank
static _Thread_local struct co_cores_quota quota_here;
static const pid_t *session_of_rank; // NULL: one for all
static _Thread_local pid_t session_here;

// Ours stands before the C library's.
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask)
{
    bool is_wide = (mask_here & WIDE) != 0;
    job_require(pid == 0 && bytes >= sizeof(*mask), "the mask of somebody else");
    if (mask_here == UNKNOWN || (is_wide && bytes == sizeof(*mask))) {
        return errno = EINVAL, -1;
    }
    CPU_ZERO_S(bytes, mask);
    for (size_t core = 0; core < 63; core++) {
        if (mask_here >> core & 1) {
            CPU_SET_S(core + (is_wide ? CPU_SETSIZE : 0), bytes, mask);
        }
    }
    return 0;
}

void co_cores_quota_read(struct co_cores_quota *quota, const char *root)
{
    job_require(root[0] == '\0', "limits of somewhere else");
    *quota = quota_here;
}

pid_t getsid(pid_t pid)
{
    job_require(pid == 0, "the session of somebody else");
    return session_here;
}

static void give_mask(struct job_rank *rank)
{
    mask_here = expected->cores_of_rank[rank->rank];
    session_here = session_of_rank == NULL ? 7 : session_of_rank[rank->rank];
    quota_here = quota_of_rank == NULL ? (struct co_cores_quota){.group = 0} : quota_of_rank[rank->rank];
}

static void look(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    const struct co_engine *engine = rank->engine;
    job_require(inside_is_oversubscribed(engine) == expected->is_oversubscribed, "is_oversubscribed");
    job_require(inside_uses_threads(engine) == expected->uses_threads, "uses_threads");
    job_require(inside_cores(engine) == expected->cores_of_node[rank->node], "cores of the node");
}

static void expect(const struct expectation *what)
{
    expected = what;
    engine_job_before_open = give_mask;
    engine_job_run(what->ranks, what->node_of_rank, look);
    engine_job_before_open = NULL;
}

static void one_node(void **state)
{
    (void)state;
    // As many ranks as cores, more cores, more ranks.
    expect(&(struct expectation){2, {0, 0}, {3, 3}, {2}, false, false});
    expect(&(struct expectation){2, {0, 0}, {7, 7}, {3}, false, true});
    expect(&(struct expectation){3, {0, 0, 0}, {3, 3, 3}, {2}, true, false});
}

static void bound_ranks(void **state)
{
    (void)state;
    // A node's cores are those of all its ranks; two ranks bound to one core meet there.
    expect(&(struct expectation){2, {0, 0}, {1 << 5, 1 << 9}, {2}, false, false});
    expect(&(struct expectation){2, {0, 0}, {1 << 5, 1 << 5}, {1}, true, false});
    expect(&(struct expectation){2, {0, 0}, {3 << 4, 3 << 8}, {4}, false, true});
    // There are free cores, but a thread of rank 0 may not run there.
    expect(&(struct expectation){2, {0, 0}, {1, 0xfe}, {8}, false, false});
}

static void several_nodes(void **state)
{
    (void)state;
    // Cores of the same number on two nodes are two cores.
    expect(&(struct expectation){2, {0, 1}, {3, 3}, {2, 2}, false, true});
    expect(&(struct expectation){4, {0, 0, 1, 1}, {7, 7, 0x700, 0x700}, {3, 3}, false, true});
    // One node without a free core, or with too few, decides for all.
    expect(&(struct expectation){3, {0, 1, 1}, {0xff, 3, 3}, {8, 2}, false, false});
    expect(&(struct expectation){3, {0, 1, 1}, {0xff, 1, 1}, {8, 1}, true, false});
    expect(&(struct expectation){3, {0, 1, 0}, {3, 0xf0, 3}, {2, 4}, false, false});
}

static void the_setting_overrules(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "threads");
    expect(&(struct expectation){2, {0, 0}, {1, 1}, {1}, true, true});
    engine_job_set("CASTOFF_PROGRESS", "caller");
    expect(&(struct expectation){2, {0, 0}, {0xff, 0xff}, {8}, false, false});
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

static void cores_that_nobody_tells(void **state)
{
    (void)state; // one, which is on the safe side
    expect(&(struct expectation){2, {0, 0}, {UNKNOWN, 0xff}, {8}, false, false});
    expect(&(struct expectation){2, {0, 0}, {UNKNOWN, UNKNOWN}, {1}, true, false});
}

static void more_cores_than_a_mask_has(void **state)
{
    (void)state;
    expect(&(struct expectation){2, {0, 0}, {WIDE | 7, WIDE | 7}, {3}, false, true});
    expect(&(struct expectation){2, {0, 0}, {WIDE | 1 << 5, WIDE | 1 << 9}, {2}, false, false});
}

static void expect_limited(const struct co_cores_quota quotas[4], const struct expectation *what)
{
    quota_of_rank = quotas;
    expect(what);
    quota_of_rank = NULL;
}

#define LIMITS(...) ((const struct co_cores_quota[4]){__VA_ARGS__})

static void limits_of_time(void **state)
{
    (void)state;
    // Of a container: as many cores as its limit has whole ones, one at least, and no more than there are.
    expect_limited(LIMITS({250, 1, 0, 0}, {250, 1, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {2}, false, false});
    expect_limited(LIMITS({300, 1, 0, 0}, {300, 1, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {3}, false, true});
    expect_limited(LIMITS({50, 1, 0, 0}, {50, 1, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {1}, true, false});
    expect_limited(LIMITS({1600, 1, 0, 0}, {1600, 1, 0, 0}),
                   &(struct expectation){2, {0, 0}, {3, 3}, {2}, false, false});
    // Half a core for a rank alone: it is stopped for half of its time.
    expect_limited(LIMITS({50, 1, 0, 0}, {50, 1, 0, 0}),
                   &(struct expectation){2, {0, 1}, {0xff, 0xff}, {1, 1}, true, false});
    // Of each rank; and a rank without one, which may have all that the others leave.
    expect_limited(LIMITS({200, 1, 0, 0}, {200, 2, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {4}, false, true});
    expect_limited(LIMITS({100, 1, 0, 0}, {0, 0, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {8}, false, true});
    expect_limited(LIMITS({0, 0, 0, 0}, {100, 1, 0, 0}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {8}, false, true});
    expect_limited(LIMITS({100, 1, 0, 0}, {0, 0, 0, 0}, {100, 1, 0, 0}, {100, 1, 0, 0}),
                   &(struct expectation){4, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {8}, false, true});
    // Ranks of one limit that do not stand one behind the other.
    expect_limited(LIMITS({100, 1, 0, 0}, {200, 2, 0, 0}, {100, 1, 0, 0}, {200, 2, 0, 0}),
                   &(struct expectation){4, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {3}, true, false});
    // One node decides for all.
    expect_limited(LIMITS({0, 0, 0, 0}, {150, 1, 0, 0}),
                   &(struct expectation){2, {0, 1}, {0xff, 0xff}, {8, 1}, false, false});
    expect_limited(LIMITS({0, 0, 0, 0}, {150, 1, 0, 0}, {150, 1, 0, 0}),
                   &(struct expectation){3, {0, 1, 1}, {0xff, 0xff, 0xff}, {8, 1}, true, false});
}

// Limits of groups inside a group that has one, too.
static void limits_inside_a_limit(void **state)
{
    (void)state;
    expect_limited(LIMITS({200, 1, 300, 9}, {200, 2, 300, 9}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {3}, false, true});
    expect_limited(LIMITS({100, 1, 800, 9}, {100, 2, 800, 9}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {2}, false, false});
    // One rank is under the outer limit alone; there are two outer ones.
    expect_limited(LIMITS({200, 9, 0, 0}, {100, 2, 200, 9}),
                   &(struct expectation){2, {0, 0}, {0xff, 0xff}, {2}, false, false});
    expect_limited(LIMITS({100, 2, 200, 9}, {200, 9, 0, 0}, {200, 3, 500, 8}, {200, 4, 500, 8}),
                   &(struct expectation){4, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {6}, false, true});
    // Groups of two kernels may have one number.
    expect_limited(LIMITS({200, 1, 300, 9}, {200, 2, 300, 9}, {200, 1, 300, 9}),
                   &(struct expectation){3, {0, 0, 1}, {0xff, 0xff, 0xff}, {3, 2}, false, true});
}

static bool has_sessions;

static void look_at_sessions(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    job_require(inside_has_sessions(rank->engine) == has_sessions, "has_sessions");
}

static void expect_sessions(int ranks, const int *nodes, const pid_t *sessions, bool has_several)
{
    static const struct expectation any = {.cores_of_rank = {3, 3, 3, 3}};
    expected = &any;
    session_of_rank = sessions;
    has_sessions = has_several;
    engine_job_before_open = give_mask;
    engine_job_run(ranks, nodes, look_at_sessions);
    engine_job_before_open = NULL;
    session_of_rank = NULL;
}

static void sessions(void **state)
{
    (void)state;
    expect_sessions(3, (const int[]){0, 0, 0}, (const pid_t[]){5, 5, 5}, false);
    expect_sessions(3, (const int[]){0, 0, 0}, (const pid_t[]){5, 5, 6}, true);
    // Each host has its own; one with several tells for all.
    expect_sessions(3, (const int[]){0, 1, 1}, (const pid_t[]){5, 6, 6}, false);
    expect_sessions(4, (const int[]){0, 1, 0, 1}, (const pid_t[]){5, 6, 5, 7}, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),
        cmocka_unit_test(bound_ranks),
        cmocka_unit_test(several_nodes),
        cmocka_unit_test(the_setting_overrules),
        cmocka_unit_test(cores_that_nobody_tells),
        cmocka_unit_test(more_cores_than_a_mask_has),
        cmocka_unit_test(limits_of_time),
        cmocka_unit_test(limits_inside_a_limit),
        cmocka_unit_test(sessions),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
