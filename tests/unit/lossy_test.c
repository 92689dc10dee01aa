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
#include "mcast/transport/loopback.h"
#include "mcast/transport/lossy.h"

#define DATAGRAM_BYTES 100
#define SEEN_MAX 20000

struct net {
    struct co_loopback_hub *hub;
    struct co_transport *sender, *receiver;
};

// What arrived, by the number that each datagram carries in its first bytes.
struct seen {
    unsigned count, damaged, shortened;
    uint32_t numbers[SEEN_MAX];
};

static const struct co_destination to_peer = {CO_TO_PEER, 1}, to_group = {CO_TO_GROUP, 3};
static struct seen seen;

static uint64_t hub_now(void *hub)
{
    return co_loopback_now_ns(hub);
}

// The test's datagrams say their kind in byte 4.
static enum co_fault_kind classify(struct co_destination to, const struct co_tx_datagram *datagram)
{
    (void)to;
    return ((const uint8_t *)datagram->head)[4];
}

static struct net open_net(const char *plan_text, struct co_loopback_config config)
{
    struct net net = {0};
    struct co_transport *below = NULL;
    struct co_fault_plan plan;
    char why[64];

    config.endpoints = 2;
    config.max_datagram_bytes = DATAGRAM_BYTES;
    assert_int_equal(co_fault_plan_parse(&plan, plan_text, why, sizeof why), 0);
    assert_int_equal(co_loopback_hub_open(&net.hub, &config), 0);
    assert_int_equal(co_loopback_endpoint_open(&below, net.hub, 0), 0);
    assert_int_equal(co_loopback_endpoint_open(&net.receiver, net.hub, 1), 0);
    assert_int_equal(net.receiver->ops->join(net.receiver, 3), 0);
    assert_int_equal(co_lossy_open(&net.sender, below, &plan, 0, classify, hub_now, net.hub), 0);
    return net;
}

static void close_net(struct net *net)
{
    net->sender->ops->close(net->sender);
    net->receiver->ops->close(net->receiver);
    co_loopback_hub_close(net->hub);
}

static uint8_t pattern(uint32_t number, size_t at)
{
    return (uint8_t)(number * 7 + at);
}

// Sends datagrams number first ... first + count - 1 in batches of 16 and returns how many were taken.
static unsigned send_numbers(struct net *net, struct co_destination to, enum co_fault_kind kind, uint32_t first,
                             unsigned count)
{
    unsigned taken = 0;

    while (taken < count) {
        uint8_t heads[16][8], payloads[16][DATAGRAM_BYTES - 8], before[16][DATAGRAM_BYTES - 8];
        struct co_tx_datagram batch[16];
        unsigned size = count - taken < 16 ? count - taken : 16;
        for (unsigned i = 0; i < size; i++) {
            uint32_t number = first + taken + i;
            memset(heads[i], 0, sizeof heads[i]);
            memcpy(heads[i], &number, sizeof number);
            heads[i][4] = (uint8_t)kind;
            for (size_t at = 0; at < sizeof payloads[i]; at++) {
                payloads[i][at] = pattern(number, at);
            }
            batch[i] = (struct co_tx_datagram){
                .head = heads[i], .head_bytes = 8, .payload = payloads[i], .payload_bytes = DATAGRAM_BYTES - 8};
        }
        memcpy(before, payloads, sizeof before);
        int result = net->sender->ops->send(net->sender, to, batch, size);
        assert_in_range(result, 0, size);
        assert_memory_equal(before, payloads, sizeof payloads[0] * size); // damage is done to copies
        taken += (unsigned)result;
        if (result < (int)size) {
            break;
        }
    }
    return taken;
}

static void note(void *arg, const uint8_t *data, size_t bytes)
{
    (void)arg;
    uint32_t number = UINT32_MAX;
    bool damaged = false;

    if (bytes != DATAGRAM_BYTES) {
        seen.shortened++;
        return;
    }
    memcpy(&number, data, sizeof number);
    for (size_t at = 0; at < DATAGRAM_BYTES - 8; at++) {
        damaged |= data[8 + at] != pattern(number, at);
    }
    damaged |= data[5] || data[6] || data[7] || number >= SEEN_MAX;
    seen.damaged += damaged;
    assert_true(seen.count < SEEN_MAX);
    seen.numbers[seen.count++] = number;
}

// Takes what has arrived.
static unsigned receive(struct net *net)
{
    seen = (struct seen){0};
    while (net->receiver->ops->poll(net->receiver, 64, note, NULL) > 0) {
    }
    return seen.count;
}

static bool saw(uint32_t number)
{
    for (unsigned i = 0; i < seen.count; i++) {
        if (seen.numbers[i] == number) {
            return true;
        }
    }
    return false;
}

