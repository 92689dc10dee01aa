// SPDX-License-Identifier: BSD-3-Clause
//
// The decision: every reason by the fact that brings it, the table's order, and what a setting may overrule.
#include "engine/decide/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"
#include "engine/decide/tune_table.h"

static const struct co_team_facts one_node = {.ranks = 4,
                                              .nodes = 1,
                                              .max_ranks_per_node = 4,
                                              .transport = CO_TRANSPORT_SHM,
                                              .has_multicast = false,
                                              .has_shm = true};
static const struct co_team_facts hosts = {.ranks = 8,
                                           .nodes = 8,
                                           .max_ranks_per_node = 1,
                                           .transport = CO_TRANSPORT_UDP,
                                           .has_multicast = true,
                                           .has_shm = false};
static const struct co_team_facts mixed = {.ranks = 8,
                                           .nodes = 2,
                                           .max_ranks_per_node = 4,
                                           .transport = CO_TRANSPORT_UDP,
                                           .has_multicast = true,
                                           .has_shm = true};

static struct co_tune_table table;

static void use(const char *text)
{
    char why[160];
    assert_int_equal(co_tune_table_parse(&table, text, strlen(text), why, sizeof why), 0);
}

static void takes_where_nothing_speaks_against(void **state)
{
    (void)state;
    use("");
    assert_int_equal(co_decide(&table, &one_node, CO_CALL_BCAST, 1, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER, 1 << 20, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &mixed, CO_CALL_IALLGATHER, 8, CO_YES), CO_TAKE);
}

// Rows of other calls and places between them change nothing: the first of the table that fits decides.
static void the_first_row_of_a_call_decides(void **state)
{
    (void)state;
    use("allgather node ranks 2- bytes 1-99 decline\n"
        "bcast hosts ranks 2- bytes 1-99 decline\n"
        "bcast node ranks 2- bytes 50-60 take\n"
        "ibcast node ranks 2- bytes 1- decline\n"
        "bcast node ranks 2- bytes 1-99 decline\n"
        "bcast hosts ranks 2- bytes 1-9999 take\n"
        "allgather node ranks 2- bytes 1-9999 take\n"
        "bcast node ranks 2- bytes 90- decline\n");
    static const struct {
        const struct co_team_facts *facts;
        enum co_call call;
        size_t bytes;
        enum co_reason reason;
    } cases[] = {
        {&one_node, CO_CALL_BCAST, 50, CO_TAKE},
        {&one_node, CO_CALL_BCAST, 61, CO_TOO_SMALL},
        {&one_node, CO_CALL_BCAST, 90, CO_TOO_SMALL},
        {&one_node, CO_CALL_BCAST, 100, CO_TOO_LARGE},
        {&hosts, CO_CALL_BCAST, 50, CO_TOO_SMALL},
        {&hosts, CO_CALL_BCAST, 100, CO_TAKE},
        {&one_node, CO_CALL_ALLGATHER, 9, CO_TOO_SMALL},
        {&one_node, CO_CALL_ALLGATHER, 100, CO_TAKE},
        {&hosts, CO_CALL_ALLGATHER, 9, CO_TAKE},
        {&one_node, CO_CALL_IBCAST, 9, CO_STOCK_FASTER},
        {&hosts, CO_CALL_IBCAST, 9, CO_TAKE},
        {&one_node, CO_CALL_IALLGATHER, 9, CO_TAKE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(co_decide(&table, cases[i].facts, cases[i].call, cases[i].bytes, CO_AUTO), cases[i].reason);
    }
}

static void names_what_speaks_against(void **state)
{
    (void)state;
    use("");
    struct co_team_facts facts = hosts;
    for (int policy = CO_AUTO; policy <= CO_YES; policy++) {
        facts = hosts;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 0, policy), CO_ZERO_BYTES);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, SIZE_MAX, policy), CO_TOO_LARGE);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLGATHER, PTRDIFF_MAX / 8 + 1, policy), CO_TOO_LARGE);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, PTRDIFF_MAX / 8 + 1, policy), CO_TAKE);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, PTRDIFF_MAX / 8 + 1, policy), CO_TAKE);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLGATHERV, PTRDIFF_MAX / 8 + 1, policy), CO_TOO_LARGE);
        facts.has_multicast = false;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, policy), CO_NO_MULTICAST);
        facts = one_node;
        facts.has_shm = false;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, policy), CO_NO_TRANSPORT);
        facts = mixed;
        facts.has_shm = false;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, policy), CO_NO_TRANSPORT);
        facts.ranks = facts.nodes = facts.max_ranks_per_node = 1;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, policy), CO_ONE_RANK);
    }
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 8, CO_NO), CO_DISABLED);
}

