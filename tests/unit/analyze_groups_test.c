// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators that applications make of groups, grids and graphs: members exchange messages around a ring, and each
// must come from whom it should. What the trace does not tell is said to be in doubt.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyze_traces.h"
#include "trace/analyze/analysis.h"

enum { RANKS = 6, CALLS_MAX = 2048 };

struct analyzed {
    struct co_application application;
    struct co_analysis analysis;
};

static void no_complaint(void *arg, const char *path, const struct co_note *note, enum co_application_fate fate)
{
    (void)arg;
    (void)path;
    (void)fate;
    fail_msg("%s", note->why);
}

static void analyze(struct analyzed *analyzed, const char *directory)
{
    static const uint32_t bins[] = {1, 16}, lanes[] = {1, 4};
    const struct co_application_config config = {
        .scratch = "/tmp", .has_no_cache = true, .threads = 1, .complain = no_complaint};
    const struct co_analysis_config how = {.bins = bins, .bins_count = 2, .lanes = lanes, .lanes_count = 2};
    assert_int_equal(co_application_open(&analyzed->application, &directory, 1, &config), 0);
    assert_int_equal(co_analysis_run(&analyzed->analysis, &analyzed->application, &how), 0);
    assert_true(analyzed->analysis.is_alike);
}

static void finish(struct analyzed *analyzed, char *directory)
{
    co_analysis_close(&analyzed->analysis);
    co_application_close(&analyzed->application);
    analyze_directory_remove(directory);
}

static int place_of(const char *members, int rank)
{
    const char *place = strchr(members, '0' + rank);
    return place == NULL ? -1 : (int)(place - members);
}

// Each rank makes communicator 4, or is no member of it; members send to the next one of the ring.
static void write_ring(const char *directory, const char *makes, const char *members, int rank, int written)
{
    char calls[CALLS_MAX];
    int place = place_of(members, rank), count = (int)strlen(members);
    size_t used = (size_t)snprintf(calls, sizeof calls, makes, place < 0 ? 1 : 4);
    if (place >= 0) {
        used += (size_t)snprintf(calls + used, sizeof calls - used,
                                 "Irecv count=1 source=%d tag=1 comm=4 request=[2]\nSend count=1 dest=%d tag=1 comm=4\n"
                                 "Wait request=[2] status=<IGNORED>\n",
                                 (place + count - 1) % count, (place + 1) % count);
    }
    snprintf(calls + used, sizeof calls - used, "Finalize\n");
    analyze_rank_write(directory, written, calls);
}

// `makes` has one %d, for the number of the new communicator; members are ranks of the world as digits, in their order.
static void assert_members(const char *makes, const char *members)
{
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, makes, members, rank, rank);
    }
    analyze(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    size_t count = strlen(members);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(replay->talk[(members[i] - '0') * RANKS + members[(i + 1) % count] - '0'], 1);
    }
    assert_int_equal(replay->matches, count);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    finish(&analyzed, directory);
}

#define GROUP "Comm_group comm=2 group=3\n"
#define CREATE "Comm_create oldcomm=2 group=9 newcomm=%d\n"
#define EVEN "Group_incl group=3 count=3 ranks[3]=[0, 2, 4] newgroup=4\n"
#define NOT_TWO "Group_excl group=3 count=1 ranks[1]=[2] newgroup=5\n"

