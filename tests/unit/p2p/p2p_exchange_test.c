// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges: two ranks that send each other messages of which one alone would go in pieces. What both copy at once is
// read from its sender instead; whoever stops sending gets pieces again.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_streams.h"

enum { BYTES = 200000, FIRST = 7 };

static unsigned char payloads[2][BYTES];

struct exchange {
    struct co_p2p_send sends[2];
    struct co_p2p_receive receives[2];
};

static void receive_both(struct exchange *exchange, size_t room)
{
    memset(payloads, 0xee, sizeof(payloads));
    for (int rank = 0; rank < 2; rank++) {
        exchange->receives[rank] = receive_at(rank, room);
        exchange->receives[rank].buffer = payloads[rank];
        co_p2p_receive(&exchange->receives[rank], 1 - rank, FIRST);
    }
}

static void send_both(struct exchange *exchange, size_t bytes)
{
    for (int rank = 0; rank < 2; rank++) {
        exchange->sends[rank] = send_of(rank, 1 - rank, FIRST, bytes);
        co_p2p_send(&exchange->sends[rank]);
    }
}

static void check_both(const struct exchange *exchange, size_t bytes)
{
    for (int rank = 0; rank < 2; rank++) {
        const struct co_p2p_receive *receive = &exchange->receives[rank];
        size_t kept = bytes < receive->room ? bytes : receive->room;
        assert_true(co_p2p_send_is_done(&exchange->sends[rank]));
        assert_true(co_p2p_receive_is_done(receive));
        assert_int_equal(receive->result, 0);
        assert_int_equal(receive->bytes, bytes);
        assert_memory_equal(payloads[rank], sent, kept);
        assert_true(kept == BYTES || payloads[rank][kept] == 0xee);
    }
}

// Both return whether rank 0's message went in pieces.
static bool exchange_once(size_t bytes, size_t room)
{
    struct exchange exchange;
    receive_both(&exchange, room);
    send_both(&exchange, bytes);
    p2p_world_settle(&world);
    check_both(&exchange, bytes);
    return exchange.sends[0].is_in_pieces;
}

static bool one_way(void)
{
    struct co_p2p_receive receive = receive_at(1, BYTES);
    struct co_p2p_send send = send_of(0, 1, FIRST, BYTES);
    co_p2p_receive(&receive, 0, FIRST);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    check_received(&receive, 0, FIRST, BYTES);
    return send.is_in_pieces;
}

static void large_ones_are_read(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    assert_true(one_way());
    assert_int_equal(reads, 0);
    assert_true(exchange_once(BYTES, BYTES));
    assert_int_equal(reads, 2); // what is behind the first fragment of either
    assert_false(exchange_once(BYTES, BYTES));
    assert_int_equal(reads, 4);
    close_streams(false);
}

// Who only sends learns it by sending, who receives from the other at once.
static void after_an_exchange_they_go_in_pieces_again(void **state)
{
    (void)state;
    int offers = 0;
    open_streams(2, 1 << 20);
    exchange_once(BYTES, BYTES);
    exchange_once(BYTES, BYTES);
    reads = 0;
    while (!one_way()) {
        offers++;
    }
    assert_in_range(offers, 1, 100);
    assert_int_equal(reads, offers);
    one_way();
    assert_int_equal(reads, offers);
    close_streams(false);
}

static void small_ones_go_in_pieces(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    for (int i = 0; i < 3; i++) {
        exchange_once(FIRST_FRAGMENT, BYTES);
        exchange_once(EAGER + 1, BYTES);
    }
    assert_int_equal(reads, 0);
    close_streams(false);
}

// With room for half of it, for the first fragment alone, and for none.
static void too_little_room(void **state)
{
    static const size_t rooms[] = {BYTES / 2, FIRST_FRAGMENT, FIRST_FRAGMENT / 2, 0};
    (void)state;
    for (unsigned i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        open_streams(2, 1 << 20);
        for (int round = 0; round < 3; round++) {
            exchange_once(BYTES, rooms[i]);
        }
        close_streams(false);
    }
}

// What the kernel does not read comes in pieces.
static void where_nobody_may_read(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    for (int round = 0; round < 3; round++) {
        read_error = -EPERM;
        exchange_once(BYTES, BYTES);
        assert_true(reads > 0);
    }
    close_streams(false);
}

// The messages come before their receives: all of the first fragment is kept, or some of it still on their way.
static void before_their_receives(void **state)
{
    (void)state;
    for (int settles = 0; settles < 2; settles++) {
        open_streams(2, 1 << 20);
        struct exchange exchange;
        for (int round = 0; round < 3; round++) {
            send_both(&exchange, BYTES);
            if (settles) {
                p2p_world_settle(&world);
            } else {
                co_p2p_progress(world.ranks[1]);
            }
            receive_both(&exchange, BYTES);
            p2p_world_settle(&world);
            check_both(&exchange, BYTES);
        }
        assert_true(reads > 0);
        close_streams(false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_ones_are_read),     cmocka_unit_test(after_an_exchange_they_go_in_pieces_again),
        cmocka_unit_test(small_ones_go_in_pieces), cmocka_unit_test(too_little_room),
        cmocka_unit_test(where_nobody_may_read),   cmocka_unit_test(before_their_receives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
