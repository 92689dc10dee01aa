// SPDX-License-Identifier: BSD-3-Clause
//
// Which ranks share a node, and where proxies listen, from what ranks say of themselves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/api/offload_nodes.h"

enum { RANKS = 6 };

static struct co_offload_fact facts[RANKS];
static struct co_offload_job job;
static struct co_offload_job_rank ranks[RANKS];

static uint32_t on_wire(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    const uint8_t bytes[4] = {a, b, c, d};
    uint32_t address;
    memcpy(&address, bytes, sizeof address);
    return address;
}

// Ranks 0, 2 and 4 on a host, 1 and 5 on another, 3 alone, each with a core of its own.
static int begin(void **state)
{
    static const int host_of[RANKS] = {0, 1, 0, 2, 0, 1};
    (void)state;
    memset(facts, 0, sizeof facts);
    memset(&job, 0, sizeof job);
    for (int i = 0; i < RANKS; i++) {
        facts[i].boot[0] = (char)('a' + host_of[i]);
        facts[i].process = 100 + (uint32_t)i;
        facts[i].cores[0] = (uint8_t)(1 << i);
        facts[i].at[0].address = on_wire(127, 9, 9, (uint8_t)host_of[i]);
        facts[i].at[0].mask = UINT32_MAX; // nobody else's
        facts[i].at[1].address = on_wire(10, 0, 0, (uint8_t)(1 + host_of[i]));
        facts[i].at[1].mask = on_wire(255, 255, 255, 0);
    }
    return 0;
}

static void a_host_is_a_node(void **state)
{
    (void)state;
    static const int first[RANKS] = {0, 1, 0, 3, 0, 1};
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(co_offload_node_first(facts, i), first[i]);
    }
    co_offload_node_describe(facts, RANKS, 5, &job, ranks);
    assert_int_equal(job.proxies, 3);
    assert_int_equal(job.self, 1);
    assert_int_equal(job.ranks, RANKS);
    assert_int_equal(job.rank_cores[0], 0x22);
    assert_int_equal(ranks[4].proxy, 0);
    assert_int_equal(ranks[4].process, 0);
    assert_int_equal(ranks[3].proxy, 2);
    assert_int_equal(ranks[1].process, 101);
    assert_int_equal(ranks[5].process, 105);
    assert_string_equal(job.place, "10.0.0.2:0");
}

static void namespaces_are_hosts(void **state)
{
    (void)state;
    facts[2].networks = 1;
    facts[4].process_numbers = 1;
    assert_int_equal(co_offload_node_first(facts, 2), 2);
    assert_int_equal(co_offload_node_first(facts, 4), 4);
}

static void a_host_may_be_several_nodes(void **state)
{
    (void)state;
    static const int first[RANKS] = {0, 1, 0, 3, 4, 1};
    facts[0].node_ranks = 2;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(co_offload_node_first(facts, i), first[i]);
    }
    co_offload_node_describe(facts, RANKS, 4, &job, ranks);
    assert_int_equal(job.proxies, 4);
    assert_int_equal(ranks[2].process, 0); // of the host, and not of the node
    assert_int_equal(job.rank_cores[0], 0x15);
}

// Ranks of a node take its proxies in turn; a node of fewer ranks has fewer.
static void a_node_may_have_several_proxies(void **state)
{
    (void)state;
    static const int first[RANKS] = {0, 1, 2, 3, 0, 5}, in_nodes[RANKS] = {0, 1, 2, 3, 4, 5};
    facts[0].node_proxies = 2;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(co_offload_node_first(facts, i), first[i]);
    }
    co_offload_node_describe(facts, RANKS, 4, &job, ranks);
    assert_int_equal(job.proxies, 5);
    assert_int_equal(job.self, 0);
    assert_int_equal(ranks[2].process, 0); // of the node, and of another proxy
    assert_int_equal(ranks[0].process, 100);
    assert_int_equal(job.rank_cores[0], 0x15);
    facts[0].node_ranks = 2;
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(co_offload_node_first(facts, i), in_nodes[i]);
    }
}

static void a_place_is_where_most_others_are(void **state)
{
    (void)state;
    char place[CO_OFFLOAD_PLACE_BYTES];

    co_offload_node_place(facts, RANKS, 3, 4000, place);
    assert_string_equal(place, "10.0.0.3:4000");
    facts[3].at[1].address = on_wire(10, 0, 1, 3); // in nobody's network: the first it has
    co_offload_node_place(facts, RANKS, 3, 4000, place);
    assert_string_equal(place, "127.9.9.2:4000");
    memset(facts[3].at, 0, sizeof facts[3].at);
    co_offload_node_place(facts, RANKS, 3, 4000, place);
    assert_string_equal(place, "");
    for (int i = 0; i < RANKS; i++) { // all on one host
        facts[i].boot[0] = 'x';
    }
    facts[0].node_ranks = 1;
    co_offload_node_place(facts, RANKS, 3, 0, place);
    assert_string_equal(place, "127.0.0.1:0");
}

// Docker's bridge has the same address on each host, and stands before the network that they share.
static void a_bridge_that_all_have_is_no_place(void **state)
{
    (void)state;
    char place[CO_OFFLOAD_PLACE_BYTES];

    for (int i = 0; i < RANKS; i++) {
        facts[i].at[0].address = on_wire(172, 17, 0, 1);
        facts[i].at[0].mask = on_wire(255, 255, 0, 0);
    }
    co_offload_node_place(facts, RANKS, 1, 4000, place);
    assert_string_equal(place, "10.0.0.2:4000");
}

static void this_process_knows_itself(void **state)
{
    (void)state;
    struct co_offload_fact fact, none;
    memset(&fact, 0, sizeof fact);
    memset(&none, 0, sizeof none);
    assert_int_equal(co_offload_fact_read(&fact, ""), 0);
    assert_int_equal(fact.process, getpid());
    assert_int_not_equal(fact.boot[0], 0);
    assert_int_equal(co_offload_fact_read(&none, "no-such0"), 0);
    assert_int_equal(none.at[0].address, 0);
    assert_memory_equal(fact.boot, none.boot, sizeof fact.boot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_host_is_a_node, begin),
        cmocka_unit_test_setup(namespaces_are_hosts, begin),
        cmocka_unit_test_setup(a_host_may_be_several_nodes, begin),
        cmocka_unit_test_setup(a_node_may_have_several_proxies, begin),
        cmocka_unit_test_setup(a_place_is_where_most_others_are, begin),
        cmocka_unit_test_setup(a_bridge_that_all_have_is_no_place, begin),
        cmocka_unit_test(this_process_knows_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
