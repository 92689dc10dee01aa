// SPDX-License-Identifier: BSD-3-Clause
//
// Members of one node that were called with different lengths: a bcast ends with the root's bytes on every path that
// either length chooses, also when the root is far ahead; an allgather or gather ends with an error on somebody and
// never with a wait that has no end. The seed can be given as the first argument.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

// Lines, mail, bulk of two lengths, and two that go straight between processes.
static const size_t lengths[] = {1, 120, 121, 632, 633, 5000, 60000, 200000, 700000};

#define LENGTHS (sizeof lengths / sizeof *lengths)

static uint64_t seed = 20261122;

// As shm_job_finish, for a caller that waits long.
static int finish(struct co_shm_op *op)
{
    int state;

    while ((state = co_shm_op_progress(op)) == 0 && (state = co_shm_op_look_at_lengths(op)) == 0) {
        sched_yield();
    }
    return state;
}

static int check_bcast(struct shm_rank *self, struct co_shm_team *team, uint64_t operation, int root, size_t given,
                       size_t room)
{
    bool is_root = self->rank == root;
    size_t bytes = is_root ? given : room, came = given < bytes ? given : bytes;
    char *buffer = malloc(bytes + 1);
    struct co_shm_op op;

    SHM_CHECK(buffer != NULL);
    memset(buffer, 'x', bytes + 1);
    if (is_root) {
        shm_job_fill(buffer, operation, root, bytes);
    }
    co_shm_bcast_start(&op, team, root, buffer, bytes);
    op.bcast = operation;
    SHM_CHECK(finish(&op) == (given > bytes ? CO_SHM_TRUNCATED : 1));
    SHM_CHECK(op.bytes == given && (op.whole != NULL) == (given > bytes));
    SHM_CHECK(op.whole == NULL || shm_job_holds(op.whole, operation, root, given));
    SHM_CHECK(op.whole == NULL ? shm_job_holds(buffer, operation, root, came) : memcmp(op.whole, buffer, came) == 0);
    for (size_t i = came; i < bytes + 1; i++) {
        SHM_CHECK(buffer[i] == 'x');
    }
    free(op.whole);
    free(buffer);
    return 0;
}

static int any_two_lengths(struct shm_rank *self)
{
    struct co_shm_team *team;
    uint64_t state = seed, operation = 0;

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (int turn = 0; turn < 300; turn++) {
        size_t given = lengths[shm_job_draw(&state) % LENGTHS];
        int root = (int)(shm_job_draw(&state) % (uint64_t)self->size);
        uint64_t others = shm_job_draw(&state);
        size_t room = lengths[(others >> (4 * self->rank)) % LENGTHS];
        bool agree = shm_job_draw(&state) % 2 != 0;
        SHM_CHECK(check_bcast(self, team, operation++, root, given, agree ? given : room) == 0);
    }
    shm_job_barrier(self);
    SHM_CHECK(shm_job_check_allgather(self, team, operation, 3000) == 0);
    co_shm_team_close(team);
    return 0;
}