// Moves the clock to what the sender waits for, until nothing is held any more.
static void let_time_pass(struct net *net)
{
    uint64_t next_ns;

    while ((next_ns = net->sender->ops->next_event_ns(net->sender)) != 0) {
        co_loopback_advance(net->hub, next_ns);
        net->sender->ops->poll(net->sender, 64, note, NULL);
    }
}

static void no_fault_changes_nothing(void **state)
{
    (void)state;
    struct net net = open_net("", (struct co_loopback_config){0});
    uint64_t faults = co_counter_read(CO_COUNT_FAULTS_INJECTED);

    assert_int_equal(send_numbers(&net, to_group, CO_FAULT_DATA, 0, 1000), 1000);
    assert_int_equal(receive(&net), 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(seen.numbers[i], i);
    }
    assert_int_equal(seen.damaged + seen.shortened, 0);
    assert_int_equal(co_counter_read(CO_COUNT_FAULTS_INJECTED), faults);
    close_net(&net);
}

static void rates_come_out(void **state)
{
    (void)state;
    struct net net = open_net("drop=0.1,seed=5", (struct co_loopback_config){0});
    uint64_t faults = co_counter_read(CO_COUNT_FAULTS_INJECTED);

    assert_int_equal(send_numbers(&net, to_group, CO_FAULT_DATA, 0, 10000), 10000);
    assert_in_range(receive(&net), 8850, 9150); // five standard deviations
    assert_int_equal(co_counter_read(CO_COUNT_FAULTS_INJECTED) - faults, 10000 - seen.count);
    close_net(&net);
}

static void one_seed_one_fate(void **state)
{
    (void)state;
    static uint32_t first[SEEN_MAX];
    unsigned count = 0;

    for (int round = 0; round < 3; round++) {
        struct net net = open_net(round < 2 ? "drop=0.2,seed=9" : "drop=0.2,seed=10", (struct co_loopback_config){0});
        send_numbers(&net, to_group, CO_FAULT_DATA, 0, 1000);
        receive(&net);
        if (round == 0) {
            count = seen.count;
            memcpy(first, seen.numbers, sizeof first);
        } else if (round == 1) {
            assert_int_equal(seen.count, count);
            assert_memory_equal(first, seen.numbers, count * sizeof first[0]);
        } else {
            assert_memory_not_equal(first, seen.numbers, count * sizeof first[0]);
        }
        close_net(&net);
    }
}

// A full queue below refuses some; offered again they meet the fate that they would have met at once.
static void back_pressure_does_not_change_fate(void **state)
{
    (void)state;
    static uint32_t free_run[SEEN_MAX];
    struct net net = open_net("drop=0.2,corrupt=0.1,seed=4", (struct co_loopback_config){0});
    send_numbers(&net, to_peer, CO_FAULT_DATA, 0, 500);
    unsigned count = receive(&net), refusals = 0;

    memcpy(free_run, seen.numbers, sizeof free_run);
    close_net(&net);
    net = open_net("drop=0.2,corrupt=0.1,seed=4",
                   (struct co_loopback_config){.bytes_per_s = 1000000000, .egress_queue_bytes = 550});
    for (uint32_t sent = 0; sent < 500;) {
        unsigned taken = send_numbers(&net, to_peer, CO_FAULT_DATA, sent, 500 - sent);
        sent += taken;
        if (sent < 500) {
            refusals++;
            co_loopback_advance(net.hub, co_loopback_next_ns(net.hub));
        }
    }
    let_time_pass(&net);
    assert_true(refusals > 10);
    assert_int_equal(receive(&net), count);
    assert_memory_equal(free_run, seen.numbers, count * sizeof free_run[0]);
    close_net(&net);
}

static void everything_twice(void **state)
{
    (void)state;
    struct net net = open_net("dup=1", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 320);
    assert_int_equal(receive(&net), 640);
    for (uint32_t i = 0; i < 320; i++) {
        assert_true(saw(i));
    }
    close_net(&net);
}

static void second_copies_survive_a_full_queue(void **state)
{
    (void)state;
    struct net net = open_net("dup=1", (struct co_loopback_config){.bytes_per_s = 1000000, .egress_queue_bytes = 100});

    assert_int_equal(send_numbers(&net, to_peer, CO_FAULT_DATA, 0, 1), 1);
    let_time_pass(&net);
    assert_int_equal(receive(&net), 2);
    close_net(&net);
}