static void first_fitting_row_decides(void **state)
{
    (void)state;
    use("bcast hosts ranks 8 bytes 100-200 take\n"
        "bcast hosts ranks 2-16 bytes 1-4096 decline\n"
        "bcast hosts ranks 2- bytes 8192-16384 decline\n"
        "bcast hosts ranks 2- bytes 1048576- decline\n"
        "allgather hosts ranks 2- bytes 1- decline\n");
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 99, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 100, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 200, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 4096, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 4097, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 8192, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 1 << 20, CO_AUTO), CO_TOO_LARGE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER, 5, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_IALLGATHER, 5, CO_AUTO), CO_TAKE); // rows are per call
    assert_int_equal(co_decide(&table, &one_node, CO_CALL_BCAST, 5, CO_AUTO), CO_TAKE);   // and per place
    assert_int_equal(co_decide(&table, &mixed, CO_CALL_BCAST, 5, CO_AUTO), CO_TOO_SMALL); // of any ranks per node
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 5, CO_YES), CO_TAKE);       // yes overrules the table
}

// Its setting is its own.
static void a_persistent_one_goes_by_the_rows_of_its_starts(void **state)
{
    (void)state;
    use("ibcast hosts ranks 2- bytes 1-4096 decline\n"
        "iallgather hosts ranks 2- bytes 1-100 decline\n"
        "iallgatherv hosts ranks 2- bytes 1-200 decline\n"
        "allgatherv hosts ranks 2- bytes 1- decline\n");
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST_INIT, 4096, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST_INIT, 4097, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER_INIT, 100, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER_INIT, 101, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHERV_INIT, 200, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHERV_INIT, 201, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST_INIT, 8, CO_YES), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST_INIT, 0, CO_NO), CO_DISABLED);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST_INIT, PTRDIFF_MAX / 8 + 1, CO_YES), CO_TAKE); // has a root
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER_INIT, PTRDIFF_MAX / 2, CO_YES), CO_TOO_LARGE);
    for (enum co_call call = CO_CALL_BCAST_INIT; call < CO_CALL_COUNT; call++) {
        assert_true(co_call_is_nonblocking(call));
    }
}

// Whatever else carries the communicator's bytes; and of nothing else's.
static void proxies_carry_what_they_carry(void **state)
{
    (void)state;
    use("ialltoall hosts ranks 2- transport proxy bytes 1-99 decline\n"
        "ialltoallv hosts ranks 2- transport proxy bytes 1- decline\n"
        "bcast hosts ranks 2- transport udp bytes 1-8 decline\n");
    struct co_team_facts facts = hosts;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 100, CO_YES), CO_NO_PROXY);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 0, CO_AUTO), CO_NO_PROXY);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLTOALLV_INIT, 1, CO_AUTO), CO_NO_PROXY);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 100, CO_NO), CO_DISABLED);
    facts.has_proxies = true;
    facts.has_multicast = facts.has_shm = false;
    facts.max_ranks_per_node = 2;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 99, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 100, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLTOALL_INIT, 99, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 1, CO_YES), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 0, CO_YES), CO_ZERO_BYTES);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, PTRDIFF_MAX / 2, CO_YES), CO_TOO_LARGE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALLV, 1, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALLV, 1, CO_YES), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 100, CO_AUTO), CO_NO_MULTICAST);
}

// By its setting, or by a row that says so; then nothing that the engine lacks stands in the way.
static void proxies_carry_what_they_are_asked_to(void **state)
{
    (void)state;
    use("ibcast hosts ranks 2- transport proxy bytes 100-199 take\n"
        "ibcast hosts ranks 2- transport proxy bytes 200-299 decline\n"
        "ibcast hosts ranks 2- transport udp bytes 150- decline\n");
    struct co_team_facts facts = hosts;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 100, CO_BY_PROXIES), CO_NO_PROXY);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLGATHERV_INIT, 0, CO_BY_PROXIES), CO_NO_PROXY);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 149, CO_AUTO), CO_TAKE); // the rows of proxies are none
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 150, CO_AUTO), CO_TOO_LARGE);
    assert_false(co_decide_by_proxies(&table, &facts, CO_CALL_IBCAST, 100, CO_AUTO));
    facts.has_proxies = true;
    facts.has_multicast = facts.has_shm = false;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 99, CO_AUTO), CO_NO_MULTICAST);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 199, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IBCAST, 200, CO_AUTO), CO_STOCK_FASTER);
    assert_true(co_decide_by_proxies(&table, &facts, CO_CALL_IBCAST, 199, CO_AUTO));
    assert_false(co_decide_by_proxies(&table, &facts, CO_CALL_IBCAST, 99, CO_AUTO));
    assert_false(co_decide_by_proxies(&table, &facts, CO_CALL_IBCAST, 199, CO_YES));
    assert_true(co_decide_by_proxies(&table, &facts, CO_CALL_IBCAST, 99, CO_BY_PROXIES));
    assert_true(co_decide_by_proxies(&table, &facts, CO_CALL_IALLTOALL, 99, CO_YES));
    // Of persistent ones only settings say it.
    assert_false(co_decide_by_proxies(&table, &facts, CO_CALL_BCAST_INIT, 199, CO_AUTO));
    assert_true(co_decide_by_proxies(&table, &facts, CO_CALL_BCAST_INIT, 0, CO_BY_PROXIES));
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST_INIT, 8, CO_BY_PROXIES), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLGATHER, PTRDIFF_MAX / 2, CO_BY_PROXIES), CO_TOO_LARGE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLGATHER, 0, CO_BY_PROXIES), CO_ZERO_BYTES);
}

