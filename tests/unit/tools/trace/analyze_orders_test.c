// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators whose ranks MPI was allowed to put in another order: certain where MPI told the ranks, believed where
// all messages fit, in doubt otherwise.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyze_traces.h"

enum { RANKS = 6, CALLS_MAX = 1024 };

#define GRID "Cart_create oldcomm=2 ndim=2 dims[2]=[2, 3] periods[2]=[1, 1] reorder=1 newcomm=4\n"
#define GRAPH                                                                                                          \
    "Graph_create numedges=6 oldcomm=2 nodes=6 index[6]=[1, 2, 3, 4, 5, 6] edges[6]=[1, 2, 3, 4, 5, 0] reorder=1 "     \
    "newcomm=4\n"
#define NO_STATUS "<IGNORED>"

// A ring in communicator `comm` of so many ranks from 0 on, which stand there in this order. `more` is called behind
// `makes`, with the rank of the line that it has for each. `asks`: the source of a receive is any.
struct ring {
    const char *makes, *order;
    const char *more[RANKS];
    int comm;
    bool asks_anybody, is_told_who;
};

static void write_rank(const char *directory, const struct ring *ring, int rank)
{
    char calls[CALLS_MAX], source[16], status[100] = NO_STATUS;
    int count = (int)strlen(ring->order), place = (int)(strchr(ring->order, '0' + rank) - ring->order);
    int from = (place + count - 1) % count;
    snprintf(source, sizeof source, "%d", ring->asks_anybody ? -1 : from);
    if (ring->is_told_who) {
        snprintf(status, sizeof status, "[{bytes=4, cancelled=0, source=%d, tag=1, error=0}]", from);
    }
    snprintf(calls, sizeof calls,
             "%s%sIrecv count=1 source=%s tag=1 comm=%d request=[2]\nSend count=1 dest=%d tag=1 comm=%d\n"
             "Wait request=[2] status=%s\nFinalize\n",
             ring->makes, ring->more[rank] != NULL ? ring->more[rank] : "", source, ring->comm, (place + 1) % count,
             ring->comm, status);
    analyze_rank_write(directory, rank, calls);
}

static void assert_ring(const struct ring *ring, unsigned doubted, unsigned believed, enum co_replay_why why)
{
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    for (int rank = 0; rank < RANKS; rank++) {
        write_rank(directory, ring, rank);
    }
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(analyzed.complaints, 0);
    assert_int_equal(replay->doubted, doubted);
    assert_int_equal(replay->believed, believed);
    assert_true(doubted == 0 || replay->doubt == why);
    if (doubted == 0) {
        assert_int_equal(replay->matches, RANKS);
        assert_int_equal(replay->from_outside + replay->sent_outside + replay->forced, 0);
    }
    analyze_finish(&analyzed, directory);
}

static void messages_that_fit_are_believed(void **state)
{
    (void)state;
    assert_ring(&(struct ring){.makes = GRID, .order = "012345", .comm = 4}, 0, 1, 0);
    assert_ring(&(struct ring){.makes = GRAPH, .order = "012345", .comm = 4}, 0, 1, 0);
    assert_ring(&(struct ring){.makes = GRID, .order = "012345", .comm = 4, .asks_anybody = true, .is_told_who = true},
                0, 1, 0);
    // And what is made of it, which has its order.
    assert_ring(&(struct ring){.makes = GRID "Comm_dup oldcomm=4 newcomm=5\n", .order = "012345", .comm = 5}, 0, 1, 0);
}

static void others_are_in_doubt(void **state)
{
    (void)state;
    assert_ring(&(struct ring){.makes = GRID, .order = "543210", .comm = 4}, 1, 0, CO_WHY_ORDER);
    assert_ring(&(struct ring){.makes = GRAPH, .order = "102345", .comm = 4}, 1, 0, CO_WHY_ORDER);
    assert_ring(&(struct ring){.makes = GRID, .order = "012345", .comm = 4, .asks_anybody = true}, 1, 0, CO_WHY_ORDER);
    assert_ring(&(struct ring){.makes = GRID, .order = "543210", .comm = 4, .asks_anybody = true, .is_told_who = true},
                1, 0, CO_WHY_ORDER);
    assert_ring(&(struct ring){.makes = GRID "Comm_dup oldcomm=4 newcomm=5\n", .order = "543210", .comm = 5}, 1, 0,
                CO_WHY_ORDER);
}

#define SHIFT(source, dest) "Cart_shift comm=4 direction=1 displ=1 source=" #source " dest=" #dest "\n"
#define PLACE(row, column)                                                                                             \
    "Cart_get ndim=2 comm=4 maxdims=2 dims[2]=[2, 3] periods[2]=[1, 1] coords[2]=[" #row ", " #column "]\n"

// MPI_Cart_shift and MPI_Cart_get, which all programs on grids call, tell a rank its own; of anybody's messages, too.
static void grids_tell_the_own_rank(void **state)
{
    (void)state;
    assert_ring(&(struct ring){.makes = GRID,
                               .order = "012345",
                               .comm = 4,
                               .asks_anybody = true,
                               .more = {SHIFT(2, 1), SHIFT(0, 2), SHIFT(1, -1), "Comm_rank comm=4 rank=3\n",
                                        SHIFT(-1, 5), PLACE(1, 2)}},
                0, 0, 0);
    assert_ring(&(struct ring){.makes = GRID "Comm_dup oldcomm=4 newcomm=5\n",
                               .order = "012345",
                               .comm = 5,
                               .asks_anybody = true,
                               .more = {PLACE(0, 0), PLACE(0, 1), PLACE(0, 2), PLACE(1, 0), PLACE(1, 1), PLACE(1, 2)}},
                0, 0, 0);
    assert_ring(&(struct ring){.makes = GRID, .order = "012345", .comm = 4, .more = {SHIFT(0, 2)}}, 1, 0,
                CO_WHY_MISFIT);
    assert_ring(&(struct ring){.makes = GRID, .order = "012345", .comm = 4, .more = {PLACE(1, 0)}}, 1, 0,
                CO_WHY_MISFIT);
    // Nonsense is no evidence.
    assert_ring(&(struct ring){.makes = GRID,
                               .order = "012345",
                               .comm = 4,
                               .more = {"Cart_shift comm=4 direction=7 displ=1 source=0 dest=0\n", PLACE(5, 5),
                                        "Cart_shift comm=4 direction=-1 displ=1 source=0 dest=0\n",
                                        "Cart_get ndim=1 comm=4 maxdims=1 dims[1]=[6] periods[1]=[0] coords[1]=[9]\n",
                                        SHIFT(-2, -2)}},
                0, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_fit_are_believed),
        cmocka_unit_test(others_are_in_doubt),
        cmocka_unit_test(grids_tell_the_own_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