static void delayed_ones_come_when_due(void **state)
{
    (void)state;
    struct net net = open_net("delay=1:3ms", (struct co_loopback_config){0});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 10);
    assert_int_equal(receive(&net), 0);
    assert_int_equal(net.sender->ops->next_event_ns(net.sender), start_ns + 3000000);
    co_loopback_advance(net.hub, start_ns + 2999999);
    net.sender->ops->poll(net.sender, 64, note, NULL);
    assert_int_equal(receive(&net), 0);
    co_loopback_advance(net.hub, start_ns + 3000000);
    net.sender->ops->poll(net.sender, 64, note, NULL);
    assert_int_equal(receive(&net), 10);
    assert_int_equal(seen.damaged, 0);
    assert_int_equal(net.sender->ops->next_event_ns(net.sender), 0);
    close_net(&net);
}

static void reordered_ones_are_overtaken(void **state)
{
    (void)state;
    struct net net = open_net("reorder=0.3,seed=2", (struct co_loopback_config){0});
    unsigned inversions = 0;

    for (uint32_t i = 0; i < 500; i++) {
        send_numbers(&net, to_group, CO_FAULT_DATA, i, 1);
        co_loopback_advance(net.hub, co_loopback_now_ns(net.hub) + 100000);
    }
    let_time_pass(&net);
    assert_int_equal(receive(&net), 500);
    for (uint32_t i = 0; i < 500; i++) {
        assert_true(saw(i));
        inversions += i > 0 && seen.numbers[i] < seen.numbers[i - 1];
    }
    assert_true(inversions > 50);
    close_net(&net);
}

static void corrupted_ones_differ_in_one_bit(void **state)
{
    (void)state;
    struct net net = open_net("corrupt=1,seed=3", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 200);
    assert_int_equal(receive(&net), 200);
    // A flip in the number or the kind byte is not noticed by the pattern; most are in the payload.
    assert_in_range(seen.damaged, 160, 200);
    close_net(&net);
}

static void truncated_ones_are_shorter(void **state)
{
    (void)state;
    struct net net = open_net("truncate=1", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 200);
    assert_int_equal(receive(&net), 0);
    assert_int_equal(seen.shortened, 200);
    close_net(&net);
}

static void blackhole_takes_multicast_only(void **state)
{
    (void)state;
    struct net net = open_net("blackhole_after=10", (struct co_loopback_config){0});

    send_numbers(&net, to_peer, CO_FAULT_CONTROL, 0, 20);
    send_numbers(&net, to_group, CO_FAULT_DATA, 100, 50);
    send_numbers(&net, to_peer, CO_FAULT_REPAIR, 200, 20);
    assert_int_equal(receive(&net), 20 + 10 + 20);
    assert_true(saw(109));
    assert_false(saw(110));
    close_net(&net);
}

static void kinds_limit_the_rates(void **state)
{
    (void)state;
    struct net net = open_net("drop=1,kind=repair+control", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 10);
    send_numbers(&net, to_peer, CO_FAULT_REPAIR, 10, 10);
    send_numbers(&net, to_peer, CO_FAULT_CONTROL, 20, 10);
    assert_int_equal(receive(&net), 10);
    assert_true(saw(0) && saw(9) && !saw(10));
    close_net(&net);
}

static void script_drops_exactly_these(void **state)
{
    (void)state;
    struct net net = open_net("script=3:17:18", (struct co_loopback_config){0});

    send_numbers(&net, to_peer, CO_FAULT_REPAIR, 500, 10); // does not count
    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 40);
    assert_int_equal(receive(&net), 47);
    assert_true(!saw(3) && !saw(17) && !saw(18));
    assert_true(saw(2) && saw(4) && saw(16) && saw(19) && saw(503));
    close_net(&net);
}

static void other_ranks_than_the_victim_are_spared(void **state)
{
    (void)state;
    struct net net = open_net("drop=1,blackhole=1,script=0,rank=1", (struct co_loopback_config){0}); // the sender is 0

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 10);
    assert_int_equal(receive(&net), 10);
    close_net(&net);
}

static void full_store_sends_at_once(void **state)
{
    (void)state;
    struct net net = open_net("delay=1:1s", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 1100);
    assert_int_equal(receive(&net), 1100 - 1024);
    let_time_pass(&net);
    assert_int_equal(receive(&net), 1024);
    close_net(&net);
}

static void held_ones_are_freed_at_close(void **state)
{
    (void)state;
    struct net net = open_net("delay=1:1s", (struct co_loopback_config){0});

    send_numbers(&net, to_group, CO_FAULT_DATA, 0, 10);
    close_net(&net); // the address sanitizer judges
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_fault_changes_nothing),
        cmocka_unit_test(rates_come_out),
        cmocka_unit_test(one_seed_one_fate),
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
        cmocka_unit_test(full_store_sends_at_once),
        cmocka_unit_test(held_ones_are_freed_at_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
