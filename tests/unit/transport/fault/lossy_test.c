// SPDX-License-Identifier: BSD-3-Clause
//
// The fault injector over the loopback transport in virtual time: rates, kinds, scripts, holding, sameness for a seed,
// and what must not change (no fault: every byte passes; the caller's bytes stay as they are).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "lossy_net.h"

static void no_fault_changes_nothing(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("", (struct co_loopback_config){0});
    uint64_t faults = co_counter_read(CO_COUNT_FAULTS_INJECTED);

    assert_int_equal(lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 1000), 1000);
    assert_int_equal(lossy_net_receive(&net), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(lossy_seen.numbers[i], i);
    }
    assert_int_equal(lossy_seen.damaged + lossy_seen.shortened, 0);
    assert_int_equal(co_counter_read(CO_COUNT_FAULTS_INJECTED), faults);
    lossy_net_close(&net);
}

static void rates_come_out(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("drop=0.1,seed=5", (struct co_loopback_config){0});
    uint64_t faults = co_counter_read(CO_COUNT_FAULTS_INJECTED);

    assert_int_equal(lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10000), 10000);
    assert_in_range(lossy_net_receive(&net), 8850, 9150); // five standard deviations
    assert_int_equal(co_counter_read(CO_COUNT_FAULTS_INJECTED) - faults, 10000 - lossy_seen.count);
    lossy_net_close(&net);
}

static void one_seed_one_fate(void **state)
{
    (void)state;
    static uint32_t first[LOSSY_SEEN_MAX];
    unsigned count = 0;

    for (int round = 0; round < 3; round++) {
        struct lossy_net net =
            lossy_net_open(round < 2 ? "drop=0.2,seed=9" : "drop=0.2,seed=10", (struct co_loopback_config){0});
        lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 1000);
        lossy_net_receive(&net);
        if (round == 0) {
            count = lossy_seen.count;
            memcpy(first, lossy_seen.numbers, sizeof first);
        } else if (round == 1) {
            assert_int_equal(lossy_seen.count, count);
            assert_memory_equal(first, lossy_seen.numbers, count * sizeof first[0]);
        } else {
            assert_memory_not_equal(first, lossy_seen.numbers, count * sizeof first[0]);
        }
        lossy_net_close(&net);
    }
}

static void immediates_stay_with_their_datagrams(void **state)
{
    (void)state;
    struct lossy_net net =
        lossy_net_open("dup=0.5,reorder=0.3,seed=4", (struct co_loopback_config){.like_verbs = true});

    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, i, 1), 1);
    }
    lossy_net_let_time_pass(&net);
    assert_in_range(lossy_net_receive(&net), 201, 399);
    assert_int_equal(lossy_seen.with_immediate, lossy_seen.count);
    lossy_net_close(&net);
}

// A full queue below refuses some; offered again they meet the fate that they would have met at once.
static void back_pressure_does_not_change_fate(void **state)
{
    (void)state;
    static uint32_t free_run[LOSSY_SEEN_MAX];
    struct lossy_net net = lossy_net_open("drop=0.2,corrupt=0.1,seed=4", (struct co_loopback_config){0});
    lossy_net_send(&net, lossy_to_peer, CO_FAULT_DATA, 0, 500);
    unsigned count = lossy_net_receive(&net), refusals = 0;

    memcpy(free_run, lossy_seen.numbers, sizeof free_run);
    lossy_net_close(&net);
    net = lossy_net_open("drop=0.2,corrupt=0.1,seed=4",
                         (struct co_loopback_config){.bytes_per_s = 1000000000, .egress_queue_bytes = 550});
    for (uint32_t sent = 0; sent < 500;) {
        unsigned taken = lossy_net_send(&net, lossy_to_peer, CO_FAULT_DATA, sent, 500 - sent);
        sent += taken;
        if (sent < 500) {
            refusals++;
            co_loopback_advance(net.hub, co_loopback_next_ns(net.hub));
        }
    }
    lossy_net_let_time_pass(&net);
    assert_true(refusals > 10);
    assert_int_equal(lossy_net_receive(&net), count);
    assert_memory_equal(free_run, lossy_seen.numbers, count * sizeof free_run[0]);
    lossy_net_close(&net);
}

static void everything_twice(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("dup=1", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 320);
    assert_int_equal(lossy_net_receive(&net), 640);
    for (uint32_t i = 0; i < 320; i++) {
        assert_true(lossy_net_saw(i));
    }
    lossy_net_close(&net);
}

