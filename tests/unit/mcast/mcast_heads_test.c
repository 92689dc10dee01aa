// SPDX-License-Identifier: BSD-3-Clause
//
// The head of a datagram is decoded once, whatever way it takes: to its place, landed in it, into staging, out of a
// neighbour's memory, as a repair, a contribution or a control message, of a team that has no group yet, damaged,
// repeated and forged. Of what comes together most heads are only compared.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "head_counts.h"
#include "mcast_seeds.h"
#include "mcast_world.h"

enum { MANY = 6, LONG = 200000 };

static uint64_t reads; // of neighbours' memory, in the last world

static struct head_counts once_each(void)
{
    struct head_counts counts = head_counts_take();
    assert_true(counts.datagrams > 0);
    assert_in_range(counts.decoded, 1, counts.datagrams);
    assert_int_equal(counts.twice, 0);
    assert_int_equal(counts.outside, 0);
    return counts;
}

// Broadcasts and allgathers, large and small, of which members begin one after the other.
static struct head_counts talk(const struct world_options *options)
{
    struct world world;
    head_counts_take();
    world_open(&world, options);
    for (int root = 0; root < 3; root++) {
        world_bcast(&world, root, LONG, (unsigned)root);
        world_allgather(&world, LONG / 10, (unsigned)root);
        world_allgather(&world, 40, (unsigned)root);
    }
    world_settle(&world, UINT64_C(60000000000));
    reads = co_loopback_read_counts(world.hub).done;
    world_close(&world);
    return once_each();
}

static void of_each_form_of_tag(void **state)
{
    (void)state;
    for (int form = CO_AUTH_KEYED; form <= CO_AUTH_HEAD; form++) {
        struct world_options options = world_defaults(MANY);
        options.form = (enum co_auth_form)form;
        talk(&options);
        options.faults = form == CO_AUTH_HEAD ? "drop=0.03,dup=0.03,reorder=0.03,seed=5" // damage would go unnoticed
                                              : "drop=0.03,dup=0.03,reorder=0.03,corrupt=0.03,seed=5";
        talk(&options);
    }
}

static void of_what_comes_together_most_are_compared(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MANY);
    options.bytes_per_s = 0; // or one after the other would come
    struct head_counts counts = talk(&options);
    assert_true(counts.decoded < counts.datagrams / 2);
}

static void of_what_lands_in_its_place(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MANY);
    options.form = CO_AUTH_HEAD;
    assert_true(talk(&options).landed > 0);
    options.faults = "drop=0.03,dup=0.03,reorder=0.03,seed=6";
    talk(&options);
}

static void of_what_is_read_from_a_neighbour(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MANY);
    options.like_verbs = options.has_reads = true;
    options.faults = "drop=0.03,kind=data,seed=7";
    talk(&options);
    assert_true(reads > 0);
}

static void of_contributions_to_a_collector(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MANY);
    options.collect_bytes = 4000;
    talk(&options);
}

static void of_a_team_without_its_group(void **state)
{
    (void)state;
    struct job *job = open_job("drop=0.1,seed=8");
    uint64_t early = co_counter_read(CO_COUNT_DATA_EARLY);
    head_counts_take();
    bcast(job, 0, 0);
    pass(job, SECOND_NS / 100);
    assert_true(co_counter_read(CO_COUNT_DATA_EARLY) > early); // in staging, until the others begin
    for (int rank = 1; rank < MEMBERS; rank++) {
        bcast(job, rank, 0);
    }
    finish_bcast(job);
    once_each();
    close_job(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_each_form_of_tag),
        cmocka_unit_test(of_what_comes_together_most_are_compared),
        cmocka_unit_test(of_what_lands_in_its_place),
        cmocka_unit_test(of_what_is_read_from_a_neighbour),
        cmocka_unit_test(of_contributions_to_a_collector),
        cmocka_unit_test(of_a_team_without_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
