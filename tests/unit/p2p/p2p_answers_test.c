// SPDX-License-Identifier: BSD-3-Clause
//
// Answers that find neither room nor memory: no sender waits for ever. Each kind of message meets its receive while the
// channels of its rank are full and every allocation fails, and its sender is done once there is room, without memory.
// Linked with --wrap.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_letters.h"
#include "p2p_tap.h"

enum { RECEIVER = 1, TAG = 7, PATIENCE_NS = 100, EAGER_MOST = 4096, STREAMED = 200000, OTHER_NODE = 2 };

static bool has_no_memory, has_no_room;
static uint64_t clock_ns;
static int own_reads, own_read_error;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return has_no_memory ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return has_no_memory ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return has_no_memory ? NULL : __real_realloc(old, bytes);
}

static bool has_room(void)
{
    return !has_no_room;
}

static int as_many(int most)
{
    return most;
}

static void see_nothing(int rank, int peer, const struct co_packet *packet)
{
    (void)rank;
    (void)peer;
    (void)packet;
}

static uint64_t now(void)
{
    return clock_ns;
}

static int read_own(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    own_reads++;
    if (own_read_error == 0) {
        memcpy(local, (const void *)(uintptr_t)remote, bytes);
    }
    return own_read_error;
}

// Ranks 0 and 1 on a node, rank 2 on another one.
static void open_narrow_world(void)
{
    struct p2p_world_options options = {.size = 3,
                                        .node_ranks = 2,
                                        .eager_most = EAGER_MOST,
                                        .remote_eager_most = EAGER_MOST,
                                        .credit = 1 << 20,
                                        .stream_most = 1 << 20,
                                        .patience_ns = PATIENCE_NS,
                                        .now_ns = now,
                                        .read = read_own,
                                        .wrap = p2p_tap_put,
                                        .matcher = {64, 64, 16}};
    p2p_tap_hooks = (struct p2p_tap_hooks){see_nothing, has_room, as_many};
    has_no_memory = has_no_room = false;
    own_reads = own_read_error = 0;
    clock_ns = 1;
    p2p_world_open(&world, &options);
    lay_out_payload();
}

static void close_narrow_world(void)
{
    for (int rank = 0; rank < world.size; rank++) {
        assert_false(co_p2p_context_is_busy(world.contexts[rank]));
    }
    p2p_world_close(&world);
}

static void move(int rank)
{
    while (p2p_world_move(&world, rank) > 0) {
    }
}

// After it the receiver has a number and the memory of a message to spare.
static void pass_one(int from)
{
    struct co_p2p_send send = send_of(from, RECEIVER, TAG, LARGE);
    struct co_p2p_receive receive = receive_at(RECEIVER, LARGE);
    memset(received, 0xee, LARGE);
    own_read_error = -EPERM;
    co_p2p_send(&send);
    co_p2p_receive(&receive, from, TAG);
    p2p_world_settle(&world);
    check_received(&receive, from, TAG, LARGE);
    assert_true(co_p2p_send_is_done(&send));
    memset(received, 0xee, LARGE);
}

static void starve(bool is_starved)
{
    has_no_memory = has_no_room = is_starved;
}

static const struct {
    int from;
    size_t bytes, room;
    bool is_synchronous;
    int read_error;
} kinds[] = {
    {0, 100, LARGE, true, 0},
    {OTHER_NODE, 100, LARGE, true, 0},    // ACK
    {0, EAGER_MOST + 1, LARGE, false, 0}, // streams: it is all there, FIN,
    {0, STREAMED, LARGE, false, -EPERM},
    {0, STREAMED, 100, false, -EPERM}, // CTS
    {0, LARGE, LARGE, false, 0},       // read, FIN
    {0, LARGE, LARGE, false, -EPERM},  // cannot be read, CTS
    {0, LARGE, 0, false, 0},
    {OTHER_NODE, LARGE, 0, false, 0},     // nothing of it is wanted, FIN
    {OTHER_NODE, LARGE, LARGE, false, 0}, // CTS, once it can be expected
};