// Rank 0 goes on to `after` further broadcasts before rank 1 comes to the first, with another length.
// A program of broadcasts that each member carries here or lets go, by the length that it was called with, and its root
// by its own: who waits is told, whatever its length and however far ahead others are, and nothing that was given is
// lost.
static int let_some_go_in(struct shm_rank *self, uint64_t id)
{
    struct co_shm_team *team = NULL;
    uint64_t state = seed, bcast = 0;
    int seat = co_shm_seat_take(self->node, id, 0, self->size), members[SHM_JOB_RANKS_MAX];

    SHM_CHECK(seat >= 0);
    for (int i = 0; i < self->size; i++) {
        members[i] = i;
    }
    for (int turn = 0; turn < 150; turn++) {
        int root = (int)(shm_job_draw(&state) % (uint64_t)self->size);
        bool is_let_go = shm_job_draw(&state) % 3 != 0;
        uint64_t others = shm_job_draw(&state);
        bool lets_go = is_let_go && (self->rank == root || (others >> self->rank) % 2 != 0);
        size_t bytes = lengths[shm_job_draw(&state) % LENGTHS], room = lengths[(others >> 8) % LENGTHS];
        bcast++;
        if (team == NULL && (!lets_go || turn > 40)) { // first calls may be let go without one
            SHM_CHECK(co_shm_team_open(&team, self->node, seat, members, self->size, self->rank) == 0);
            co_shm_team_skip(team, (uint32_t)(bcast - 1));
        }
        if (lets_go && self->rank == root) {
            co_shm_seat_let_go(self->node, seat, bcast);
        }
        if (lets_go && team != NULL) {
            co_shm_team_skip(team, 1);
        } else if (is_let_go && !lets_go) {
            char *buffer = malloc(room);
            struct co_shm_op op;
            SHM_CHECK(buffer != NULL);
            co_shm_bcast_start(&op, team, root, buffer, room);
            op.bcast = bcast;
            SHM_CHECK(finish(&op) == -ECANCELED && op.whole == NULL);
            free(buffer);
        } else if (!is_let_go) {
            SHM_CHECK(check_bcast(self, team, bcast, root, bytes, others % 3 == 0 ? room : bytes) == 0);
        }
        if (others >> 60 == 0) {
            shm_job_barrier(self);
        }
    }
    shm_job_barrier(self);
    SHM_CHECK(shm_job_check_allgather(self, team, bcast, 3000) == 0);
    SHM_CHECK(co_shm_team_broken(team) == 0);
    co_shm_team_close(team);
    shm_job_barrier(self);
    return 0;
}

static int let_some_go(struct shm_rank *self)
{
    int line = let_some_go_in(self, 5);
    return line != 0 ? line : let_some_go_in(self, 6); // in the place of the first
}

static int run_ahead(struct shm_rank *self, uint64_t id, size_t given, size_t room, size_t later, int after)
{
    struct co_shm_team *team;
    char *buffer = calloc(1, 700001);

    SHM_CHECK(buffer != NULL && shm_job_open_team(self, &team, id) == 0);
    if (self->rank == 0) {
        for (int i = 0; i <= after; i++) {
            struct co_shm_op op;
            size_t bytes = i == 0 ? given : later;
            shm_job_fill(buffer, (uint64_t)i, 0, bytes);
            co_shm_bcast_start(&op, team, 0, buffer, bytes);
            SHM_CHECK(co_shm_op_progress(&op) == 1);
        }
    }
    shm_job_barrier(self);
    for (int i = 0; self->rank == 1 && i <= after; i++) {
        SHM_CHECK(check_bcast(self, team, (uint64_t)i, 0, i == 0 ? given : later, i == 0 ? room : later) == 0);
    }
    shm_job_barrier(self);
    co_shm_team_close(team);
    free(buffer);
    return 0;
}

static int root_is_ahead(struct shm_rank *self)
{
    SHM_CHECK(run_ahead(self, 1, 1, 700, 1, 15) == 0);     // lines, where mail was expected, and lines again
    SHM_CHECK(run_ahead(self, 2, 300, 100, 100, 15) == 0); // mail; lines that are not for this operation
    SHM_CHECK(run_ahead(self, 3, 700, 5000, 700, 7) == 0); // a stream shorter than expected, and more streams
    SHM_CHECK(run_ahead(self, 4, 100, 5000, 700, 7) == 0); // no stream at all, but later ones
    SHM_CHECK(run_ahead(self, 5, 5000, 100, 8, 15) == 0);
    return 0;
}

// As far as there are slots: what is written says of which length it is for as long as somebody has to read it.
static int root_is_far_ahead(struct shm_rank *self)
{
    SHM_CHECK(run_ahead(self, 1, 700, 100, 700, 60) == 0);
    SHM_CHECK(run_ahead(self, 2, 700, 5000, 700, 60) == 0);
    SHM_CHECK(run_ahead(self, 3, 5000, 700, 700, 60) == 0);
    SHM_CHECK(run_ahead(self, 4, 100, 5000, 700, 60) == 0);
    return 0;
}