// What is not measured is not taken: proxies have to be wanted, and then it is large blocks between hosts.
static void the_built_in_rows_of_proxies(void **state)
{
    (void)state;
    co_tune_table_built_in(&table);
    struct co_team_facts facts = hosts, node = one_node;
    facts.has_proxies = node.has_proxies = true;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 32767, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALL, 32768, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &node, CO_CALL_IALLTOALL, 1 << 20, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLTOALLV, 1, CO_AUTO), CO_STOCK_FASTER);
}

static void ranks_bound_a_row(void **state)
{
    (void)state;
    use("bcast node ranks 2-3 bytes 1-4096 decline\n");
    struct co_team_facts facts = one_node;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_TAKE);
    facts.ranks = facts.max_ranks_per_node = 3;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_TOO_SMALL);
}

static void ranks_per_node_bound_a_row(void **state)
{
    (void)state;
    use("bcast hosts ranks 2- ranks_per_node 1 bytes 1-64 decline\n"
        "bcast hosts ranks 2- ranks_per_node 3-4 bytes 1-512 decline\n"
        "bcast mixed ranks 2- bytes 1024-2048 decline\n"
        "bcast node ranks 2- ranks_per_node 4- bytes 1-8 decline\n");
    struct co_team_facts facts = mixed;
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 64, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 65, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_BCAST, 1024, CO_AUTO), CO_TAKE);
    for (int most = 2; most <= 5; most++) {
        facts.max_ranks_per_node = most;
        enum co_reason expected = most == 3 || most == 4 ? CO_TOO_SMALL : CO_TAKE;
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 64, CO_AUTO), expected);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 512, CO_AUTO), expected);
        assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 1024, CO_AUTO), CO_STOCK_FASTER);
    }
    facts = one_node;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_TOO_SMALL);
    facts.ranks = facts.max_ranks_per_node = 3;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_TAKE);
}

static void transport_bounds_a_row(void **state)
{
    (void)state;
    use("bcast hosts ranks 2- transport verbs bytes 1-64 decline\n"
        "bcast hosts ranks 2- transport udp bytes 1-16 decline\n"
        "allgather hosts ranks 2- transport any bytes 1-4 decline\n"
        "bcast node ranks 2- transport shm bytes 1-8 decline\n");
    struct co_team_facts facts = hosts;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 16, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 64, CO_AUTO), CO_TAKE);
    facts.transport = CO_TRANSPORT_VERBS;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 64, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_ALLGATHER, 4, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &one_node, CO_CALL_BCAST, 8, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &one_node, CO_CALL_BCAST, 9, CO_AUTO), CO_TAKE);
}

static void transports_have_names(void **state)
{
    (void)state;
    for (int transport = 0; transport < CO_TRANSPORT_COUNT; transport++) {
        const char *text = co_transport_kind_text((enum co_transport_kind)transport);
        assert_int_equal(co_transport_kind_named(text, strlen(text)), transport);
        assert_int_equal(co_transport_kind_named(text, strlen(text) - 1), CO_TRANSPORT_COUNT);
    }
    assert_int_equal(co_transport_kind_named("udp", 3), CO_TRANSPORT_UDP);
    assert_int_equal(co_transport_kind_named("lossy", 5), CO_TRANSPORT_COUNT);
    assert_int_equal(co_transport_kind_named("", 0), CO_TRANSPORT_COUNT);
    assert_string_equal(co_transport_kind_text(CO_TRANSPORT_COUNT), "unknown_transport");
}

