// SPDX-License-Identifier: BSD-3-Clause
//
// The core of a proxy when something goes wrong: memory, ranks and proxies that are not there, ranks that leave,
// commands and records that make no sense.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_record.h"
#include "proxy_rig.h"

static struct proxy_rig rig;

// A send whose memory is not there ends with an error at both, and what stood behind a barrier is never sent.
static void a_fault_ends_what_needs_it_and_nothing_else(void **state)
{
    (void)state;
    const struct co_offload_operation zero[] = {proxy_rig_sends(1, RIG_BYTES, 40)};
    const struct co_offload_operation one[] = {proxy_rig_receives(0, 0, 40), proxy_rig_barrier(),
                                               proxy_rig_sends(2, 0, 40)};
    const struct co_offload_operation two[] = {proxy_rig_receives(1, 0, 40)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, zero, 1), 0);
    assert_int_equal(proxy_rig_group(&rig, 1, 1, one, 3), 0);
    assert_int_equal(proxy_rig_group(&rig, 2, 1, two, 1), 0);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(proxy_rig_call(&rig, rank, 1, 0), 0);
    }
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 2, 0, 40), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 1, 0, 100, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], -EFAULT);
    assert_int_equal(rig.result[1][0], -ECONNRESET);
    assert_int_equal(rig.result[2][0], -ECONNRESET);
    // Each is told with whom it was, one more than its rank.
    assert_true(rig.with[0][0] == 2 && rig.with[1][0] == 1 && rig.with[2][0] == 2);
    assert_true(proxy_rig_has(&rig, 2, 0, 40, 3)); // not what rank 1 had there before
    assert_int_equal(rig.result[0][1], 0);
    assert_int_equal(rig.result[2][1], 0);
    assert_true(rig.with[0][1] == 0 && rig.with[2][1] == 0);
}

static void a_receive_without_memory_stops_its_sender(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 400), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, RIG_BYTES - 8, 400), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][0], -EFAULT);
    assert_int_equal(rig.result[0][0], -ECONNRESET);
    assert_true(co_proxy_counts(rig.proxies[1])->strays > 0); // what was on its way
    assert_true(co_proxy_is_idle(rig.proxies[0]) && co_proxy_is_idle(rig.proxies[1]));
}

// The word of a rank that is gone ends what is called, and what will be; others go on.
static void a_lost_rank_ends_all_that_needs_it(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_receive(&rig, 0, 0, 3, 0, 40), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 3, 0, 40), 0);
    assert_int_equal(proxy_rig_receive(&rig, 0, 1, 2, 100, 40), 0);
    proxy_rig_run(&rig);
    co_proxy_rank_lost(rig.proxies[1], 3);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], -ECONNRESET);
    assert_int_equal(rig.result[2][0], -ECONNRESET);
    assert_int_equal(rig.result[0][1], RIG_PENDING);
    assert_int_equal(proxy_rig_send(&rig, 1, 0, 3, 0, 40), 0);
    assert_int_equal(proxy_rig_send(&rig, 2, 1, 0, 0, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[1][0], -ECONNRESET);
    assert_int_equal(rig.result[0][1], 0);
}

static void a_lost_proxy_ends_all_that_needs_its_ranks(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_receive(&rig, 0, 0, 3, 0, 40), 0);
    assert_int_equal(proxy_rig_send(&rig, 1, 0, 2, 0, 40), 0);
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 1, 0, 40), 0);
    proxy_rig_run(&rig);
    co_proxy_peer_lost(rig.proxies[0], 1);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], -ECONNRESET);
    assert_int_equal(rig.result[1][0], -ECONNRESET);
    assert_int_equal(rig.result[0][1], RIG_PENDING);
    assert_int_equal(proxy_rig_receive(&rig, 1, 1, 0, 100, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][1], 0);
}