static void answers_need_no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        for (int is_expected = 0; is_expected < 2; is_expected++) {
            open_narrow_world();
            pass_one(kinds[i].from);
            own_read_error = kinds[i].read_error;
            struct co_p2p_send send = send_of(kinds[i].from, RECEIVER, TAG, kinds[i].bytes);
            struct co_p2p_receive receive = receive_at(RECEIVER, kinds[i].room);
            send.is_synchronous = kinds[i].is_synchronous;
            if (is_expected) {
                co_p2p_receive(&receive, kinds[i].from, TAG);
            }
            co_p2p_send(&send);
            if (!is_expected) {
                p2p_world_settle(&world);
            }
            starve(true);
            if (!is_expected) {
                co_p2p_receive(&receive, kinds[i].from, TAG);
            }
            move(RECEIVER);
            starve(false);
            move(kinds[i].from);
            assert_false(co_p2p_send_is_done(&send));    // nobody has told it
            has_no_memory = kinds[i].from != OTHER_NODE; // the other node's letters are the test's
            p2p_world_settle(&world);
            starve(false);
            assert_true(co_p2p_send_is_done(&send));
            check_received(&receive, kinds[i].from, TAG, kinds[i].bytes);
            close_narrow_world();
        }
    }
}

// There is no number for a receive: it fails, and its sender is told that nothing is wanted.
static void a_receive_without_a_number_releases_its_sender(void **state)
{
    (void)state;
    static const struct {
        int from;
        size_t bytes;
    } without[] = {{0, STREAMED}, {0, LARGE}, {OTHER_NODE, LARGE}};
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
        open_narrow_world();
        own_read_error = -EPERM;
        struct co_p2p_send send = send_of(without[i].from, RECEIVER, TAG, without[i].bytes);
        struct co_p2p_receive receive = receive_at(RECEIVER, LARGE);
        co_p2p_send(&send);
        p2p_world_settle(&world);
        starve(true);
        co_p2p_receive(&receive, without[i].from, TAG);
        move(RECEIVER);
        assert_true(co_p2p_receive_is_done(&receive));
        assert_int_equal(receive.result, -ENOMEM);
        starve(false);
        p2p_world_settle(&world);
        assert_true(co_p2p_send_is_done(&send));
        pass_one(without[i].from);
        close_narrow_world();
    }
}

// Its rest could be read, but its sender not be told: it is left to the sender.
static void a_stopped_stream_is_not_read_without_memory(void **state)
{
    (void)state;
    open_narrow_world();
    struct co_p2p_send send = send_of(0, RECEIVER, TAG, STREAMED);
    struct co_p2p_receive receive = receive_at(RECEIVER, LARGE);
    memset(received, 0xee, LARGE);
    co_p2p_send(&send);
    co_p2p_receive(&receive, 0, TAG);
    has_no_room = true;
    move(RECEIVER); // the CTS has the message's memory
    has_no_memory = true;
    for (int i = 0; i < 4; i++) {
        clock_ns += PATIENCE_NS + STREAMED; // as long as anybody would wait for so many bytes
        move(RECEIVER);
    }
    assert_int_equal(own_reads, 0);
    assert_false(co_p2p_receive_is_done(&receive));
    starve(false);
    p2p_world_settle(&world);
    check_received(&receive, 0, TAG, STREAMED);
    assert_true(co_p2p_send_is_done(&send));
    close_narrow_world();
}

// Answers and receives that wait for room when their sender ends, or we do: their memory is given back.
static void memory_of_answers_that_nobody_hears(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        for (int is_lost = 0; is_lost < 2; is_lost++) {
            open_narrow_world();
            own_read_error = kinds[i].read_error;
            struct co_p2p_send send = send_of(kinds[i].from, RECEIVER, TAG, kinds[i].bytes);
            struct co_p2p_receive receive = receive_at(RECEIVER, kinds[i].room);
            send.is_synchronous = kinds[i].is_synchronous;
            co_p2p_send(&send);
            p2p_world_settle(&world);
            has_no_room = true;
            co_p2p_receive(&receive, kinds[i].from, TAG);
            if (is_lost) {
                co_p2p_lose(world.ranks[RECEIVER], kinds[i].from);
                assert_true(co_p2p_receive_is_done(&receive));
            }
            p2p_world_close(&world); // address: nothing leaks, nothing is given twice
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_need_no_memory),
                                       cmocka_unit_test(a_receive_without_a_number_releases_its_sender),
                                       cmocka_unit_test(a_stopped_stream_is_not_read_without_memory),
                                       cmocka_unit_test(memory_of_answers_that_nobody_hears)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