static void built_in_rows_tell_ranks_per_node(void **state)
{
    (void)state;
    co_tune_table_built_in(&table);
    struct co_team_facts two_hosts = mixed, four_hosts = mixed;
    two_hosts.ranks = 4;
    two_hosts.max_ranks_per_node = four_hosts.max_ranks_per_node = 2;
    four_hosts.nodes = 4;
    assert_int_equal(co_decide(&table, &two_hosts, CO_CALL_BCAST, 8, CO_AUTO), CO_TOO_SMALL);
    assert_int_equal(co_decide(&table, &two_hosts, CO_CALL_BCAST, 1 << 16, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &two_hosts, CO_CALL_BCAST, 1 << 20, CO_AUTO), CO_TOO_LARGE);
    assert_int_equal(co_decide(&table, &four_hosts, CO_CALL_BCAST, 8, CO_AUTO), CO_TAKE);
    two_hosts.ranks = 2;
    two_hosts.max_ranks_per_node = 1;
    assert_int_equal(co_decide(&table, &two_hosts, CO_CALL_BCAST, 1 << 16, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &hosts, CO_CALL_ALLGATHER, 8192, CO_AUTO), CO_STOCK_FASTER); // one rank each
    assert_int_equal(co_decide(&table, &four_hosts, CO_CALL_ALLGATHER, 8192, CO_AUTO), CO_TAKE);
}

static void words_of_the_report(void **state)
{
    (void)state;
    assert_string_equal(co_call_text(CO_CALL_IALLGATHER), "MPI_Iallgather");
    assert_string_equal(co_reason_text(CO_TOO_SMALL), "too_small");
    assert_string_equal(co_reason_text(CO_NO_MEMORY), "no_memory_at_creation");
    for (int reason = 0; reason < CO_REASON_COUNT; reason++) {
        assert_non_null(co_reason_text((enum co_reason)reason));
    }
    assert_string_equal(co_reason_text(CO_REASON_COUNT), "unknown_reason");
}

static void messages_are_decided_by_communicator(void **state)
{
    const struct co_message_ways all = {true, true, false}, rings = {true, false, false}, none = {false, false, false};
    const struct co_message_ways devices = {.on_devices = true};
    struct co_team_facts crowded = one_node;

    (void)state;
    crowded.is_oversubscribed = true;
    assert_int_equal(co_decide_messages(&one_node, &all, CO_NO), CO_DISABLED);
    assert_int_equal(co_decide_messages(&one_node, &rings, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide_messages(&one_node, &none, CO_AUTO), CO_NO_TRANSPORT);
    assert_int_equal(co_decide_messages(&one_node, &devices, CO_YES), CO_DEVICE_MEMORY);
    assert_int_equal(co_decide_messages(&one_node, &devices, CO_NO), CO_DISABLED);
    assert_int_equal(co_decide_messages(&crowded, &all, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide_messages(&crowded, &all, CO_YES), CO_TAKE);
    for (const struct co_team_facts *facts = &hosts; facts != NULL; facts = facts == &hosts ? &mixed : NULL) {
        assert_int_equal(co_decide_messages(facts, &all, CO_AUTO), CO_STOCK_FASTER);
        assert_int_equal(co_decide_messages(facts, &all, CO_YES), CO_TAKE);
        assert_int_equal(co_decide_messages(facts, &rings, CO_YES), CO_SEVERAL_NODES);
    }
}

static void test_a_nearer_native_keeps_what_nothing_else_decides(void **state)
{
    (void)state;
    use("bcast hosts ranks 8-8 bytes 100- take\nbcast hosts ranks 8-8 bytes 50-60 decline\n");
    struct co_team_facts facts = hosts, node = one_node;
    facts.has_nearer_native = node.has_nearer_native = true;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_NATIVE_NEARER);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 55, CO_AUTO), CO_STOCK_FASTER);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 100, CO_AUTO), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_YES), CO_TAKE);
    assert_int_equal(co_decide(&table, &facts, CO_CALL_IALLGATHER, 8, CO_AUTO), CO_NATIVE_NEARER);
    assert_int_equal(co_decide(&table, &node, CO_CALL_BCAST, 8, CO_AUTO), CO_TAKE);
    facts.has_multicast = false;
    assert_int_equal(co_decide(&table, &facts, CO_CALL_BCAST, 8, CO_AUTO), CO_NO_MULTICAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_where_nothing_speaks_against),
        cmocka_unit_test(the_first_row_of_a_call_decides),
        cmocka_unit_test(names_what_speaks_against),
        cmocka_unit_test(first_fitting_row_decides),
        cmocka_unit_test(a_persistent_one_goes_by_the_rows_of_its_starts),
        cmocka_unit_test(proxies_carry_what_they_carry),
        cmocka_unit_test(proxies_carry_what_they_are_asked_to),
        cmocka_unit_test(the_built_in_rows_of_proxies),
        cmocka_unit_test(ranks_bound_a_row),
        cmocka_unit_test(ranks_per_node_bound_a_row),
        cmocka_unit_test(transport_bounds_a_row),
        cmocka_unit_test(transports_have_names),
        cmocka_unit_test(built_in_rows_tell_ranks_per_node),
        cmocka_unit_test(words_of_the_report),
        cmocka_unit_test(messages_are_decided_by_communicator),
        cmocka_unit_test(test_a_nearer_native_keeps_what_nothing_else_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
