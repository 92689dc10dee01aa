// SPDX-License-Identifier: BSD-3-Clause
//
// Reading of a neighbour's memory on the loopback transport: it is of use only if it does what a device would do to
// those who are careless with what they have lent.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "transport/reads.h"
#include "transport_rig.h"

#define BYTES 100

struct net {
    struct co_loopback_hub *hub;
    struct co_transport *reader, *owner;
    uint8_t memory[BYTES];
    uint32_t key;
    struct co_loan *loan;
    uint8_t got[BYTES + 8];
    size_t got_bytes;
    unsigned count;
};

static void open_net(struct net *net)
{
    *net = (struct net){.memory = {1, 2, 3}};
    struct co_loopback_config config = {.endpoints = 2,
                                        .max_datagram_bytes = 1000,
                                        .latency_ns = 1000,
                                        .like_verbs = true,
                                        .has_reads = true,
                                        .loans_max = 1};
    assert_int_equal(co_loopback_hub_open(&net->hub, &config), 0);
    assert_int_equal(co_loopback_endpoint_open(&net->reader, net->hub, 0), 0);
    assert_int_equal(co_loopback_endpoint_open(&net->owner, net->hub, 1), 0);
    struct co_reads *reads = net->owner->reads;
    assert_int_equal(reads->ops->lend(reads, &net->loan, net->memory, BYTES, true, &net->key), 0);
}

static void close_net(struct net *net)
{
    if (net->loan != NULL) {
        net->owner->reads->ops->take_back(net->owner->reads, net->loan);
    }
    net->reader->ops->close(net->reader);
    net->owner->ops->close(net->owner);
    co_loopback_hub_close(net->hub);
}

static int start(struct net *net, size_t at, uint32_t bytes, uint64_t *number)
{
    struct co_read read = {.peer = 1,
                           .key = net->key,
                           .address = (uintptr_t)net->memory + at,
                           .bytes = bytes,
                           .head = "head",
                           .tail = "tail",
                           .head_bytes = 4,
                           .tail_bytes = 4};
    return net->reader->reads->ops->read(net->reader->reads, &read, number);
}

static void keep(void *arg, const uint8_t *data, size_t bytes, uint32_t immediate)
{
    struct net *net = arg;
    (void)immediate;
    net->count++;
    net->got_bytes = bytes;
    memcpy(net->got, data, bytes);
}

static void pass(struct net *net)
{
    co_loopback_advance(net->hub, co_loopback_next_ns(net->hub));
}

static bool is_under_way(const struct net *net, uint64_t number)
{
    return net->reader->reads->ops->is_under_way(net->reader->reads, number);
}

static bool is_connected(const struct net *net)
{
    return net->reader->reads->ops->is_connected(net->reader->reads, 1);
}

static void what_was_read_comes_as_a_datagram(void **state)
{
    (void)state;
    struct net net;
    uint64_t number;
    open_net(&net);
    assert_int_equal(start(&net, 1, 2, &number), 0);
    net.memory[2] = 9; // it is read late
    assert_int_equal(net.reader->ops->poll(net.reader, 10, DELIVER_EACH(keep, &net)), 0);
    pass(&net);
    assert_true(is_under_way(&net, number)); // until it is delivered
    assert_int_equal(net.reader->ops->poll(net.reader, 10, DELIVER_EACH(keep, &net)), 1);
    assert_false(is_under_way(&net, number));
    assert_int_equal(net.got_bytes, 10);
    assert_memory_equal(net.got, "head\x02\x09tail", 10);
    assert_int_equal(co_loopback_read_counts(net.hub).done, 1);
    close_net(&net);
}

static void what_is_not_lent_ends_the_connection(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct net net;
        uint64_t number;
        open_net(&net);
        assert_true(is_connected(&net));
        net.key += how == 0;
        assert_int_equal(start(&net, how == 1 ? BYTES - 1 : 0, 2, &number), 0);
        if (how == 2) {
            net.owner->reads->ops->take_back(net.owner->reads, net.loan);
            net.loan = NULL;
        } else if (how == 3) {
            co_loopback_cut_reads(net.hub, 1, 0);
        }
        pass(&net);
        assert_false(is_under_way(&net, number));
        assert_false(is_connected(&net));
        assert_int_equal(net.reader->ops->poll(net.reader, 10, DELIVER_EACH(keep, &net)), 0);
        assert_int_equal(start(&net, 0, 2, &number), -ENOTCONN);
        assert_int_equal(co_loopback_read_counts(net.hub).refused, how < 3);
        close_net(&net);
    }
}

static void bounds(void **state)
{
    (void)state;
    struct net net;
    struct co_loan *loan;
    uint32_t key;
    uint64_t number;
    open_net(&net);
    struct co_reads *reads = net.owner->reads;
    assert_int_equal(reads->ops->lend(reads, &loan, net.memory, BYTES, false, &key), -EAGAIN);
    assert_int_equal(start(&net, 0, 993, &number), -EMSGSIZE);
    unsigned begun = 0;
    while (start(&net, 0, 2, &number) == 0) {
        begun++;
    }
    assert_int_equal(start(&net, 0, 2, &number), -EAGAIN);
    pass(&net);
    assert_int_equal(net.reader->ops->poll(net.reader, 1000, DELIVER_EACH(keep, &net)), (int)begun);
    assert_int_equal(net.count, begun);
    close_net(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_comes_as_a_datagram),
        cmocka_unit_test(what_is_not_lent_ends_the_connection),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