// Bytes that a rank's proxy has sent arrive though the rank says BYE and is gone; and until they are sent it is not
// told that its call is over.
static void who_leaves_leaves_nothing_undone(void **state)
{
    (void)state;
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], RIG_PENDING);
    assert_int_equal(proxy_rig_say(&rig, 0, CO_OFFLOAD_COMMAND_BYE, 0), 0);
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 2, 0, 40), -EPROTO);
    assert_int_equal(co_proxy_rank_calls(rig.proxies[0], 0), 1);
    rig.is_held[0][1][CO_CARRIER_BULK] = true;
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 40), 0);
    rig.hub.bulk_room = 8;
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    co_proxy_rank_lost(rig.proxies[0], 0); // its process has ended
    proxy_rig_run(&rig);
    assert_int_equal(proxy_rig_receive(&rig, 2, 1, 0, 100, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][0], RIG_PENDING); // nobody says that it is gone before that has come
    assert_int_equal(rig.result[2][1], RIG_PENDING);
    rig.is_held[0][1][CO_CARRIER_BULK] = false;
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[2][0], 0);
    assert_int_equal(rig.result[2][1], -ECONNRESET); // and then nobody waits for it
    assert_int_equal(proxy_rig_send(&rig, 1, 0, 0, 0, 40), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[1][0], -ECONNRESET);
    assert_true(proxy_rig_has(&rig, 2, 0, 40, 1));
}

static void commands_that_make_no_sense(void **state)
{
    (void)state;
    const struct co_offload_operation sends[] = {proxy_rig_sends(2, 0, 10)},
                                      nowhere[] = {proxy_rig_sends(RIG_RANKS, 0, 10)};
    struct co_offload_operation many[8];

    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), -EPROTO); // no such group
    assert_int_equal(proxy_rig_say(&rig, 0, CO_OFFLOAD_COMMAND_FORGET, 1), -EPROTO);
    assert_int_equal(proxy_rig_group(&rig, 0, 1, nowhere, 1), -EPROTO);
    for (uint64_t group = 1; group <= 3; group++) {
        assert_int_equal(proxy_rig_group(&rig, 0, group, sends, 1), 0);
    }
    assert_int_equal(proxy_rig_group(&rig, 0, 4, sends, 1), -ENOSPC);
    assert_int_equal(proxy_rig_say(&rig, 0, CO_OFFLOAD_COMMAND_FORGET, 3), 0);
    assert_int_equal(proxy_rig_group(&rig, 0, 2, sends, 1), -EPROTO); // it is there
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), -EPROTO); // the ticket is taken
    for (int i = 0; i < 8; i++) {
        many[i] = proxy_rig_sends(2, 0, 10);
    }
    assert_int_equal(proxy_rig_group(&rig, 1, 1, many, 6), 0);
    assert_int_equal(proxy_rig_call(&rig, 1, 1, 0), 0);
    assert_int_equal(proxy_rig_send(&rig, 1, 1, 2, 0, 10), -ENOSPC); // more than may be under way
    assert_int_equal(proxy_rig_group(&rig, 1, 2, many, 8), 0);
    assert_int_equal(proxy_rig_call(&rig, 1, 2, 2), -ENOSPC);
    assert_int_equal(
        co_proxy_command(rig.proxies[0], 2, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL, 0),
        -EPROTO); // not its rank
    assert_int_equal(co_proxy_command(rig.proxies[0], 0,
                                      &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_GROUP, .operations = 2},
                                      (const uint8_t *)"", 1),
                     -EPROTO); // its definition has another length
}

