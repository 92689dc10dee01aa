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

enum { RANKS = 6, CALLS_MAX = 2048 };

static void analyze_whole(struct analyze_result *analyzed, const char *directory)
{
    analyze_run(analyzed, directory);
    assert_int_equal(analyzed->complaints, 0);
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
    struct analyze_result analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, makes, members, rank, rank);
    }
    analyze_whole(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    size_t count = strlen(members);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(replay->talk[(members[i] - '0') * RANKS + members[(i + 1) % count] - '0'], 1);
    }
    assert_int_equal(replay->matches, count);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    analyze_finish(&analyzed, directory);
}

static void assert_doubt(const char *makes, const char *members, enum co_replay_why why, const char *call)
{
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, makes, members, rank, rank);
    }
    analyze_whole(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_true(replay->doubted > 0);
    assert_int_equal(replay->doubt, why);
    assert_string_equal(co_call_rows[replay->doubt_call].name, call);
    assert_int_equal(replay->matches, strlen(members)); // everybody gets a message, from outside if need be
    analyze_finish(&analyzed, directory);
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

// The group of one communicator makes another one, and groups of two are put together; of the even ranks, 4 has 420.
static void groups_of_several_communicators_are_followed(void **state)
{
    (void)state;
#define DUP "Comm_dup oldcomm=2 newcomm=7\n"
#define TURNED "Comm_create oldcomm=2 group=8 newcomm=5\nComm_group comm=5 group=10\n"
#define THREE "Group_incl group=3 count=6 ranks[6]=[4, 2, 0, 5, 1, 3] newgroup=8\n" TURNED
    assert_members(GROUP DUP "Group_incl group=3 count=3 ranks[3]=[5, 0, 3] newgroup=9\nComm_create oldcomm=7 group=9 "
                             "newcomm=%d\n",
                   "503");
    assert_members(GROUP THREE "Group_incl group=10 count=3 ranks[3]=[0, 1, 2] newgroup=9\n" CREATE, "420");
    assert_members(GROUP THREE "Comm_dup oldcomm=5 newcomm=7\nComm_create oldcomm=7 group=3 newcomm=%d\n", "012345");
    assert_members(GROUP EVEN THREE "Group_difference group1=10 group2=4 newgroup=9\n" CREATE, "513");
    assert_members(GROUP NOT_TWO THREE "Group_intersection group1=10 group2=5 newgroup=9\n" CREATE, "40513");
    assert_members(GROUP EVEN THREE "Group_incl group=10 count=2 ranks[2]=[5, 0] newgroup=6\n"
                                    "Group_union group1=6 group2=4 newgroup=9\n" CREATE,
                   "3402");
    assert_members(GROUP EVEN THREE
                   "Group_union group1=10 group2=4 newgroup=6\nGroup_range_incl group=6 count=1 "
                   "ranges[1][3]=[[4, 0, -2]] newgroup=7\nGroup_excl group=7 count=1 ranks[1]=[1] newgroup=9\n" CREATE,
                   "14");
    assert_members(GROUP EVEN THREE "Group_difference group1=10 group2=4 newgroup=6\nGroup_union group1=2 group2=6 "
                                    "newgroup=7\nGroup_union group1=7 group2=4 newgroup=9\n" CREATE,
                   "513024");
}

// The old communicator 5 had the ranks turned around, and so has its group; the new one does not.
static void a_number_that_is_used_again_is_another_communicator(void **state)
{
    (void)state;
    assert_doubt(GROUP "Group_incl group=3 count=6 ranks[6]=[5, 4, 3, 2, 1, 0] newgroup=8\n" TURNED
                       "Comm_free comm=5\nComm_dup oldcomm=2 newcomm=5\nGroup_incl group=10 count=2 ranks[2]=[0, 1] "
                       "newgroup=9\n" CREATE,
                 "54", CO_WHY_NOT_TOLD, "MPI_Comm_create");
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
    struct analyze_result analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_ring(directory, calls, rank < 3 ? "012" : "345", rank, rank);
    }
    analyze_whole(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->talk[2 * RANKS + 0], 1);
    assert_int_equal(replay->talk[5 * RANKS + 3], 1);
    assert_int_equal(replay->matches, RANKS);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside + replay->forced, 0);
    analyze_finish(&analyzed, directory);
}

