// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators between groups of which the trace has only the calls that made them: messages go to the other group,
// what is made of such a one has the right members, and what cannot be known is said to be in doubt.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyze_traces.h"

enum { RANKS = 6, CALLS_MAX = 1024 };

// The even ranks talk to the odd ones; the leaders are 4 and 1. Then `more`, which may have %d for 1 at the odd ranks.
static void write_halves(const char *directory, const char *more, const char *messages)
{
    char calls[CALLS_MAX];
    for (int rank = 0; rank < RANKS; rank++) {
        int is_odd = rank % 2;
        int used =
            snprintf(calls, sizeof calls,
                     "Comm_split oldcomm=2 color=%d key=0 newcomm=4\n"
                     "Intercomm_create localcomm=4 localleader=%d remotecomm=2 remoteleader=%d tag=9 newcomm=5\n",
                     is_odd, is_odd ? 0 : 2, is_odd ? 4 : 1);
        used += snprintf(calls + used, sizeof calls - (size_t)used, more, is_odd);
        snprintf(calls + used, sizeof calls - (size_t)used, messages, 2 - rank / 2, 2 - rank / 2);
        analyze_rank_write(directory, rank, calls);
    }
}

#define TO_OTHER(comm)                                                                                                 \
    "Irecv count=1 source=%d tag=1 comm=" comm " request=[2]\nSend count=1 dest=%d tag=1 comm=" comm "\n"              \
    "Wait request=[2] status=<IGNORED>\nBarrier comm=" comm "\nFinalize\n"

// Each rank has the message of the one that stands in the same place from the end.
static void assert_across(const char *more, const char *messages)
{
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    write_halves(directory, more, messages);
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(replay->talk[rank * RANKS + RANKS - 1 - rank], 1);
    }
    assert_int_equal(replay->matches, RANKS);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    assert_int_equal(analyzed.complaints, 0);
    analyze_finish(&analyzed, directory);
}

static void messages_go_to_the_other_group(void **state)
{
    (void)state;
    assert_across("", TO_OTHER("5"));
    assert_across("Comm_dup oldcomm=5 newcomm=6\n", TO_OTHER("6"));
    assert_across("Comm_dup oldcomm=5 newcomm=7\nComm_dup oldcomm=7 newcomm=6\nComm_dup oldcomm=5 newcomm=8\n",
                  TO_OTHER("6"));
}

// Messages go round a ring of all ranks in their order in communicator 6.
static void analyze_ring(struct analyze_result *analyzed, const char *directory, const char *more, const char *order)
{
    char calls[CALLS_MAX];
    for (int rank = 0; rank < RANKS; rank++) {
        int is_odd = rank % 2, place = (int)(strchr(order, '0' + rank) - order);
        int used =
            snprintf(calls, sizeof calls,
                     "Comm_split oldcomm=2 color=%d key=0 newcomm=4\n"
                     "Intercomm_create localcomm=4 localleader=%d remotecomm=2 remoteleader=%d tag=9 newcomm=5\n",
                     is_odd, is_odd ? 0 : 2, is_odd ? 4 : 1);
        used += snprintf(calls + used, sizeof calls - (size_t)used, more, is_odd);
        snprintf(calls + used, sizeof calls - (size_t)used,
                 "Irecv count=1 source=%d tag=1 comm=6 request=[2]\nSend count=1 dest=%d tag=1 comm=6\n"
                 "Wait request=[2] status=<IGNORED>\nBarrier comm=6\nFinalize\n",
                 (place + RANKS - 1) % RANKS, (place + 1) % RANKS);
        analyze_rank_write(directory, rank, calls);
    }
    analyze_run(analyzed, directory);
}

static void assert_ring(const char *more, const char *order)
{
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_ring(&analyzed, directory, more, order);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    for (int place = 0; place < RANKS; place++) {
        assert_int_equal(replay->talk[(order[place] - '0') * RANKS + order[(place + 1) % RANKS] - '0'], 1);
    }
    assert_int_equal(replay->matches, RANKS);
    assert_int_equal(replay->believed, 0);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    analyze_finish(&analyzed, directory);
}

// The odd ranks are high, or the even ones, or nobody told MPI who comes first.
static void groups_are_merged(void **state)
{
    (void)state;
    assert_ring("Intercomm_merge comm=5 high=%d newcomm=6\n", "024135");
    assert_ring("Comm_dup oldcomm=5 newcomm=7\nIntercomm_merge comm=7 high=%d newcomm=6\n", "024135");
    assert_ring("Comm_remote_group comm=5 group=3\nComm_group comm=2 group=4\n"
                "Group_difference group1=4 group2=3 newgroup=5\nGroup_union group1=5 group2=3 newgroup=6\n"
                "Intercomm_merge comm=5 high=%d newcomm=6\n",
                "024135");
}