// FORGET while a call of it is under way: that call goes on.
static void a_group_is_forgotten_when_its_last_call_is_over(void **state)
{
    (void)state;
    const struct co_offload_operation sends[] = {proxy_rig_sends(2, 0, 10)};

    assert_int_equal(proxy_rig_group(&rig, 0, 1, sends, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    assert_int_equal(proxy_rig_say(&rig, 0, CO_OFFLOAD_COMMAND_FORGET, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 1), -EPROTO);
    const struct co_offload_operation receives[] = {proxy_rig_receives(0, 0, 10)};
    assert_int_equal(proxy_rig_group(&rig, 2, 1, receives, 1), 0);
    assert_int_equal(proxy_rig_call(&rig, 2, 1, 0), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[2][0], 0);
}

static int take_entry(enum co_offload_record_kind kind, uint32_t from, uint32_t to, uint64_t number)
{
    uint8_t record[64];
    struct co_offload_key key = {from, to, 0, CO_OFFLOAD_BASIC, number};
    return proxy_rig_take(&rig, 1, CO_CARRIER_CONTROL, record, co_offload_record_encode_entries(record, kind, &key, 1));
}

static int take_data(uint32_t from, uint32_t to, uint64_t number, uint64_t offset, uint64_t whole, uint32_t bytes)
{
    uint8_t record[CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 64] = {0};
    struct co_offload_key key = {from, to, 0, CO_OFFLOAD_BASIC, number};
    co_offload_record_encode_data_head(record, &key, offset, whole, bytes);
    memset(record + CO_OFFLOAD_RECORD_DATA_HEAD_BYTES, 77, bytes);
    return proxy_rig_take(&rig, 1, CO_CARRIER_BULK, record, CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + bytes);
}

// Proxy 1 has ranks 2 and 3.
static void records_that_make_no_sense(void **state)
{
    (void)state;
    uint8_t gone[16];

    assert_int_equal(take_data(2, 0, 0, 0, 10, 10), -EPROTO);                // nothing is called
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 1, 0), -EPROTO); // for a rank of ours
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 2, 3, 0), -EPROTO); // to nobody here
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, RIG_RANKS, 0), -EPROTO);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_SEND_FAILED, RIG_RANKS, 0, 0), -EPROTO);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_SEND_FAILED, 1, 0, 0), -EPROTO);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 2, 0), 0);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 2, 0), -EPROTO); // said already
    assert_int_equal(proxy_rig_take(&rig, 1, CO_CARRIER_CONTROL, gone, co_offload_record_encode_gone(gone, 0)),
                     -EPROTO);
    assert_int_equal(proxy_rig_take(&rig, 1, CO_CARRIER_CONTROL, gone, co_offload_record_encode_gone(gone, RIG_RANKS)),
                     -EPROTO);
    assert_int_equal(proxy_rig_take(&rig, 1, CO_CARRIER_BULK, gone, co_offload_record_encode_gone(gone, 1)), -EPROTO);
    assert_int_equal(proxy_rig_receive(&rig, 0, 0, 2, 0, 100), 0);
    assert_int_equal(take_data(2, 0, 0, 0, 10, 10), -EPROTO); // called, and not begun
    co_proxy_progress(rig.proxies[0]);
    assert_int_equal(take_data(3, 0, 0, 0, 10, 10), -EPROTO);  // another's
    assert_int_equal(take_data(2, 0, 1, 0, 10, 10), -EPROTO);  // the next one's
    assert_int_equal(take_data(2, 0, 0, 8, 100, 10), -EPROTO); // a piece is missing
    assert_int_equal(take_data(2, 0, 0, 0, 50, 10), 0);
    assert_int_equal(take_data(2, 0, 0, 0, 50, 10), -EPROTO);  // it was there
    assert_int_equal(take_data(2, 0, 0, 10, 51, 10), -EPROTO); // another length
    assert_int_equal(take_data(2, 0, 0, 10, 50, 40), 0);
    assert_int_equal(rig.result[0][0], RIG_PENDING); // until the next turn
    co_proxy_progress(rig.proxies[0]);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(take_data(2, 0, 0, 50, 60, 10), 0); // over: dropped
    assert_int_equal(co_proxy_counts(rig.proxies[0])->strays, 1);
    assert_true(proxy_rig_has(&rig, 0, 0, 50, 77) && proxy_rig_has(&rig, 0, 50, 100, 1));
}

// A rank that is said to have called more than it may, and failed more often, is not heard of any more; its proxy's
// other ranks are.
static void what_others_say_is_bounded(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 12; number++) { // six ends under way, six that failed
        assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 2, number), 0);
    }
    assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, 0, 10), 0); // the first is called
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 2, 12), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_SEND_FAILED, 2, 1, 0), 0); // one more
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 2, 0, 10), 0);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 3, 0), 0);
    assert_int_equal(proxy_rig_send(&rig, 0, 2, 3, 0, 10), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][1], -ECONNRESET);
    assert_int_equal(rig.result[0][2], 0);
    assert_int_equal(take_entry(CO_OFFLOAD_RECORD_READY, 0, 2, 13), 0);
    assert_true(co_proxy_is_idle(rig.proxies[0])); // nothing is kept of it
}

