// SPDX-License-Identifier: BSD-3-Clause
//
// Signs of life beside a transport: datagrams go below and nowhere else, a peer that is gone beside is told, once,
// after it was sent to, and no peer gets bytes more often than it should. When the transport has broken the last words
// go the other way, are heard there, and after that the process is gone for its peers.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "transport/transport_liveness.h"
#include "transport_rig.h"

enum { RANKS = 3 };

static struct co_loopback_hub *below, *beside;
static struct co_transport *liveness, *others[RANKS], *others_beside[RANKS];
static uint64_t now_ns;
static int heard_below, heard_beside;

static uint64_t now(void)
{
    return now_ns;
}

static void hear(void *arg, const uint8_t *data, size_t bytes, uint32_t immediate)
{
    (void)data;
    (void)immediate;
    *(int *)arg += bytes > 0;
}

static int open_all(void **state)
{
    (void)state;
    struct co_loopback_config config = {
        .endpoints = RANKS, .max_datagram_bytes = 1000, .latency_ns = 10, .bytes_per_s = UINT64_C(1000000000)};
    struct co_loopback_config like_verbs = config;
    like_verbs.like_verbs = true;
    now_ns = UINT64_C(1000000000);
    heard_below = heard_beside = 0;
    assert_int_equal(co_loopback_hub_open(&below, &like_verbs), 0);
    assert_int_equal(co_loopback_hub_open(&beside, &config), 0);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(co_loopback_endpoint_open(&others[rank], below, rank), 0);
        assert_int_equal(co_loopback_endpoint_open(&others_beside[rank], beside, rank), 0);
    }
    assert_int_equal(co_transport_liveness_open(&liveness, others[0], others_beside[0], RANKS, now), 0);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    liveness->ops->close(liveness);
    for (int rank = 1; rank < RANKS; rank++) {
        others[rank]->ops->close(others[rank]);
        others_beside[rank]->ops->close(others_beside[rank]);
    }
    co_loopback_hub_close(below);
    co_loopback_hub_close(beside);
    return 0;
}

static void send_to(unsigned rank)
{
    const struct co_tx_datagram datagram = {.head = "word", .head_bytes = 4};
    assert_int_equal(liveness->ops->send(liveness, (struct co_destination){CO_TO_PEER, rank}, &datagram, 1), 1);
}

static void hear_all(unsigned rank)
{
    co_loopback_advance(below, co_loopback_now_ns(below) + 1000);
    co_loopback_advance(beside, co_loopback_now_ns(beside) + 1000);
    while (others[rank]->ops->poll(others[rank], 100, DELIVER_EACH(hear, &heard_below)) > 0) {
    }
    while (others_beside[rank]->ops->poll(others_beside[rank], 100, DELIVER_EACH(hear, &heard_beside)) > 0) {
    }
}

static void bytes_are_few(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        send_to(1);
        hear_all(1);
        now_ns += CO_TRANSPORT_LIVENESS_EVERY_NS / 4;
    }
    assert_int_equal(heard_below, 20);
    assert_int_equal(heard_beside, 5);
    assert_int_equal(liveness->ops->refused_peer(liveness), -1);
}

static void each_refusal_is_told_once(void **state)
{
    (void)state;
    co_loopback_kill(beside, 2);
    assert_int_equal(liveness->ops->refused_peer(liveness), -1);
    int told = -1;
    for (int i = 0; i < 10 && told < 0; i++) {
        send_to(2);
        hear_all(1);
        now_ns += CO_TRANSPORT_LIVENESS_EVERY_NS;
        told = liveness->ops->refused_peer(liveness);
    }
    assert_int_equal(told, 2);
    assert_int_equal(liveness->ops->refused_peer(liveness), -1);
}

static void break_below(void)
{
    static const uint8_t bytes[500];
    struct co_region *region;
    struct co_tx_datagram datagram = {.payload = bytes, .payload_bytes = sizeof bytes};
    assert_int_equal(others[0]->ops->region_open(others[0], &region, bytes, sizeof bytes, false), 0);
    datagram.region = region;
    assert_int_equal(others[0]->ops->send(others[0], (struct co_destination){CO_TO_PEER, 1}, &datagram, 1), 1);
    others[0]->ops->region_close(others[0], region);
    assert_true(liveness->ops->poll(liveness, 1, DELIVER_EACH(hear, &heard_below)) < 0);
}

static void last_words_go_beside(void **state)
{
    (void)state;
    break_below();
    send_to(1);
    hear_all(1);
    assert_int_equal(heard_below, 0);
    assert_int_equal(heard_beside, 1);
    liveness->ops->hang_up(liveness);
    assert_int_equal(liveness->ops->refused_peer(liveness), -1);
    assert_true(liveness->ops->host_ask(liveness, 1) < 0);
    const struct co_tx_datagram knock = {.head = "", .head_bytes = 1};
    others_beside[1]->ops->send(others_beside[1], (struct co_destination){CO_TO_PEER, 0}, &knock, 1);
    hear_all(1);
    assert_int_equal(others_beside[1]->ops->refused_peer(others_beside[1]), 0);
}

static void last_words_of_others_are_heard(void **state)
{
    (void)state;
    const struct co_tx_datagram knock = {.head = "", .head_bytes = 1}, word = {.head = "word", .head_bytes = 4};
    int heard = 0, taken = 0;
    others_beside[1]->ops->send(others_beside[1], (struct co_destination){CO_TO_PEER, 0}, &knock, 1);
    others_beside[1]->ops->send(others_beside[1], (struct co_destination){CO_TO_PEER, 0}, &word, 1);
    co_loopback_advance(beside, co_loopback_now_ns(beside) + 1000);
    for (int i = 0; i <= CO_TRANSPORT_LIVENESS_POLLS && heard == 0; i++) {
        taken = liveness->ops->poll(liveness, 100, DELIVER_EACH(hear, &heard));
    }
    assert_int_equal(heard, 1);
    assert_true(taken > 0);
}

static void groups_go_below_alone(void **state)
{
    (void)state;
    const struct co_tx_datagram datagram = {.head = "word", .head_bytes = 4};
    assert_int_equal(others[1]->ops->join(others[1], 0), 0);
    assert_int_equal(others_beside[1]->ops->join(others_beside[1], 0), 0);
    assert_int_equal(liveness->ops->send(liveness, (struct co_destination){CO_TO_GROUP, 0}, &datagram, 1), 1);
    hear_all(1);
    assert_int_equal(heard_below, 1);
    assert_int_equal(heard_beside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_few, open_all, close_all),
        cmocka_unit_test_setup_teardown(each_refusal_is_told_once, open_all, close_all),
        cmocka_unit_test_setup_teardown(groups_go_below_alone, open_all, close_all),
        cmocka_unit_test_setup_teardown(last_words_go_beside, open_all, close_all),
        cmocka_unit_test_setup_teardown(last_words_of_others_are_heard, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
