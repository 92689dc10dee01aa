// SPDX-License-Identifier: BSD-3-Clause
//
// The node's staging: lent, kept, taken over only when the readers are done, refused when it is all in use, returned by
// the end of a team, and fought over by more writers than there are loans, with every byte checked.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

#define ONE CO_SHM_LOAN_BYTES
#define BLOCK ((size_t)100000) // more than a lane holds, less than a loan

static struct co_shm_team *teams[2][2]; // [team][rank]; one thread moves all of them
static char given[4][BLOCK], taken[4][BLOCK];

// Team t's rank 0 gives block `number`; the root's end alone.
static int root_ends(struct shm_rank *self, int t, int number)
{
    struct co_shm_op root;

    shm_job_fill(given[number], (uint64_t)number, 0, BLOCK);
    co_shm_bcast_start(&root, teams[t][0], 0, given[number], BLOCK);
    SHM_CHECK(co_shm_op_progress(&root) == 1);
    return 0;
}

static int reader_ends(struct shm_rank *self, int t, int number)
{
    struct co_shm_op reader;

    co_shm_bcast_start(&reader, teams[t][1], 0, taken[number], BLOCK);
    SHM_CHECK(shm_job_finish(&reader) == 1);
    SHM_CHECK(shm_job_holds(taken[number], (uint64_t)number, 0, BLOCK));
    return 0;
}

static int open_both(struct shm_rank *self)
{
    SHM_CHECK(shm_job_open_team(self, &teams[0][self->rank], 1) == 0);
    SHM_CHECK(shm_job_open_team(self, &teams[1][self->rank], 2) == 0);
    shm_job_barrier(self);
    return 0;
}

static int close_both(struct shm_rank *self)
{
    shm_job_barrier(self);
    co_shm_team_close(teams[0][self->rank]);
    co_shm_team_close(teams[1][self->rank]);
    shm_job_barrier(self);
    return 0;
}

// Two teams, one loan. While the first team's reader lags, the second team's root finds nothing, and with its own
// slots alone it has to wait for its reader; afterwards it takes the loan over, and the first team's root takes it
// back.
static int take_over(struct shm_rank *self)
{
    uint64_t loans = co_counter_read(CO_COUNT_SHM_LOANS), refused = co_counter_read(CO_COUNT_SHM_LOANS_REFUSED);
    struct co_shm_op root, reader;

    SHM_CHECK(open_both(self) == 0);
    if (self->rank == 0) {
        SHM_CHECK(self->node->plan.loans == 1);
        SHM_CHECK(root_ends(self, 0, 0) == 0); // the whole block fits into the loan
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS) == loans + 1);
        shm_job_fill(given[1], 1, 0, BLOCK);
        co_shm_bcast_start(&root, teams[1][0], 0, given[1], BLOCK);
        SHM_CHECK(co_shm_op_progress(&root) == 0); // nothing lent: only what the lane holds
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS_REFUSED) == refused + 1);
        co_shm_bcast_start(&reader, teams[1][1], 0, taken[1], BLOCK);
        for (int ended = 0, read = 0; !ended || !read;) {
            ended = ended || co_shm_op_progress(&root) == 1;
            read = read || co_shm_op_progress(&reader) == 1;
        }
        SHM_CHECK(shm_job_holds(taken[1], 1, 0, BLOCK));
        SHM_CHECK(reader_ends(self, 0, 0) == 0);
        SHM_CHECK(root_ends(self, 1, 2) == 0);
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS) == loans + 2);
        SHM_CHECK(reader_ends(self, 1, 2) == 0);
        SHM_CHECK(root_ends(self, 0, 3) == 0);
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS) == loans + 3);
        SHM_CHECK(reader_ends(self, 0, 3) == 0);
    }
    return close_both(self);
}