// Of a merge for which both groups said the same: by MPI's rank, or by messages, unless the halves are equal.
static void an_order_that_mpi_chose(void **state)
{
    (void)state;
    static const char *const messages[] = {"Irecv count=1 source=2 tag=1 comm=6 request=[2]\nSend count=1 dest=1 tag=1 "
                                           "comm=6\nWait request=[2] status=<IGNORED>\nFinalize\n",
                                           "Irecv count=1 source=0 tag=1 comm=6 request=[2]\nSend count=1 dest=2 tag=1 "
                                           "comm=6\nWait request=[2] status=<IGNORED>\nFinalize\n",
                                           "Irecv count=1 source=1 tag=1 comm=6 request=[2]\nSend count=1 dest=0 tag=1 "
                                           "comm=6\nWait request=[2] status=<IGNORED>\nFinalize\n"};
    static const int orders[2][3] = {{0, 1, 2}, {2, 0, 1}}; // rank 0 has a group of its own
    for (int order = 0; order < 2; order++) {
        char *directory = analyze_directory_make(), calls[CALLS_MAX];
        struct analyze_result analyzed;
        for (int rank = 0; rank < 3; rank++) {
            int place = orders[order][rank];
            snprintf(calls, sizeof calls,
                     "Comm_split oldcomm=2 color=%d key=0 newcomm=4\n"
                     "Intercomm_create localcomm=4 localleader=0 remotecomm=2 remoteleader=%d tag=9 newcomm=5\n"
                     "Intercomm_merge comm=5 high=1 newcomm=6\n%s",
                     rank > 0, rank == 0, messages[place]);
            analyze_rank_write(directory, rank, calls);
        }
        analyze_run(&analyzed, directory);
        const struct co_replay_result *replay = &analyzed.analysis.replay;
        assert_int_equal(replay->believed, order == 0);
        assert_int_equal(replay->doubted, order == 1);
        assert_int_equal(replay->matches, 3);
        analyze_finish(&analyzed, directory);
    }
}

static void an_order_that_may_be_another_is_in_doubt(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    // Round a ring of equal halves both orders fit.
    analyze_ring(&analyzed, directory, "Intercomm_merge comm=5 high=1 newcomm=6\n", "135024");
    assert_int_equal(analyzed.analysis.replay.doubted, 1);
    assert_int_equal(analyzed.analysis.replay.doubt, CO_WHY_ORDER);
    analyze_finish(&analyzed, directory);
}

// Each group's own ranks, from what only the other one can tell: the ranks of the world less the other group.
static void the_other_group_is_known(void **state)
{
    (void)state;
    char *directory = analyze_directory_make(), calls[CALLS_MAX];
    struct analyze_result analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        int is_odd = rank % 2, place = rank / 2;
        snprintf(calls, sizeof calls,
                 "Comm_split oldcomm=2 color=%d key=0 newcomm=4\n"
                 "Intercomm_create localcomm=4 localleader=%d remotecomm=2 remoteleader=%d tag=9 newcomm=5\n"
                 "Comm_remote_group comm=5 group=3\nComm_group comm=2 group=4\nComm_group comm=5 group=6\n"
                 "Group_%s newgroup=5\nComm_create oldcomm=2 group=5 newcomm=%d\n",
                 is_odd, is_odd ? 0 : 2, is_odd ? 4 : 1,
                 is_odd ? "incl group=3 count=3 ranks[3]=[2, 1, 0]" : "excl group=6 count=0 ranks[0]=[]",
                 is_odd ? 1 : 6);
        size_t used = strlen(calls);
        if (is_odd == 0) {
            snprintf(calls + used, sizeof calls - used,
                     "Irecv count=1 source=%d tag=1 comm=6 request=[2]\nSend count=1 dest=%d tag=1 comm=6\n"
                     "Wait request=[2] status=<IGNORED>\nFinalize\n",
                     (place + 2) % 3, (place + 1) % 3);
        } else {
            snprintf(calls + used, sizeof calls - used, "Finalize\n");
        }
        analyze_rank_write(directory, rank, calls);
    }
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->talk[0 * RANKS + 2] + replay->talk[2 * RANKS + 4] + replay->talk[4 * RANKS + 0], 3);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    analyze_finish(&analyzed, directory);
}

// The other group never comes: nobody waits for ever, and it is said.
static void a_group_that_does_not_come_is_in_doubt(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       "Intercomm_create localcomm=3 localleader=0 remotecomm=2 remoteleader=1 tag=9 newcomm=5\n"
                       "Recv count=1 source=0 tag=1 comm=5 status=<IGNORED>\nFinalize\n");
    analyze_rank_write(directory, 1, "Finalize\n");
    analyze_run(&analyzed, directory);
    assert_int_equal(analyzed.analysis.replay.doubted, 1);
    assert_int_equal(analyzed.analysis.replay.doubt, CO_WHY_NOT_MADE);
    assert_int_equal(analyzed.analysis.replay.matches, 1);
    analyze_finish(&analyzed, directory);
}

// Half of the ranks make it, the others end: nobody waits for ever.
static void a_half_that_does_not_make_it_too(void **state)
{
    (void)state;
    static const char *const makes[] = {"Comm_dup oldcomm=5 newcomm=6\n", "Intercomm_merge comm=5 high=0 newcomm=6\n"};
    for (int way = 0; way < 2; way++) {
        char *directory = analyze_directory_make(), calls[CALLS_MAX];
        struct analyze_result analyzed;
        for (int rank = 0; rank < 2; rank++) {
            snprintf(
                calls, sizeof calls,
                "Intercomm_create localcomm=3 localleader=0 remotecomm=2 remoteleader=%d tag=9 newcomm=5\n%s%sFinalize\n",
                1 - rank, rank == 0 ? makes[way] : "",
                rank == 0 ? "Recv count=1 source=0 tag=1 comm=6 status=<IGNORED>\n" : "");
            analyze_rank_write(directory, rank, calls);
        }
        analyze_run(&analyzed, directory);
        assert_int_equal(analyzed.analysis.replay.doubted, 1);
        assert_int_equal(analyzed.analysis.replay.matches, 1);
        analyze_finish(&analyzed, directory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_go_to_the_other_group),   cmocka_unit_test(groups_are_merged),
        cmocka_unit_test(an_order_that_mpi_chose),          cmocka_unit_test(an_order_that_may_be_another_is_in_doubt),
        cmocka_unit_test(the_other_group_is_known),         cmocka_unit_test(a_group_that_does_not_come_is_in_doubt),
        cmocka_unit_test(a_half_that_does_not_make_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
