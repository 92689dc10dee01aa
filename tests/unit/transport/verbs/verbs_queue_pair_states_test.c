// SPDX-License-Identifier: BSD-3-Clause
//
// What all queue pairs have in common, with a device that is none: the states that one goes through and what each is
// told, an error on the way, and the path to a peer.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/verbs/verbs_queue_pair_states.h"

static struct ibv_qp_attr told[4];
static int asked[4];
static unsigned count, fails_at; // fails_at: the number of the call that fails, from 1

int ibv_modify_qp(struct ibv_qp *pair, struct ibv_qp_attr *state, int what)
{
    (void)pair;
    assert_true(count < 4);
    told[count] = *state;
    asked[count++] = what;
    return count == fails_at ? EINVAL : 0;
}

static int begin(void **state)
{
    (void)state;
    count = fails_at = 0;
    return 0;
}

static void datagrams_go_from_init_to_rts(void **state)
{
    (void)state;
    struct ibv_qp pair;
    assert_int_equal(co_verbs_datagrams_init(&pair, 2, 77), 0);
    assert_int_equal(co_verbs_datagrams_start(&pair), 0);
    assert_int_equal(count, 3);
    assert_int_equal(told[0].qp_state, IBV_QPS_INIT);
    assert_int_equal(told[0].port_num, 2);
    assert_int_equal(told[0].qkey, 77);
    assert_int_equal(told[1].qp_state, IBV_QPS_RTR);
    assert_int_equal(told[2].qp_state, IBV_QPS_RTS);
}

static void a_connection_gets_what_both_ends_have_agreed(void **state)
{
    (void)state;
    struct ibv_qp pair;
    const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 7};
    struct co_verbs_connection connection = {.path = co_verbs_path_to(2, 5, gid, 9),
                                             .mtu = IBV_MTU_1024,
                                             .peer = 0xab123456,
                                             .peer_number = 0xcd654321,
                                             .number = 42,
                                             .reads = 4,
                                             .timeout = 17};
    assert_int_equal(co_verbs_connection_init(&pair, 2, IBV_ACCESS_REMOTE_READ), 0);
    assert_int_equal(co_verbs_connection_start(&pair, &connection), 0);
    assert_int_equal(count, 3);
    assert_int_equal(told[0].qp_access_flags, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(told[1].qp_state, IBV_QPS_RTR);
    assert_int_equal(told[1].path_mtu, IBV_MTU_1024);
    assert_int_equal(told[1].dest_qp_num, 0x123456); // 24 bits, whatever a stranger says
    assert_int_equal(told[1].rq_psn, 0x654321);
    assert_int_equal(told[1].max_dest_rd_atomic, 4);
    assert_int_equal(told[1].ah_attr.grh.sgid_index, 5);
    assert_int_equal(told[1].ah_attr.dlid, 9);
    assert_int_equal(told[1].ah_attr.port_num, 2);
    assert_memory_equal(&told[1].ah_attr.grh.dgid, gid, sizeof gid);
    assert_int_equal(told[2].qp_state, IBV_QPS_RTS);
    assert_int_equal(told[2].sq_psn, 42);
    assert_int_equal(told[2].timeout, 17);
    assert_int_equal(told[2].retry_cnt, 7);
    assert_int_equal(told[2].max_rd_atomic, 4);
    assert_true(asked[2] & IBV_QP_TIMEOUT);
}

static void an_error_ends_the_way(void **state)
{
    (void)state;
    struct ibv_qp pair;
    struct co_verbs_connection connection = {.reads = 1};
    fails_at = 1;
    assert_int_equal(co_verbs_connection_start(&pair, &connection), -EINVAL);
    assert_int_equal(count, 1);
    count = 0;
    assert_int_equal(co_verbs_datagrams_start(&pair), -EINVAL);
    assert_int_equal(count, 1);
    count = 0;
    assert_int_equal(co_verbs_datagrams_init(&pair, 1, 1), -EINVAL);
    count = 0;
    assert_int_equal(co_verbs_connection_init(&pair, 1, IBV_ACCESS_REMOTE_READ), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(datagrams_go_from_init_to_rts, begin),
        cmocka_unit_test_setup(a_connection_gets_what_both_ends_have_agreed, begin),
        cmocka_unit_test_setup(an_error_ends_the_way, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