static void second_copies_survive_a_full_queue(void **state)
{
    (void)state;
    struct lossy_net net =
        lossy_net_open("dup=1", (struct co_loopback_config){.bytes_per_s = 1000000, .egress_queue_bytes = 100});

    assert_int_equal(lossy_net_send(&net, lossy_to_peer, CO_FAULT_DATA, 0, 1), 1);
    lossy_net_let_time_pass(&net);
    assert_int_equal(lossy_net_receive(&net), 2);
    lossy_net_close(&net);
}

static void delayed_ones_come_when_due(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("delay=1:3ms", (struct co_loopback_config){0});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10);
    assert_int_equal(lossy_net_receive(&net), 0);
    assert_int_equal(net.sender->ops->next_event_ns(net.sender), start_ns + 3000000);
    co_loopback_advance(net.hub, start_ns + 2999999);
    lossy_net_poll_sender(&net);
    assert_int_equal(lossy_net_receive(&net), 0);
    co_loopback_advance(net.hub, start_ns + 3000000);
    lossy_net_poll_sender(&net);
    assert_int_equal(lossy_net_receive(&net), 10);
    assert_int_equal(lossy_seen.damaged, 0);
    assert_int_equal(net.sender->ops->next_event_ns(net.sender), 0);
    lossy_net_close(&net);
}

static void reordered_ones_are_overtaken(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("reorder=0.3,seed=2", (struct co_loopback_config){0});
    unsigned inversions = 0;

    for (uint32_t i = 0; i < 500; i++) {
        lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, i, 1);
        co_loopback_advance(net.hub, co_loopback_now_ns(net.hub) + 100000);
    }
    lossy_net_let_time_pass(&net);
    assert_int_equal(lossy_net_receive(&net), 500);
    for (uint32_t i = 0; i < 500; i++) {
        assert_true(lossy_net_saw(i));
        inversions += i > 0 && lossy_seen.numbers[i] < lossy_seen.numbers[i - 1];
    }
    assert_true(inversions > 50);
    lossy_net_close(&net);
}

static void corrupted_ones_differ_in_one_bit(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("corrupt=1,seed=3", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 200);
    assert_int_equal(lossy_net_receive(&net), 200);
    // A flip in the number or the kind byte is not noticed by the pattern; most are in the payload.
    assert_in_range(lossy_seen.damaged, 160, 200);
    lossy_net_close(&net);
}

static void truncated_ones_are_shorter(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("truncate=1", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 200);
    assert_int_equal(lossy_net_receive(&net), 0);
    assert_int_equal(lossy_seen.shortened, 200);
    lossy_net_close(&net);
}

static void blackhole_takes_multicast_only(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("blackhole_after=10", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_peer, CO_FAULT_CONTROL, 0, 20);
    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 100, 50);
    lossy_net_send(&net, lossy_to_peer, CO_FAULT_REPAIR, 200, 20);
    assert_int_equal(lossy_net_receive(&net), 20 + 10 + 20);
    assert_true(lossy_net_saw(109));
    assert_false(lossy_net_saw(110));
    lossy_net_close(&net);
}

static void kinds_limit_the_rates(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("drop=1,kind=repair+control", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10);
    lossy_net_send(&net, lossy_to_peer, CO_FAULT_REPAIR, 10, 10);
    lossy_net_send(&net, lossy_to_peer, CO_FAULT_CONTROL, 20, 10);
    assert_int_equal(lossy_net_receive(&net), 10);
    assert_true(lossy_net_saw(0) && lossy_net_saw(9) && !lossy_net_saw(10));
    lossy_net_close(&net);
}

static void script_drops_exactly_these(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("script=3:17:18", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_peer, CO_FAULT_REPAIR, 500, 10); // does not count
    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 40);
    assert_int_equal(lossy_net_receive(&net), 47);
    assert_true(!lossy_net_saw(3) && !lossy_net_saw(17) && !lossy_net_saw(18));
    assert_true(lossy_net_saw(2) && lossy_net_saw(4) && lossy_net_saw(16) && lossy_net_saw(19) && lossy_net_saw(503));
    lossy_net_close(&net);
}

static void other_ranks_than_the_victim_are_spared(void **state)
{
    (void)state;
    struct lossy_net net =
        lossy_net_open("drop=1,blackhole=1,script=0,rank=1", (struct co_loopback_config){0}); // the sender is 0

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10);
    assert_int_equal(lossy_net_receive(&net), 10);
    lossy_net_close(&net);
}