// Each call sends to that rank behind a barrier, and fails before it.
static void fail_until_it_is_refused(int to)
{
    const struct co_offload_operation fails[] = {proxy_rig_sends(0, RIG_BYTES, 10), proxy_rig_receives(0, 0, 10),
                                                 proxy_rig_barrier(), proxy_rig_sends(to, 0, 10),
                                                 proxy_rig_receives(to, 0, 10)};
    int error = proxy_rig_group(&rig, 0, 1, fails, 5);

    for (int calls = 0; error == 0; calls++) {
        assert_true(calls < 10);
        error = proxy_rig_call(&rig, 0, 1, 0);
        proxy_rig_run(&rig);
        assert_true(error != 0 || rig.result[0][0] == -EFAULT);
    }
    assert_int_equal(error, -ENOSPC);
    assert_int_equal(rig.refusal, 0);
    co_proxy_rank_lost(rig.proxies[0], 0); // as its service does
    proxy_rig_run(&rig);
    assert_int_equal(proxy_rig_receive(&rig, to, 0, 0, 0, 10), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[to][0], -ECONNRESET);
    assert_int_equal(proxy_rig_receive(&rig, 3, 1, 1, 0, 10), 0); // the others go on
    assert_int_equal(proxy_rig_send(&rig, 1, 1, 3, 0, 10), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[3][1], 0);
    assert_true(co_proxy_is_idle(rig.proxies[0]) && co_proxy_is_idle(rig.proxies[1]));
}

// What nobody has called is kept where it is said: so a rank that fails again and again is hung up, and neither its
// proxy nor the other one is lost for it.
static void a_rank_that_fails_again_and_again(void **state)
{
    (void)state;
    fail_until_it_is_refused(2);
}

static void a_rank_that_fails_beside_another(void **state)
{
    (void)state;
    fail_until_it_is_refused(1);
}

// Errors of which both ends know leave nothing behind, and are not counted.
static void errors_that_both_ends_know(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(proxy_rig_send(&rig, 0, 0, 2, RIG_BYTES, 40), 0);
        assert_int_equal(proxy_rig_receive(&rig, 2, 0, 0, 0, 40), 0);
        assert_int_equal(proxy_rig_send(&rig, 0, 1, 2, 0, 40), 0);
        assert_int_equal(proxy_rig_receive(&rig, 2, 1, 0, RIG_BYTES, 40), 0);
        proxy_rig_run(&rig);
        assert_int_equal(rig.result[0][0], -EFAULT);
        assert_int_equal(rig.result[2][1], -EFAULT);
    }
    assert_true(co_proxy_is_idle(rig.proxies[0]) && co_proxy_is_idle(rig.proxies[1]));
}

static void configurations_that_cannot_be(void **state)
{
    (void)state;
    static const int of_rank[] = {0, 1}, of_nobody[] = {0, 2};
    const struct co_proxy_config good = {.proxies = 2,
                                         .ranks = 2,
                                         .proxy_of_rank = of_rank,
                                         .piece_bytes = CO_OFFLOAD_RECORD_PAYLOAD_MAX,
                                         .groups_max = 1,
                                         .ends_max = 1};
    struct co_proxy *proxy;
    struct co_proxy_output output = {0};
    struct co_proxy_config config = good;

    config.piece_bytes++;
    assert_int_equal(co_proxy_open(&proxy, &config, NULL, &output), -EINVAL);
    config = good;
    config.proxy_of_rank = of_nobody;
    assert_int_equal(co_proxy_open(&proxy, &config, NULL, &output), -EINVAL);
    config = good;
    config.self = 2;
    assert_int_equal(co_proxy_open(&proxy, &config, NULL, &output), -EINVAL);
    assert_int_equal(co_proxy_open(&proxy, &good, NULL, &output), 0);
    assert_int_equal(co_proxy_rank_join(proxy, 1, NULL), -EINVAL); // another proxy's
    assert_int_equal(co_proxy_rank_join(proxy, 0, NULL), 0);
    assert_int_equal(co_proxy_rank_join(proxy, 0, NULL), -EINVAL); // it is there
    co_proxy_close(proxy);
}

#define ON_PAIRS(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_pairs, proxy_rig_close_state, &rig)
#define ON_EACH(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_each, proxy_rig_close_state, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(a_fault_ends_what_needs_it_and_nothing_else),
        ON_PAIRS(a_receive_without_memory_stops_its_sender),
        ON_PAIRS(a_lost_rank_ends_all_that_needs_it),
        ON_PAIRS(a_lost_proxy_ends_all_that_needs_its_ranks),
        ON_PAIRS(who_leaves_leaves_nothing_undone),
        ON_PAIRS(commands_that_make_no_sense),
        ON_PAIRS(a_group_is_forgotten_when_its_last_call_is_over),
        ON_PAIRS(records_that_make_no_sense),
        ON_PAIRS(what_others_say_is_bounded),
        ON_PAIRS(a_rank_that_fails_again_and_again),
        ON_PAIRS(a_rank_that_fails_beside_another),
        ON_PAIRS(errors_that_both_ends_know),
        cmocka_unit_test(configurations_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
