// SPDX-License-Identifier: BSD-3-Clause
//
// Large operations whose processes lose the right to copy straight after the start: nothing is lost, whoever still can
// copies, the rest goes through the bounce page. Rights are lost as in real life: another user, not dumpable.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

struct losers {
    unsigned ranks; // bit for each
};

static int lose_rights(struct shm_rank *self)
{
    int next = (self->rank + 1) % self->size;
    const struct co_shm_process *peer = &self->node->processes[next];
    uint64_t word;

    bool was_root = geteuid() == 0;
    if (was_root) {
        SHM_CHECK(setuid(65534) == 0);
    }
    SHM_CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    shm_job_barrier(self);
    // A common user may still look into one that gave nothing up; root's own may not be looked into any more.
    const struct losers *losers = self->argument;
    SHM_CHECK((!was_root && !(losers->ranks & 1u << next)) ||
              co_shm_cma_read((pid_t)peer->pid, &word, peer->probe_address, sizeof word) < 0);
    return 0;
}

static int run_large(struct shm_rank *self)
{
    static const size_t sizes[] = {8192, 8193, 16384, 40001, 140000, 700001};
    const struct losers *losers = self->argument;
    struct co_shm_team *team;
    uint64_t operation = 0;

    if (losers->ranks & 1u << self->rank) {
        SHM_CHECK(lose_rights(self) == 0);
    } else {
        shm_job_barrier(self);
    }
    shm_job_barrier(self);
    self->node->direct_bcast_min = 8192; // also where the probe found that it is forbidden from the start
    self->node->direct_gather_min = self->node->direct_allgather_min = 8192;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int root = 0; root < (self->size > 4 ? 1 : self->size); root++) {
            SHM_CHECK(shm_job_check_bcast(self, team, ++operation, root, sizes[i]) == 0);
            SHM_CHECK(shm_job_check_bcast(self, team, ++operation, root, 60) == 0);
            SHM_CHECK(shm_job_check_bcast(self, team, ++operation, root, 2500) == 0); // a stream, in the same place
            SHM_CHECK(shm_job_check_gather(self, team, ++operation, root, sizes[i]) == 0);
            SHM_CHECK(shm_job_check_allgather(self, team, ++operation, sizes[i]) == 0);
        }
    }
    co_shm_team_close(team);
    return 0;
}

static struct co_shm_team *teams[2]; // by rank; one thread moves both

// The place lies in the slots of a stream. While somebody has yet to read those, nothing is asked for through it.
static int wait_for_readers(struct shm_rank *self)
{
    enum { BYTES = 2500, CARRIED = 3000 };
    static char given[BYTES], taken[BYTES], carried[CARRIED], arrived[CARRIED];
    struct co_shm_op root, reader, asking = {0};

    SHM_CHECK(shm_job_open_team(self, &teams[self->rank], 1) == 0);
    shm_job_barrier(self);
    if (self->rank == 0) {
        struct co_shm_span span = {.local = carried, .bytes = CARRIED, .owner = 1, .outward = true};
        shm_job_fill(given, 1, 0, BYTES);
        shm_job_fill(carried, 2, 0, CARRIED);
        co_shm_bcast_start(&root, teams[0], 0, given, BYTES);
        SHM_CHECK(co_shm_op_progress(&root) == 1 && teams[0]->loan == CO_SHM_NO_LOAN);
        asking.team = teams[0];
        SHM_CHECK(co_shm_bounce_step(&asking, &span) == 0 && asking.asked == 0);
        SHM_CHECK(!co_shm_bounce_serve(teams[1], arrived, CARRIED, true));
        co_shm_bcast_start(&reader, teams[1], 0, taken, BYTES);
        SHM_CHECK(shm_job_finish(&reader) == 1 && shm_job_holds(taken, 1, 0, BYTES));
        SHM_CHECK(co_shm_bounce_step(&asking, &span) == 0 && asking.asked == CARRIED);
        SHM_CHECK(co_shm_bounce_serve(teams[1], arrived, CARRIED, true));
        SHM_CHECK(co_shm_bounce_step(&asking, &span) == 1 && shm_job_holds(arrived, 2, 0, CARRIED));
    }
    shm_job_barrier(self);
    co_shm_team_close(teams[self->rank]);
    return 0;
}

// As from a process that writes where it should not.
static int ask_for_what_there_is_not(struct shm_rank *self)
{
    enum { BYTES = 3000 };
    static const struct {
        uint64_t offset, bytes;
        size_t block;
    } wrong[] = {
        {1, BYTES, BYTES},      {BYTES + 1, 0, BYTES},
        {UINT64_MAX, 2, BYTES}, {UINT64_MAX - BYTES, BYTES, BYTES},
        {0, UINT64_MAX, BYTES}, {0, (uint64_t)1 << 40, (size_t)1 << 40}}; // the block has it, the page does not
    static char block[2 * BYTES];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        SHM_CHECK(shm_job_open_team(self, &teams[self->rank], i + 1) == 0);
        shm_job_barrier(self);
        if (self->rank == 0) {
            struct co_shm_control *control = co_shm_control(teams[0], 0);
            control->request_offset = wrong[i].offset;
            control->request_bytes = wrong[i].bytes;
            co_store_release(&control->request, UINT64_C(1) << 16 | 1); // the first one, of rank 1
            SHM_CHECK(co_shm_team_broken(teams[1]) == 0);
            SHM_CHECK(!co_shm_bounce_serve(teams[1], block, wrong[i].block, i % 2 == 0));
            SHM_CHECK(co_shm_team_broken(teams[1]) == -EPROTO);
        }
        shm_job_barrier(self);
        co_shm_team_close(teams[self->rank]);
        shm_job_barrier(self);
    }
    return 0;
}

