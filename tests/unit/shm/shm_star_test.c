// SPDX-License-Identifier: BSD-3-Clause
//
// Large bcast and gather step by step in one thread, so that who copies what is decided by the test: the leaf alone,
// the centre alone, both in turns; and the ends of each.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

enum { BYTES = 3000001 };

// Ranks are threads of one process. Rank 0 moves the operations of both, the other one only lends its team.
static struct co_shm_team *teams[2];

struct pair {
    struct co_shm_op centre, leaf;
    char *given, *taken;
};

static void start(struct pair *pair, bool gather)
{
    pair->given = malloc(BYTES);
    pair->taken = calloc(2, BYTES);
    shm_job_fill(pair->given, 4, 1, BYTES);
    if (gather) {
        co_shm_gather_start(&pair->centre, teams[0], 0, NULL, pair->taken, BYTES);
        co_shm_gather_start(&pair->leaf, teams[1], 0, pair->given, NULL, BYTES);
    } else {
        co_shm_bcast_start(&pair->centre, teams[0], 0, pair->given, BYTES);
        co_shm_bcast_start(&pair->leaf, teams[1], 0, pair->taken, BYTES);
    }
}

static bool end(struct pair *pair, bool gather)
{
    bool right = shm_job_holds(pair->taken + (gather ? BYTES : 0), 4, 1, BYTES);

    free(pair->given);
    free(pair->taken);
    return right;
}

static int leaf_alone(struct shm_rank *self, bool gather)
{
    struct pair pair;
    int result = 0;

    start(&pair, gather);
    SHM_CHECK(pair.leaf.step == co_shm_star_step);
    SHM_CHECK(co_shm_op_progress(&pair.leaf) == 0);
    SHM_CHECK(pair.leaf.read == 0);   // nobody has said where the memory is
    co_shm_op_progress(&pair.centre); // introduces itself; may take pieces at once
    uint64_t helped = pair.centre.written;
    for (int i = 0; i < 1000 && result == 0; i++) {
        result = co_shm_op_progress(&pair.leaf);
    }
    SHM_CHECK(result == 1);
    SHM_CHECK(pair.leaf.read > 0 && helped == pair.centre.written);
    SHM_CHECK(shm_job_finish(&pair.centre) == 1);
    SHM_CHECK(end(&pair, gather));
    return 0;
}

static int centre_alone(struct shm_rank *self, bool gather)
{
    struct pair pair;

    start(&pair, gather);
    SHM_CHECK(co_shm_op_progress(&pair.leaf) == 0); // introduces itself, and is then off its core
    for (int i = 0; i < 1000; i++) {
        SHM_CHECK(co_shm_op_progress(&pair.centre) == 0); // never done before the leaf says so
    }
    SHM_CHECK(pair.centre.written * pair.centre.piece_bytes >= BYTES);
    SHM_CHECK(co_shm_op_progress(&pair.leaf) == 1);
    SHM_CHECK(pair.leaf.read == 0);
    SHM_CHECK(co_shm_op_progress(&pair.centre) == 1);
    SHM_CHECK(end(&pair, gather));
    return 0;
}

static int both_in_turns(struct shm_rank *self, bool gather)
{
    struct pair pair;
    int leaf = 0, centre = 0;

    start(&pair, gather);
    while (leaf == 0 || centre == 0) {
        leaf = leaf ? leaf : co_shm_op_progress(&pair.leaf);
        centre = centre ? centre : co_shm_op_progress(&pair.centre);
    }
    SHM_CHECK(leaf == 1 && centre == 1);
    SHM_CHECK(pair.leaf.read > 0 && pair.centre.written > 0);
    SHM_CHECK((pair.leaf.read + pair.centre.written) * pair.leaf.piece_bytes >= BYTES);
    SHM_CHECK((pair.leaf.read + pair.centre.written - 1) * pair.leaf.piece_bytes < BYTES); // none twice
    SHM_CHECK(end(&pair, gather));
    return 0;
}

static int move_both(struct shm_rank *self)
{
    SHM_CHECK(shm_job_open_team(self, &teams[self->rank], 1) == 0);
    self->node->direct_bcast_min = self->node->direct_gather_min = 8192;
    shm_job_barrier(self);
    for (int turn = 0; turn < 6 && self->rank == 0; turn++) {
        SHM_CHECK(leaf_alone(self, turn & 1) == 0);
        SHM_CHECK(centre_alone(self, turn & 1) == 0);
        SHM_CHECK(both_in_turns(self, turn & 1) == 0);
    }
    shm_job_barrier(self);
    co_shm_team_close(teams[self->rank]);
    return 0;
}

static int many_leaves(struct shm_rank *self)
{
    struct co_shm_team *team;

    self->node->direct_bcast_min = self->node->direct_gather_min = 8192;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (uint64_t i = 0; i < 40; i++) {
        SHM_CHECK(shm_job_check_bcast(self, team, 2 * i, (int)i % self->size, 8192 + i * 4099) == 0);
        SHM_CHECK(shm_job_check_gather(self, team, 2 * i + 1, (int)(i / 2) % self->size, 8192 + i * 4099) == 0);
    }
    co_shm_team_close(team);
    return 0;
}

static void each_side_alone_and_both(void **state)
{
    struct shm_job_options options = {.size = 2, .threads = true};

    (void)state;
    assert_int_equal(shm_job_run(&options, move_both), 0);
}

static void every_root_of_many(void **state)
{
    struct shm_job_options options = {.size = 5};

    (void)state;
    assert_int_equal(shm_job_run(&options, many_leaves), 0);
    options.size = 9;
    options.threads = true;
    assert_int_equal(shm_job_run(&options, many_leaves), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_alone_and_both),
        cmocka_unit_test(every_root_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