static void what_is_not_told_is_in_doubt(void **state)
{
    (void)state;
    static const char grid[] = "Cart_create oldcomm=2 ndim=1 dims[1]=[6] periods[1]=[0] reorder=0 newcomm=%d\n";
    char calls[512];
    assert_doubt("Comm_group comm=2 group=3\nWin_get_group win=1 group=9\n" CREATE, "012345", CO_WHY_NOT_TOLD,
                 "MPI_Comm_create");
    assert_doubt(GROUP "Group_incl group=3 count=2 ranks[2]=[0, 6] newgroup=9\n" CREATE, "012345", CO_WHY_DIFFERS,
                 "MPI_Comm_create");
    assert_doubt("Comm_spawn oldcommrank=0 root=0 oldcomm=2 newcomm=%d\n", "012345", CO_WHY_NOT_TOLD, "MPI_Comm_spawn");
    assert_doubt("Comm_dup oldcomm=2 newcomm=5\nIntercomm_merge comm=5 high=0 newcomm=%d\n", "012345", CO_WHY_NOT_TOLD,
                 "MPI_Intercomm_merge");
    assert_doubt("Comm_get_parent parent=5\nComm_group comm=5 group=9\n" CREATE, "012345", CO_WHY_NOT_TOLD,
                 "MPI_Comm_get_parent");
    assert_doubt("Cart_sub ndim=1 oldcomm=2 remain_dims[1]=[1] newcomm=%d\n", "012345", CO_WHY_NOT_TOLD,
                 "MPI_Cart_sub");
    assert_doubt("Wtime unused=%d\n", "012345", CO_WHY_NOT_MADE, "MPI_Irecv");
    snprintf(calls, sizeof calls, "%sComm_rank comm=4 rank=7\n", grid);
    assert_doubt(calls, "012345", CO_WHY_MISFIT, "MPI_Comm_rank");
    snprintf(calls, sizeof calls, "%sComm_size comm=4 size=5\n", grid);
    assert_doubt(calls, "012345", CO_WHY_MISFIT, "MPI_Comm_size");
}

// With a rank's color not known, nobody can say who is together.
static void a_split_without_a_rank_is_in_doubt(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    for (int rank = 0; rank < 3; rank++) {
        write_ring(directory, "Comm_size comm=2 size=4\nComm_split oldcomm=2 color=1 key=0 newcomm=%d\n", "012", rank,
                   rank);
    }
    analyze_whole(&analyzed, directory);
    assert_int_equal(analyzed.analysis.replay.doubted, 3);
    assert_int_equal(analyzed.analysis.replay.doubt, CO_WHY_MISSING);
    analyze_finish(&analyzed, directory);
}

// MPI_COMM_SELF needs no call that makes it.
static void messages_to_oneself(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       "Irecv count=1 source=0 tag=1 comm=3 request=[2]\nSend count=1 dest=0 tag=1 comm=3\n"
                       "Wait request=[2] status=<IGNORED>\nFinalize\n");
    analyze_whole(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->matches, 1);
    assert_int_equal(replay->doubted + replay->from_outside + replay->sent_outside, 0);
    analyze_finish(&analyzed, directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_followed),
        cmocka_unit_test(grids_and_graphs_are_followed),
        cmocka_unit_test(groups_of_several_communicators_are_followed),
        cmocka_unit_test(a_number_that_is_used_again_is_another_communicator),
        cmocka_unit_test(what_is_not_told_is_in_doubt),
        cmocka_unit_test(a_split_without_a_rank_is_in_doubt),
        cmocka_unit_test(messages_to_oneself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