// Slots hold what was there before: a head that another operation, or another team, has left is not ours.
static int heads_of_others(struct shm_rank *self)
{
    struct co_shm_team *team, *other;
    char buffer[700];
    struct co_shm_op op;
    struct co_shm_where where;

    SHM_CHECK(shm_job_open_team(self, &team, 10) == 0 && shm_job_open_team(self, &other, 11) == 0);
    SHM_CHECK(check_bcast(self, other, 0, 0, 700, 700) == 0);
    if (self->rank == 0) {
        SHM_CHECK(check_bcast(self, team, 0, 0, 700, 700) == 0);
        shm_job_barrier(self);
    } else {
        shm_job_barrier(self);
        co_shm_bcast_start(&op, team, 0, buffer, 600);
        SHM_CHECK(co_shm_length_of(&op, 0, &where) == 700 && co_shm_length_of(&op, 1, &where) == 0);
        struct co_shm_head *head = (void *)(co_shm_lane(team, 0) + team->shape.heads), was = *head;
        const struct co_shm_head *its = (void *)(co_shm_lane(other, 0) + other->shape.heads); // of the same number
        const struct co_shm_head others[] = {{was.stream + 1, 700}, *its, {0, 0}};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            *head = others[i];
            SHM_CHECK(co_shm_length_of(&op, 0, &where) == 0);
        }
        *head = was;
        SHM_CHECK(finish(&op) == CO_SHM_TRUNCATED);
        free(op.whole);
    }
    shm_job_barrier(self);
    uint64_t key = team->key;
    uint32_t entry = team->entry;
    co_shm_team_close(team);
    shm_job_barrier(self);
    SHM_CHECK(shm_job_open_team(self, &team, 12) == 0);
    SHM_CHECK(team->entry == entry && team->key != key); // nor what a team before has left in the same place
    co_shm_team_close(team);
    co_shm_team_close(other);
    return 0;
}

// What the engine does with one that fails: the others of it end, too.
static int finish_or_break(struct co_shm_team *team, struct co_shm_op *op)
{
    int state;

    while ((state = co_shm_op_progress(op)) == 0 && (state = co_shm_op_look_at_lengths(op)) == 0 &&
           (state = co_shm_team_broken(team)) == 0) {
        sched_yield();
    }
    if (state < 0) {
        co_shm_team_break(team, state);
    }
    return state;
}

static int others_end(struct shm_rank *self)
{
    uint64_t id = 20;

    for (size_t a = 0; a < LENGTHS; a++) {
        for (size_t b = 0; b < LENGTHS; b++) {
            for (int gathers = 0; gathers < 2 && a != b; gathers++) {
                struct co_shm_team *team;
                struct co_shm_op op;
                size_t bytes = lengths[self->rank == 0 ? a : b];
                char *all = calloc((size_t)self->size, bytes), *mine = calloc(1, bytes);
                SHM_CHECK(all && mine && shm_job_open_team(self, &team, id++) == 0);
                if (gathers) {
                    co_shm_gather_start(&op, team, 0, mine, all, bytes);
                } else {
                    co_shm_allgather_start(&op, team, mine, all, bytes);
                }
                *shm_job_word(self, self->rank) = finish_or_break(team, &op) < 0;
                shm_job_barrier(self);
                SHM_CHECK(*shm_job_word(self, 0) + *shm_job_word(self, 1) > 0 || op.ring == CO_SHM_BULK);
                shm_job_barrier(self);
                co_shm_team_close(team);
                free(all);
                free(mine);
            }
        }
    }
    return 0;
}

// All members' lengths, and of a round with a mistake another one that one member takes for true.
static bool draw_lengths(size_t of[], int size, int self, uint64_t *state)
{
    size_t all = 0;
    for (int member = 0; member < size; member++) {
        of[member] = shm_job_draw(state) % 4 == 0 ? 0 : lengths[shm_job_draw(state) % LENGTHS];
        all += of[member];
    }
    all += of[0] == 0;
    of[0] = of[0] == 0 ? 1 : of[0];
    int mistaken = (int)(shm_job_draw(state) % (uint64_t)(size + 1)); // or nobody
    int about = (int)(shm_job_draw(state) % (uint64_t)size);
    size_t other = shm_job_draw(state) % 4 == 0 ? 0 : lengths[shm_job_draw(state) % LENGTHS];
    other += other == 0 && all == of[about]; // who thinks that nobody gives anything begins nothing
    bool is_mistake = mistaken < size && other != of[about];
    of[about] = is_mistake && mistaken == self ? other : of[about];
    return is_mistake;
}