// The same of a stream: where its slots are, and how many.
static bool is_refused(uint64_t memory)
{
    enum { BYTES = 2500 };
    static char given[BYTES], taken[BYTES];
    struct co_shm_op root, reader;

    co_shm_bcast_start(&root, teams[0], 0, given, BYTES);
    bool is_written = co_shm_op_progress(&root) == 1;
    co_store_relaxed(&co_shm_control(teams[0], 0)->memory, memory);
    co_shm_bcast_start(&reader, teams[1], 0, taken, BYTES);
    bool is_whole = co_shm_team_broken(teams[1]) == 0;
    return co_shm_op_progress(&reader) == 0 && is_written && is_whole && co_shm_team_broken(teams[1]) == -EPROTO;
}

static int write_where_there_is_not(struct shm_rank *self)
{
    const size_t end = self->node->segment.bytes & ~(size_t)(CO_CACHE_LINE - 1);
    const uint64_t wrong[] = {end - 3 * CO_SHM_FRAGMENT + 2, // the fourth slot is behind the end
                              end + 4,
                              UINT64_MAX - CO_CACHE_LINE + 1 + 4,
                              UINT64_C(1) << 63 | 4,
                              40,
                              63,
                              1}; // so few that none would ever be read
    bool are_refused = true;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        SHM_CHECK(shm_job_open_team(self, &teams[self->rank], i + 1) == 0);
        shm_job_barrier(self);
        are_refused = are_refused && (self->rank != 0 || is_refused(wrong[i]));
        shm_job_barrier(self);
        co_shm_team_close(teams[self->rank]);
        shm_job_barrier(self);
    }
    SHM_CHECK(are_refused);
    return 0;
}

// Nothing is behind the slots of the last lane in the segment.
static int read_the_last_lane(struct shm_rank *self)
{
    struct co_shm_team *team;

    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    if (self->rank == 0) {
        const struct co_shm_ring_shape *bulk = &team->shape.ring[CO_SHM_BULK];
        char *area = team->area, *base = (char *)self->node->segment.base;
        team->area = co_shm_node_area(self->node, self->node->plan.entries - 1);
        char *first = co_shm_lane(team, self->size - 1) + bulk->offset;
        SHM_CHECK(bulk->mask + 1 == CO_SHM_HEADS_HERE);
        SHM_CHECK(first + (bulk->mask + 1) * CO_SHM_FRAGMENT == base + self->node->segment.bytes);
        co_store_relaxed(&co_shm_control(team, self->size - 1)->memory,
                         (uint64_t)(first - base) | (uint64_t)__builtin_ctzll(bulk->mask + 1));
        struct co_shm_slots slots;
        SHM_CHECK(co_shm_find_slots(team, self->size - 1, &slots) && slots.first == first);
        SHM_CHECK(slots.mask == bulk->mask && slots.heads == co_shm_control(team, self->size - 1)->heads);
        team->area = area;
    }
    shm_job_barrier(self);
    co_shm_team_close(team);
    return 0;
}

static void the_last_slots_are_in_the_memory(void **state)
{
    struct shm_job_options options = {.size = 8, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run(&options, read_the_last_lane), 0);
}

static void no_slot_beside_the_memory(void **state)
{
    struct shm_job_options options = {.size = 2, .threads = true, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run(&options, write_where_there_is_not), 0);
}

static void no_byte_beside_the_block(void **state)
{
    struct shm_job_options options = {.size = 2, .threads = true, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run(&options, ask_for_what_there_is_not), 0);
}

static void readers_of_a_stream_come_first(void **state)
{
    struct shm_job_options options = {.size = 2, .threads = true, .single_copy = CO_NO};

    (void)state;
    assert_int_equal(shm_job_run(&options, wait_for_readers), 0);
}

static void run(int size, unsigned ranks)
{
    struct losers losers = {ranks};
    struct shm_job_options options = {.size = size, .single_copy = CO_AUTO, .argument = &losers};

    assert_int_equal(shm_job_run(&options, run_large), 0);
    assert_int_equal(shm_job_names_left(), 0);
}

static void nobody_may_copy(void **state)
{
    (void)state;
    run(2, 3);
    run(3, 7);
    run(8, 255); // with less than a page in each lane
}

static void some_may_copy(void **state)
{
    (void)state;
    run(2, 1);
    run(2, 2);
    run(4, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_a_stream_come_first),
        cmocka_unit_test(no_byte_beside_the_block),
        cmocka_unit_test(the_last_slots_are_in_the_memory),
        cmocka_unit_test(no_slot_beside_the_memory),
        cmocka_unit_test(nobody_may_copy),
        cmocka_unit_test(some_may_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