// What fits into the own ring takes a free loan, but none that another team keeps.
static int small_ones_take_over_nothing(struct shm_rank *self)
{
    struct co_shm_op root, reader;
    const size_t fits = 5000;

    SHM_CHECK(open_both(self) == 0);
    if (self->rank == 0) {
        for (int t = 0; t < 2; t++) {
            uint64_t loans = co_counter_read(CO_COUNT_SHM_LOANS), refused = co_counter_read(CO_COUNT_SHM_LOANS_REFUSED);
            shm_job_fill(given[0], (uint64_t)t, 0, fits);
            co_shm_bcast_start(&root, teams[t][0], 0, given[0], fits);
            SHM_CHECK(co_shm_op_progress(&root) == 1);
            SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS) == loans + (t == 0));
            SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS_REFUSED) == refused + (t == 1));
            co_shm_bcast_start(&reader, teams[t][1], 0, taken[0], fits);
            SHM_CHECK(shm_job_finish(&reader) == 1 && shm_job_holds(taken[0], (uint64_t)t, 0, fits));
        }
        SHM_CHECK(root_ends(self, 1, 1) == 0 && teams[1][0]->loan != CO_SHM_NO_LOAN);
        SHM_CHECK(reader_ends(self, 1, 1) == 0);
    }
    return close_both(self);
}

// Broadcasts of 300 bytes, which the root begins until there is no room for one more, and then their reader; how many.
static int run_ahead(int looks)
{
    struct co_shm_op root, reader;
    int begun = 0, state = 1;

    for (; state == 1; begun++) {
        co_shm_bcast_start(&root, teams[0][0], 0, given[0], 300);
        for (int i = 0; i < looks && (state = co_shm_op_progress(&root)) == 0; i++) {
        }
    }
    for (int i = 0; i < begun; i++) {
        co_shm_bcast_start(&reader, teams[0][1], 0, taken[0], 300);
        while (co_shm_op_progress(&reader) == 0) {
            state = state == 0 ? co_shm_op_progress(&root) : state;
        }
    }
    return begun - 1;
}

// Where ranks share cores a root of short ones, which fit into its own few slots, gets more once it has waited for a
// slot often enough; and all of them for what is long.
static int short_ones_get_ahead(struct shm_rank *self)
{
    SHM_CHECK(open_both(self) == 0);
    if (self->rank == 0) {
        int own = (int)teams[0][0]->shape.ring[CO_SHM_BULK].mask + 1;
        shm_job_fill(given[0], 0, 0, 300);
        SHM_CHECK(run_ahead(1) == own && run_ahead(1) == own); // it has not waited for long
        SHM_CHECK(run_ahead(100) == own && teams[0][0]->loan == CO_SHM_NO_LOAN);
        int more = run_ahead(1);
        SHM_CHECK(teams[0][0]->loan != CO_SHM_NO_LOAN && more > own && more < (int)CO_SHM_LOAN_SLOTS);
        SHM_CHECK(root_ends(self, 0, 1) == 0 && reader_ends(self, 0, 1) == 0);
        shm_job_fill(given[0], 0, 0, 300);
        SHM_CHECK(run_ahead(1) == (int)CO_SHM_LOAN_SLOTS);
        SHM_CHECK(shm_job_holds(taken[0], 0, 0, 300));
    }
    return close_both(self);
}

// The same loan again without asking, and zeroes when the team is gone.
static int keep_and_return(struct shm_rank *self)
{
    uint64_t loans = co_counter_read(CO_COUNT_SHM_LOANS);

    SHM_CHECK(open_both(self) == 0);
    if (self->rank == 0) {
        for (int i = 0; i < 20; i++) {
            SHM_CHECK(root_ends(self, 0, i % 4) == 0);
            SHM_CHECK(reader_ends(self, 0, i % 4) == 0);
        }
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LOANS) == loans + 1);
        SHM_CHECK(co_counter_read(CO_COUNT_SHM_LENT_HIGH) >= ONE);
    }
    SHM_CHECK(close_both(self) == 0);
    const char *staging = (const char *)self->node->segment.base + self->node->plan.staging_offset;
    for (size_t i = 0; i < self->node->plan.loans * ONE; i++) {
        SHM_CHECK(staging[i] == 0);
    }
    for (uint32_t i = 0; i < self->node->plan.loans; i++) {
        SHM_CHECK((self->node->loans[i].word & 3) == 0); // free
    }
    return 0;
}

static int run_seeded(struct shm_rank *self, struct co_shm_team *const *several, int count)
{
    uint64_t state = 20240901;

    for (uint64_t i = 1; i <= 150; i++) {
        struct co_shm_team *team = several[shm_job_draw(&state) % (uint64_t)count];
        size_t bytes = 1 + shm_job_draw(&state) % 300000;
        int root = (int)(shm_job_draw(&state) % (uint64_t)self->size);
        bytes = shm_job_draw(&state) & 1 ? bytes : bytes % 20000 + 1;
        switch (shm_job_draw(&state) % 3) {
        case 0:
            SHM_CHECK(shm_job_check_bcast(self, team, i, root, bytes) == 0);
            break;
        case 1:
            SHM_CHECK(shm_job_check_allgather(self, team, i, bytes / 2 + 1) == 0);
            break;
        default:
            SHM_CHECK(shm_job_check_gather(self, team, i, root, bytes / 2 + 1) == 0);
        }
    }
    return 0;
}