static void groups_are_followed(void **state)
{
    (void)state;
    assert_members(GROUP "Comm_create oldcomm=2 group=3 newcomm=%d\n", "012345");
    assert_members(GROUP "Group_incl group=3 count=3 ranks[3]=[5, 0, 3] newgroup=9\n" CREATE, "503");
    assert_members(GROUP "Group_excl group=3 count=2 ranks[2]=[0, 4] newgroup=9\n" CREATE, "1235");
    assert_members(GROUP "Group_range_incl group=3 count=2 ranges[2][3]=[[5, 1, -2], [0, 2, 2]] newgroup=9\n" CREATE,
                   "53102");
    assert_members(GROUP "Group_range_excl group=3 count=1 ranges[1][3]=[[1, 5, 2]] newgroup=9\n" CREATE, "024");
    assert_members(GROUP EVEN NOT_TWO "Group_union group1=4 group2=5 newgroup=9\n" CREATE, "024135");
    assert_members(GROUP EVEN NOT_TWO "Group_union group1=5 group2=4 newgroup=9\n" CREATE, "013452");
    assert_members(GROUP EVEN NOT_TWO "Group_intersection group1=5 group2=4 newgroup=9\n" CREATE, "04");
    assert_members(GROUP EVEN NOT_TWO "Group_difference group1=3 group2=4 newgroup=9\n" CREATE, "135");
    assert_members(GROUP EVEN "Group_union group1=2 group2=4 newgroup=9\n" CREATE, "024"); // with MPI_GROUP_EMPTY
}

static void grids_and_graphs_are_followed(void **state)
{
    (void)state;
    static const char grid[] = "Cart_create oldcomm=2 ndim=2 dims[2]=[2, 3] periods[2]=[0, 0] reorder=0 newcomm=%d\n";
    char calls[512];
    assert_members(grid, "012345");
    assert_members("Cart_create oldcomm=2 ndim=1 dims[1]=[4] periods[1]=[0] reorder=0 newcomm=%d\n", "0123");
    assert_members("Graph_create numedges=4 oldcomm=2 nodes=3 index[3]=[1, 2, 4] edges[4]=[1, 0, 0, 1] reorder=0 "
                   "newcomm=%d\n",
                   "012");
    int used = snprintf(calls, sizeof calls, grid, 5);
    snprintf(calls + used, sizeof calls - (size_t)used,
             "Cart_sub ndim=2 oldcomm=5 remain_dims[2]=[0, 1] newcomm=%%d\n");
    // Both rows at once; a message of the one never comes to the other.
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, calls, rank < 3 ? "012" : "345", rank, rank);
    }
    analyze(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->talk[2 * RANKS + 0], 1);
    assert_int_equal(replay->talk[5 * RANKS + 3], 1);
    assert_int_equal(replay->matches, RANKS);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    finish(&analyzed, directory);
}

// The even ranks talk to the odd ones; the leaders are 4 and 1.
static void communicators_between_groups_are_followed(void **state)
{
    (void)state;
    char *directory = analyze_directory_make(), calls[512];
    struct analyzed analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        bool is_odd = rank % 2 != 0;
        snprintf(calls, sizeof calls,
                 "Comm_split oldcomm=2 color=%d key=0 newcomm=4\n"
                 "Intercomm_create localcomm=4 localleader=%d remotecomm=2 remoteleader=%d tag=9 newcomm=5\n"
                 "Irecv count=1 source=%d tag=1 comm=5 request=[2]\nSend count=1 dest=%d tag=1 comm=5\n"
                 "Wait request=[2] status=<IGNORED>\nBarrier comm=5\nFinalize\n",
                 is_odd, is_odd ? 0 : 2, is_odd ? 4 : 1, 2 - rank / 2, 2 - rank / 2);
        analyze_rank_write(directory, rank, calls);
    }
    analyze(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(replay->talk[rank * RANKS + RANKS - 1 - rank], 1);
    }
    assert_int_equal(replay->matches, RANKS);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    finish(&analyzed, directory);
}

// The other group never comes: nobody waits for ever, and it is said.
static void a_group_that_does_not_come_is_in_doubt(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    analyze_rank_write(directory, 0,
                       "Intercomm_create localcomm=3 localleader=0 remotecomm=2 remoteleader=1 tag=9 newcomm=5\n"
                       "Recv count=1 source=0 tag=1 comm=5 status=<IGNORED>\nFinalize\n");
    analyze_rank_write(directory, 1, "Finalize\n");
    analyze(&analyzed, directory);
    assert_int_equal(analyzed.analysis.replay.doubted, 1);
    assert_int_equal(analyzed.analysis.replay.doubt, CO_WHY_NOT_MADE);
    assert_int_equal(analyzed.analysis.replay.matches, 1);
    finish(&analyzed, directory);
}

