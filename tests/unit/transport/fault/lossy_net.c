// SPDX-License-Identifier: BSD-3-Clause
//
// Two ends, one of them mistreated, for lossy_test.c. Virtual time, one thread.
#include "deliver_each.h"
#include "lossy_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct lossy_seen lossy_seen;
const struct co_destination lossy_to_peer = {CO_TO_PEER, 1}, lossy_to_group = {CO_TO_GROUP, 3};

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

struct lossy_net lossy_net_open(const char *plan_text, struct co_loopback_config config)
{
    struct lossy_net net = {0};
    struct co_transport *below = NULL;
    struct co_fault_plan plan;
    char why[64];

    config.endpoints = 2;
    config.max_datagram_bytes = LOSSY_DATAGRAM_BYTES;
    assert_int_equal(co_fault_plan_parse(&plan, plan_text, why, sizeof why), 0);
    assert_int_equal(co_loopback_hub_open(&net.hub, &config), 0);
    assert_int_equal(co_loopback_endpoint_open(&below, net.hub, 0), 0);
    assert_int_equal(co_loopback_endpoint_open(&net.receiver, net.hub, 1), 0);
    assert_int_equal(net.receiver->ops->join(net.receiver, 3), 0);
    assert_int_equal(co_lossy_open(&net.sender, below, &plan, 0, classify, hub_now, net.hub), 0);
    return net;
}

void lossy_net_mistreat_receiver(struct lossy_net *net, const char *plan_text)
{
    struct co_transport *below = net->receiver;
    struct co_fault_plan plan;
    char why[64];

    assert_int_equal(co_fault_plan_parse(&plan, plan_text, why, sizeof why), 0);
    assert_int_equal(co_lossy_open(&net->receiver, below, &plan, 1, classify, hub_now, net->hub), 0);
}

void lossy_net_close(struct lossy_net *net)
{
    net->sender->ops->close(net->sender);
    net->receiver->ops->close(net->receiver);
    co_loopback_hub_close(net->hub);
}

static uint8_t pattern(uint32_t number, size_t at)
{
    return (uint8_t)(number * 7 + at);
}

unsigned lossy_net_send(struct lossy_net *net, struct co_destination to, enum co_fault_kind kind, uint32_t first,
                        unsigned count)
{
    unsigned taken = 0;

    while (taken < count) {
        uint8_t heads[16][8], payloads[16][LOSSY_DATAGRAM_BYTES - 8], before[16][LOSSY_DATAGRAM_BYTES - 8];
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
            batch[i] = (struct co_tx_datagram){.head = heads[i],
                                               .head_bytes = 8,
                                               .payload = payloads[i],
                                               .payload_bytes = LOSSY_DATAGRAM_BYTES - 8,
                                               .immediate = number + 1};
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

static void note(void *arg, const uint8_t *data, size_t bytes, uint32_t immediate)
{
    (void)arg;
    uint32_t number = UINT32_MAX;
    bool damaged = false;

    if (bytes != LOSSY_DATAGRAM_BYTES) {
        lossy_seen.shortened++;
        return;
    }
    memcpy(&number, data, sizeof number);
    for (size_t at = 0; at < LOSSY_DATAGRAM_BYTES - 8; at++) {
        damaged |= data[8 + at] != pattern(number, at);
    }
    damaged |= data[5] || data[6] || data[7] || number >= LOSSY_SEEN_MAX;
    lossy_seen.damaged += damaged;
    lossy_seen.with_immediate += immediate == number + 1;
    assert_true(lossy_seen.count < LOSSY_SEEN_MAX);
    lossy_seen.numbers[lossy_seen.count++] = number;
}

unsigned lossy_net_receive(struct lossy_net *net)
{
    lossy_seen = (struct lossy_seen){0};
    while (net->receiver->ops->poll(net->receiver, 64, DELIVER_EACH(note, NULL)) > 0) {
    }
    return lossy_seen.count;
}

bool lossy_net_saw(uint32_t number)
{
    for (unsigned i = 0; i < lossy_seen.count; i++) {
        if (lossy_seen.numbers[i] == number) {
            return true;
        }
    }
    return false;
}

void lossy_net_poll_sender(struct lossy_net *net)
{
    net->sender->ops->poll(net->sender, 64, DELIVER_EACH(note, NULL));
}

void lossy_net_let_time_pass(struct lossy_net *net)
{
    uint64_t next_ns;

    while ((next_ns = net->sender->ops->next_event_ns(net->sender)) != 0) {
        co_loopback_advance(net->hub, next_ns);
        lossy_net_poll_sender(net);
    }
}