// Three teams of everybody want more than there is, in turns that every rank draws alike; `cache` 1 makes every store
// go past the cache.
static int contend(struct shm_rank *self)
{
    struct co_shm_team *several[3];

    self->node->cache_bytes = self->argument ? 1 : self->node->cache_bytes;
    for (uint64_t i = 0; i < 3; i++) {
        SHM_CHECK(shm_job_open_team(self, &several[i], i) == 0);
    }
    int line = run_seeded(self, several, 3);
    for (int i = 0; i < 3; i++) {
        co_shm_team_close(several[i]);
    }
    return line;
}

// Rank 2 dies with the only loan in its hands; the others go on without, and no name is left.
static int die_with_it(struct shm_rank *self)
{
    int members[2] = {0, 1};
    struct co_shm_team *all, *two;
    struct co_shm_op op;

    SHM_CHECK(shm_job_open_team(self, &all, 1) == 0);
    if (self->rank == 2) {
        char *block = calloc(4, ONE);
        co_shm_bcast_start(&op, all, 2, block, 4 * ONE);
        SHM_CHECK(block && co_shm_op_progress(&op) == 0 && all->loan != CO_SHM_NO_LOAN);
        *shm_job_word(self, 0) = 1;
        raise(SIGKILL);
    }
    while (*shm_job_word(self, 0) == 0) {
        sched_yield();
    }
    SHM_CHECK(shm_job_open_members(self, &two, 2, members, 2, self->rank) == 0);
    char *block = calloc(1, ONE);
    SHM_CHECK(block);
    for (uint64_t i = 0; i < 10; i++) {
        if (self->rank == (int)(i & 1)) {
            shm_job_fill(block, i, self->rank, ONE);
        }
        co_shm_bcast_start(&op, two, (int)(i & 1), block, ONE);
        SHM_CHECK(shm_job_finish(&op) == 1 && shm_job_holds(block, i, (int)(i & 1), ONE));
    }
    SHM_CHECK(two->loan == CO_SHM_NO_LOAN);
    free(block);
    co_shm_team_close(two);
    return 0;
}

static void run(int size, bool threads, size_t staging, shm_rank_function *function, const void *argument)
{
    struct shm_job_options options = {
        .size = size, .threads = threads, .staging_bytes = staging, .single_copy = CO_NO, .argument = argument};

    assert_int_equal(shm_job_run(&options, function), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void taken_over_when_the_readers_are_done(void **state)
{
    (void)state;
    run(2, true, ONE, take_over, NULL);
}

static void small_ones_take_free_ones_only(void **state)
{
    (void)state;
    run(2, true, ONE, small_ones_take_over_nothing, NULL);
}

static void short_ones_get_what_they_need(void **state)
{
    (void)state;
    struct shm_job_options options = {
        .size = 2, .threads = true, .staging_bytes = ONE, .single_copy = CO_NO, .cores = 1};

    assert_int_equal(shm_job_run(&options, short_ones_get_ahead), 0);
}

static void kept_for_the_next_and_returned_at_the_end(void **state)
{
    (void)state;
    run(2, true, 3 * ONE, keep_and_return, NULL);
}

static void more_writers_than_loans(void **state)
{
    (void)state;
    run(2, false, ONE, contend, NULL);
    run(3, true, 2 * ONE, contend, NULL);
    run(4, false, 3 * ONE, contend, "past the cache");
    run(4, true, 32 * ONE, contend, "past the cache");
}

static void a_killed_writer_leaves_the_others_alone(void **state)
{
    struct shm_job_options options = {.size = 3, .staging_bytes = ONE, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run_with_victim(&options, die_with_it, 2), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_over_when_the_readers_are_done),      cmocka_unit_test(small_ones_take_free_ones_only),
        cmocka_unit_test(kept_for_the_next_and_returned_at_the_end), cmocka_unit_test(more_writers_than_loans),
        cmocka_unit_test(a_killed_writer_leaves_the_others_alone),   cmocka_unit_test(short_ones_get_what_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
