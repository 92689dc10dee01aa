// SPDX-License-Identifier: BSD-3-Clause
//
// Messages whose bytes are made while they go, and receives that are told of bytes as they come: in turn, none left
// out, nothing read before it is made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_streams.h"

static unsigned char payload[LARGE];
static size_t made, made_at_first, told; // bytes; told: of the receive
static int tellings;

static void make(void *arg, size_t from, size_t to)
{
    assert_ptr_equal(arg, payload);
    assert_int_equal(from, made); // in turn, each once
    assert_true(to > from);
    memcpy(payload + from, sent + from, to - from);
    made = to;
}

static void hear(void *arg, size_t from, size_t to)
{
    assert_ptr_equal(arg, &told);
    assert_int_equal(from, told);
    assert_memory_equal(received + from, sent + from, to - from); // they are there
    told = to;
    tellings++;
}

static struct co_p2p_send made_send(int to, size_t bytes)
{
    struct co_p2p_send send = send_of(0, to, 5, bytes);
    memset(payload, 0, LARGE);
    made = told = 0;
    tellings = 0;
    send.data = payload;
    send.make = make;
    send.make_arg = payload;
    return send;
}

static struct co_p2p_receive told_receive(int rank, size_t room)
{
    struct co_p2p_receive receive = receive_at(rank, room);
    receive.on_bytes = hear;
    receive.on_bytes_arg = &told;
    return receive;
}

// Sizes that are sent at once, stream, and would be read if they were there; the receive first, or the message.
static void made_on_the_way(void **state)
{
    static const size_t sizes[] = {
        1, EAGER, EAGER + 1, 10000, FIRST_FRAGMENT, FIRST_FRAGMENT + 1, 200001, STREAM_MOST + 4097, LARGE};
    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int kind = 0; kind < 6; kind++) {
            size_t room = kind % 3 == 0 ? LARGE : kind % 3 == 1 ? sizes[i] / 2 : 0;
            open_streams(2, 1 << 20);
            struct co_p2p_send send = made_send(1, sizes[i]);
            struct co_p2p_receive receive = told_receive(1, room);
            if (kind < 3) {
                co_p2p_receive(&receive, 0, 5);
                co_p2p_send(&send);
            } else {
                co_p2p_send(&send);
                made_at_first = made;
                assert_true(made_at_first <= (sizes[i] > FIRST_FRAGMENT ? FIRST_FRAGMENT : sizes[i]));
                p2p_world_settle(&world);
                co_p2p_receive(&receive, 0, 5);
            }
            p2p_world_settle(&world);
            check_received(&receive, 0, 5, sizes[i]);
            assert_true(co_p2p_send_is_done(&send));
            assert_int_equal(reads, 0);
            if (sizes[i] > EAGER) {
                assert_int_equal(told, sizes[i] < room ? sizes[i] : room); // all came in pieces
                assert_true(room < LARGE || sizes[i] <= FIRST_FRAGMENT || tellings > 1);
            }
            close_streams(false);
        }
    }
}

// Without credit an offer comes alone; nobody can read what it names.
static void without_credit(void **state)
{
    (void)state;
    open_streams(2, 1000);
    struct co_p2p_send send = made_send(1, 100000);
    struct co_p2p_receive receive = told_receive(1, LARGE);
    co_p2p_send(&send);
    assert_int_equal(made, 0);
    co_p2p_receive(&receive, 0, 5);
    p2p_world_settle(&world);
    check_received(&receive, 0, 5, 100000);
    assert_int_equal(reads, 0);
    assert_int_equal(told, 100000);
    close_streams(false);
}

// A sender that stops is waited for.
static void nobody_reads_what_is_not_made(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_send send = made_send(1, 500000);
    struct co_p2p_receive receive = told_receive(1, LARGE);
    co_p2p_receive(&receive, 0, 5);
    co_p2p_send(&send);
    wait_in_vain(1);
    assert_false(co_p2p_receive_is_done(&receive));
    assert_int_equal(reads, 0);
    assert_true(made < 500000);
    p2p_world_settle(&world);
    check_received(&receive, 0, 5, 500000);
    close_streams(false);
}

static void to_itself_at_once(void **state)
{
    (void)state;
    open_streams(2, 1 << 20);
    struct co_p2p_send send = made_send(0, 300000);
    co_p2p_send(&send);
    assert_int_equal(made, 300000);
    struct co_p2p_receive receive = receive_at(0, LARGE);
    co_p2p_receive(&receive, 0, 5);
    check_received(&receive, 0, 5, 300000);
    close_streams(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_on_the_way), cmocka_unit_test(without_credit),
                                       cmocka_unit_test(nobody_reads_what_is_not_made),
                                       cmocka_unit_test(to_itself_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