// Blocks of unequal lengths, of which one member thinks one longer or shorter than it is: somebody is told.
static int unequal_ones_end(struct shm_rank *self)
{
    uint64_t state = seed;

    for (uint64_t id = 1; id <= 150; id++) {
        struct co_block blocks[SHM_JOB_RANKS_MAX];
        size_t of[SHM_JOB_RANKS_MAX], at = 0;
        struct co_shm_team *team;
        struct co_shm_op op;
        bool is_mistake = draw_lengths(of, self->size, self->rank, &state);
        char *all = calloc((size_t)self->size, 700000);
        SHM_CHECK(all != NULL && shm_job_open_team(self, &team, id) == 0);
        for (int member = 0; member < self->size; member++) {
            blocks[member] = (struct co_block){.buffer = of[member] > 0 ? all + at : NULL, .bytes = of[member]};
            at += of[member];
        }
        shm_job_fill(blocks[self->rank].buffer, id, self->rank, of[self->rank]);
        co_shm_allgatherv_start(&op, team, blocks);
        int failed = finish_or_break(team, &op) < 0;
        SHM_CHECK((shm_job_least(self, -failed) < 0) == is_mistake);
        for (int member = 0; member < self->size && !is_mistake; member++) {
            SHM_CHECK(shm_job_holds(blocks[member].buffer, id, member, of[member]));
        }
        co_shm_team_close(team);
        free(all);
    }
    return 0;
}

static void run_lending(shm_rank_function *function, int size, int single_copy, size_t team_bytes, size_t staging)
{
    struct shm_job_options options = {.size = size,
                                      .single_copy = single_copy,
                                      .single_copy_min = 100000,
                                      .team_bytes = team_bytes,
                                      .staging_bytes = staging,
                                      .cores = staging > 0};

    assert_int_equal(shm_job_run(&options, function), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void run(shm_rank_function *function, int size, int single_copy, size_t team_bytes)
{
    run_lending(function, size, single_copy, team_bytes, 0);
}

static void a_bcast_ends_with_the_roots_bytes(void **state)
{
    (void)state;
    for (int size = 2; size <= 5; size++) {
        run(any_two_lengths, size, size % 2 ? CO_NO : CO_AUTO, 65536);
    }
    run_lending(any_two_lengths, 4, CO_NO, 65536, 1 << 20); // short ones through the bulk ring
}

static void who_is_let_go_goes_on(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        run(let_some_go, size, size % 2 ? CO_NO : CO_AUTO, 65536);
    }
    run_lending(let_some_go, 3, CO_NO, 65536, 1 << 20);
}

static void a_late_member_finds_its_operation(void **state)
{
    (void)state;
    run(root_is_ahead, 2, CO_NO, 65536);
    run(root_is_far_ahead, 2, CO_NO, 1 << 20);
    run_lending(root_is_far_ahead, 2, CO_NO, 1 << 20, 1 << 20);
    run(heads_of_others, 2, CO_NO, 1 << 20);
}

static void allgathers_and_gathers_do_not_wait_for_ever(void **state)
{
    (void)state;
    run(others_end, 2, CO_NO, 65536);
    run(others_end, 2, CO_AUTO, 65536);
}

static void allgathers_of_unequal_blocks_tell_of_a_mistake(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        run(unequal_ones_end, size, CO_NO, 65536);
        run(unequal_ones_end, size, CO_AUTO, 65536);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bcast_ends_with_the_roots_bytes),
        cmocka_unit_test(who_is_let_go_goes_on),
        cmocka_unit_test(a_late_member_finds_its_operation),
        cmocka_unit_test(allgathers_and_gathers_do_not_wait_for_ever),
        cmocka_unit_test(allgathers_of_unequal_blocks_tell_of_a_mistake),
    };

    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
