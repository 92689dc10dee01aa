// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a peer is there, asked by its connection over a device that is no device: when a question goes out, how many,
// and what its end means.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p/channel/rc/rc_state.h"

enum { PEERS = CO_RC_QUERIES + 3, SELF = PEERS - 1 };

static struct ibv_context context;
static struct ibv_cq queue = {.context = &context};
static struct ibv_qp pair = {.context = &context};
static struct co_rc_all *all;
static struct ibv_send_wr posted[PEERS];
static struct ibv_wc ended[PEERS];
static int posts, ends, post_error;

int ibv_destroy_qp(struct ibv_qp *queue_pair)
{
    (void)queue_pair;
    return 0;
}

static int post_send(struct ibv_qp *queue_pair, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
    (void)queue_pair;
    *bad = request;
    assert_true(posts < PEERS);
    if (post_error == 0) {
        posted[posts++] = *request;
    }
    return post_error;
}

static int poll_cq(struct ibv_cq *polled, int most, struct ibv_wc *done)
{
    (void)polled;
    int count = ends < most ? ends : most;
    memcpy(done, ended, (size_t)count * sizeof *done);
    memmove(ended, ended + count, (size_t)(ends - count) * sizeof *done);
    ends -= count;
    return count;
}

static void ignore(uint64_t completions)
{
    (void)completions;
}

static void warn(const char *text)
{
    (void)text;
}

static int begin(void **state)
{
    (void)state;
    posts = ends = post_error = 0;
    context.ops.post_send = post_send;
    context.ops.poll_cq = poll_cq;
    all = calloc(1, sizeof *all);
    assert_non_null(all);
    *all = (struct co_rc_all){.context = &context,
                              .done = &queue,
                              .polls = 1, // the door is not looked at
                              .peers = calloc(PEERS, sizeof *all->peers),
                              .config = {.size = PEERS, .self = SELF, .warn = warn, .count_failed = ignore}};
    assert_non_null(all->peers);
    co_hash_map_open(&all->by_queue_pair);
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        all->reads[i].peer = -1;
    }
    for (int peer = 0; peer < SELF; peer++) {
        all->peers[peer].state = CO_RC_READY;
        all->peers[peer].queue_pair = &pair;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    co_hash_map_close(&all->by_queue_pair);
    free(all->peers);
    free(all);
    return 0;
}

// Of the first one that is under way; events.
static int answer(enum ibv_wc_status status, struct co_rc_event *events)
{
    ended[ends++] = (struct ibv_wc){.wr_id = posted[0].wr_id, .status = status};
    memmove(posted, posted + 1, (size_t)--posts * sizeof *posted);
    return co_rc_poll(&all->rc, events, PEERS);
}

static void an_answer_is_no_event(void **state)
{
    struct co_rc_event events[PEERS];
    (void)state;
    for (int times = 0; times < 3; times++) {
        co_rc_query(&all->rc, 1);
        co_rc_query(&all->rc, 1); // the first is under way
        assert_int_equal(posts, 1);
        assert_int_equal(posted[0].opcode, IBV_WR_RDMA_WRITE);
        assert_int_equal(posted[0].num_sge, 0);
        assert_int_equal(all->queries, 1);
        assert_int_equal(answer(IBV_WC_SUCCESS, events), 0);
        assert_int_equal(all->queries, 0);
    }
    assert_int_equal(all->peers[1].state, CO_RC_READY);
}

static void who_is_not_there_is_lost(void **state)
{
    struct co_rc_event events[PEERS];
    (void)state;
    co_rc_query(&all->rc, 1);
    co_rc_query(&all->rc, 2);
    assert_int_equal(answer(IBV_WC_RETRY_EXC_ERR, events), 1);
    assert_true(events[0].kind == CO_RC_LOST && events[0].peer == 1 && events[0].result == -ECONNRESET);
    assert_int_equal(all->queries, 1);
    assert_int_equal(answer(IBV_WC_SUCCESS, events), 0);
    co_rc_query(&all->rc, 1); // never again
    assert_int_equal(posts, 0);
    assert_int_equal(all->peers[2].state, CO_RC_READY);
}

static void what_is_under_way_tells_as_much(void **state)
{
    (void)state;
    all->peers[1].packets = 1;
    all->peers[2].parts = 1;
    all->peers[3].state = CO_RC_CONNECTED; // the peer may not be
    all->peers[4].state = CO_RC_NONE;
    for (int peer = 1; peer < 5; peer++) {
        co_rc_query(&all->rc, peer);
    }
    assert_int_equal(posts, 0);
}

// The queue of completions has room for so many.
static void few_are_under_way(void **state)
{
    struct co_rc_event events[PEERS];
    (void)state;
    for (int peer = 0; peer < SELF; peer++) {
        co_rc_query(&all->rc, peer);
    }
    assert_int_equal(posts, CO_RC_QUERIES);
    assert_int_equal(answer(IBV_WC_SUCCESS, events), 0);
    co_rc_query(&all->rc, SELF - 1);
    assert_int_equal(posts, CO_RC_QUERIES);
    // One whose connection is given up meanwhile leaves its room, and its end is nobody's.
    co_rc_drop(all, 1);
    assert_int_equal(all->queries, CO_RC_QUERIES - 1);
    assert_int_equal(answer(IBV_WC_WR_FLUSH_ERR, events), 0);
    assert_int_equal(all->queries, CO_RC_QUERIES - 1);
}

static void what_cannot_be_asked_is_lost(void **state)
{
    struct co_rc_event events[PEERS];
    (void)state;
    post_error = EINVAL;
    co_rc_query(&all->rc, 1);
    assert_int_equal(all->queries, 0);
    assert_int_equal(co_rc_poll(&all->rc, events, PEERS), 1);
    assert_true(events[0].kind == CO_RC_LOST && events[0].peer == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_no_event, begin, end),
        cmocka_unit_test_setup_teardown(who_is_not_there_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(what_is_under_way_tells_as_much, begin, end),
        cmocka_unit_test_setup_teardown(few_are_under_way, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_asked_is_lost, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