static void assert_doubt(const char *makes, const char *members, enum co_replay_why why, const char *call)
{
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, makes, members, rank, rank);
    }
    analyze(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_true(replay->doubted > 0);
    assert_int_equal(replay->doubt, why);
    assert_string_equal(co_call_rows[replay->doubt_call].name, call);
    assert_int_equal(replay->matches, strlen(members)); // everybody gets a message, from outside if need be
    finish(&analyzed, directory);
}

static void what_is_not_told_is_in_doubt(void **state)
{
    (void)state;
    static const char turned[] = "Cart_create oldcomm=2 ndim=1 dims[1]=[6] periods[1]=[0] reorder=1 newcomm=%d\n";
    char calls[512];
    assert_doubt("Comm_group comm=2 group=3\nWin_get_group win=1 group=9\n" CREATE, "012345", CO_WHY_NOT_TOLD,
                 "MPI_Comm_create");
    assert_doubt(GROUP "Group_incl group=3 count=2 ranks[2]=[0, 6] newgroup=9\n" CREATE, "012345", CO_WHY_DIFFERS,
                 "MPI_Comm_create");
    assert_doubt("Comm_spawn oldcommrank=0 root=0 oldcomm=2 newcomm=%d\n", "012345", CO_WHY_NOT_TOLD, "MPI_Comm_spawn");
    assert_doubt("Comm_dup oldcomm=2 newcomm=5\nIntercomm_merge comm=5 high=0 newcomm=%d\n", "012345", CO_WHY_NOT_TOLD,
                 "MPI_Intercomm_merge");
    assert_doubt("Cart_sub ndim=1 oldcomm=2 remain_dims[1]=[1] newcomm=%d\n", "012345", CO_WHY_NOT_TOLD,
                 "MPI_Cart_sub");
    assert_doubt("Wtime unused=%d\n", "012345", CO_WHY_NOT_MADE, "MPI_Irecv");
    assert_doubt(turned, "012345", CO_WHY_ORDER, "MPI_Cart_create");
    snprintf(calls, sizeof calls, "%sComm_rank comm=4 rank=7\n", turned);
    assert_doubt(calls, "012345", CO_WHY_MISFIT, "MPI_Comm_rank");
    snprintf(calls, sizeof calls, "%sComm_size comm=4 size=5\n", turned);
    assert_doubt(calls, "012345", CO_WHY_MISFIT, "MPI_Comm_size");
}

// With a rank's color not known, nobody can say who is together.
static void a_split_without_a_rank_is_in_doubt(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    for (int rank = 0; rank < 3; rank++) {
        write_ring(directory, "Comm_size comm=2 size=4\nComm_split oldcomm=2 color=1 key=0 newcomm=%d\n", "012", rank,
                   rank);
    }
    analyze(&analyzed, directory);
    assert_int_equal(analyzed.analysis.replay.doubted, 3);
    assert_int_equal(analyzed.analysis.replay.doubt, CO_WHY_MISSING);
    finish(&analyzed, directory);
}

// MPI_COMM_SELF needs no call that makes it.
static void messages_to_oneself(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyzed analyzed;
    analyze_rank_write(directory, 0,
                       "Irecv count=1 source=0 tag=1 comm=3 request=[2]\nSend count=1 dest=0 tag=1 comm=3\n"
                       "Wait request=[2] status=<IGNORED>\nFinalize\n");
    analyze(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->matches, 1);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside, 0);
    finish(&analyzed, directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_followed),
        cmocka_unit_test(grids_and_graphs_are_followed),
        cmocka_unit_test(communicators_between_groups_are_followed),
        cmocka_unit_test(a_group_that_does_not_come_is_in_doubt),
        cmocka_unit_test(what_is_not_told_is_in_doubt),
        cmocka_unit_test(a_split_without_a_rank_is_in_doubt),
        cmocka_unit_test(messages_to_oneself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