static void receivers_miss_what_arrives(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("", (struct co_loopback_config){0});
    lossy_net_mistreat_receiver(&net, "miss=0.1,seed=5,kind=data");
    uint64_t faults = co_counter_read(CO_COUNT_FAULTS_INJECTED);

    assert_int_equal(lossy_net_send(&net, lossy_to_peer, CO_FAULT_REPAIR, 0, 1000), 1000);
    assert_int_equal(lossy_net_receive(&net), 1000);
    assert_int_equal(lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10000), 10000);
    assert_in_range(lossy_net_receive(&net), 8850, 9150); // five standard deviations
    assert_int_equal(co_counter_read(CO_COUNT_FAULTS_INJECTED) - faults, 10000 - lossy_seen.count);
    assert_int_equal(lossy_seen.damaged + lossy_seen.shortened, 0);
    lossy_net_close(&net);
}

static void senders_miss_nothing(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("miss=1", (struct co_loopback_config){0});
    lossy_net_mistreat_receiver(&net, "miss=1,rank=0"); // it is 1

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 100);
    assert_int_equal(lossy_net_receive(&net), 100);
    lossy_net_close(&net);
}

static void name_by_street(const struct co_transport *transport, int rank, char *text, size_t room)
{
    (void)transport;
    snprintf(text, room, "rank %d (10.0.0.7)", rank);
}

// What is said of a peer that is gone names the same place with faults as without.
static void where_a_peer_is_comes_from_below(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("drop=0.1,seed=5", (struct co_loopback_config){0});
    struct co_transport *below = net.receiver, *over;
    const struct co_transport_ops *ops = below->ops;
    struct co_transport_ops named = *ops;
    struct co_fault_plan plan;
    char text[64] = "his own words";

    assert_int_equal(co_fault_plan_parse(&plan, "drop=0.1", NULL, 0), 0);
    assert_int_equal(co_lossy_open(&over, below, &plan, 1, NULL, NULL, NULL), 0);
    assert_non_null(over->ops->peer_text);
    over->ops->peer_text(over, 3, text, sizeof text);
    assert_string_equal(text, "his own words"); // nothing is known below
    named.peer_text = name_by_street;
    below->ops = &named;
    over->ops->peer_text(over, 3, text, sizeof text);
    assert_string_equal(text, "rank 3 (10.0.0.7)");
    below->ops = ops;
    net.receiver = over; // closes what is below it
    lossy_net_close(&net);
}

static void full_store_sends_at_once(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("delay=1:1s", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 1100);
    assert_int_equal(lossy_net_receive(&net), 1100 - 1024);
    lossy_net_let_time_pass(&net);
    assert_int_equal(lossy_net_receive(&net), 1024);
    lossy_net_close(&net);
}

static void held_ones_are_freed_at_close(void **state)
{
    (void)state;
    struct lossy_net net = lossy_net_open("delay=1:1s", (struct co_loopback_config){0});

    lossy_net_send(&net, lossy_to_group, CO_FAULT_DATA, 0, 10);
    lossy_net_close(&net); // the address sanitizer judges
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_fault_changes_nothing),
        cmocka_unit_test(rates_come_out),
        cmocka_unit_test(one_seed_one_fate),
        cmocka_unit_test(immediates_stay_with_their_datagrams),
        cmocka_unit_test(back_pressure_does_not_change_fate),
        cmocka_unit_test(everything_twice),
        cmocka_unit_test(second_copies_survive_a_full_queue),
        cmocka_unit_test(delayed_ones_come_when_due),
        cmocka_unit_test(reordered_ones_are_overtaken),
        cmocka_unit_test(corrupted_ones_differ_in_one_bit),
        cmocka_unit_test(truncated_ones_are_shorter),
        cmocka_unit_test(blackhole_takes_multicast_only),
        cmocka_unit_test(kinds_limit_the_rates),
        cmocka_unit_test(script_drops_exactly_these),
        cmocka_unit_test(other_ranks_than_the_victim_are_spared),
        cmocka_unit_test(receivers_miss_what_arrives),
        cmocka_unit_test(senders_miss_nothing),
        cmocka_unit_test(where_a_peer_is_comes_from_below),
        cmocka_unit_test(full_store_sends_at_once),
        cmocka_unit_test(held_ones_are_freed_at_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
