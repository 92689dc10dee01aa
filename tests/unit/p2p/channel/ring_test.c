// SPDX-License-Identifier: BSD-3-Clause
//
// The ring of packets: payloads of all sizes through its end and around, full and empty, stamps that wrap, and a writer
// and a reader in two threads.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "p2p/channel/ring_channel.h"

enum { SLOTS = 64, AREA = 2048, LARGEST = AREA / 4, ROUNDS = 20000 };

static const struct co_ring_shape shape = {SLOTS, AREA};

static struct co_ring *ring;
static struct co_ring_side writer, reader;

static int open_ring(void **state)
{
    (void)state;
    ring = aligned_alloc(CO_LINE_PAIR, co_ring_bytes(shape));
    assert_non_null(ring);
    memset(ring, 0, co_ring_bytes(shape));
    writer = reader = (struct co_ring_side){.ring = ring};
    return 0;
}

static int close_ring(void **state)
{
    (void)state;
    free(ring);
    return 0;
}

static unsigned char pattern(uint64_t number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + 1);
}

static size_t size_of(uint64_t number)
{
    return number * 37 % (LARGEST + 1);
}

static bool write_number(uint64_t number)
{
    unsigned char payload[LARGEST];
    size_t bytes = size_of(number), head = bytes < 8 ? bytes : 8;
    for (size_t i = 0; i < bytes; i++) {
        payload[i] = pattern(number, i);
    }
    struct co_packet packet = {.context = number, .source = (int32_t)number, .tag = -5, .kind = CO_PACKET_EAGER};
    return co_ring_write(&writer, shape, &packet, payload, head, payload + head, bytes - head);
}

static bool read_number(uint64_t number)
{
    struct co_packet packet;
    const unsigned char *payload = co_ring_front(&reader, shape, &packet);
    if (payload == NULL) {
        return false;
    }
    assert_int_equal(packet.context, number);
    assert_int_equal(packet.source, (int32_t)number);
    assert_int_equal(packet.tag, -5);
    assert_int_equal(packet.kind, CO_PACKET_EAGER);
    assert_int_equal(packet.bytes, size_of(number));
    for (size_t i = 0; i < packet.bytes; i++) {
        assert_int_equal(payload[i], pattern(number, i));
    }
    co_ring_drop(&reader, shape, packet.bytes);
    return true;
}

static void around(void **state)
{
    (void)state;
    uint64_t written = 0, read = 0;
    assert_false(read_number(0));
    while (read < ROUNDS) {
        while (written < ROUNDS && write_number(written)) {
            written++;
        }
        assert_true(written > read);
        uint64_t until = read + 1 + read % 5; // mostly near the full end
        while (read < until && read < written) {
            assert_true(read_number(read));
            read++;
        }
    }
    assert_false(read_number(read));
}

static void full_of_slots(void **state)
{
    (void)state;
    struct co_packet packet = {.kind = CO_PACKET_ACK};
    for (int i = 0; i < SLOTS; i++) {
        assert_true(co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
    }
    assert_false(co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
    for (int i = 0; i < SLOTS / 4; i++) {
        assert_non_null(co_ring_front(&reader, shape, &packet));
        co_ring_drop(&reader, shape, packet.bytes);
    }
    assert_true(co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
}

// What is said to find room does, in pieces, and not much more than that.
static void room(void **state)
{
    enum { PIECE = 256, WANTED = 1500 };
    (void)state;
    static const unsigned char piece[PIECE];
    struct co_packet packet = {.kind = CO_PACKET_DATA};
    for (uint64_t round = 0; round < 3000; round++) {
        size_t bytes = co_ring_room(&writer, shape, PIECE, WANTED), most = round % 3 == 0 ? bytes : round * 29 % WANTED;
        assert_true(bytes <= WANTED && (bytes == WANTED || bytes % PIECE == 0));
        for (size_t done = 0, next; done < bytes && done < most; done += next) {
            next = bytes - done < PIECE ? bytes - done : PIECE;
            assert_true(co_ring_write(&writer, shape, &packet, piece, 0, piece, next));
        }
        packet.kind = CO_PACKET_RTS;
        assert_true(bytes == 0 || co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
        packet.kind = CO_PACKET_DATA;
        if (round % 3 == 0 && bytes < WANTED) {
            assert_int_equal(co_ring_room(&writer, shape, PIECE, PIECE), 0);
        }
        for (uint64_t i = 0; i < round % 5 && co_ring_front(&reader, shape, &packet) != NULL; i++) {
            co_ring_drop(&reader, shape, packet.bytes);
        }
    }
}

static void room_in_slots(void **state)
{
    (void)state;
    struct co_packet packet = {.kind = CO_PACKET_ACK};
    for (size_t left = SLOTS; left > 0; left--) {
        size_t pieces =
            co_ring_room(&writer, shape, 1, SLOTS); // as many as the area holds, with a slot for what is before
        assert_int_equal(pieces, left - 1 < AREA / CO_CACHE_LINE ? left - 1 : AREA / CO_CACHE_LINE);
        assert_true(co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
    }
}

// A reader that has read all says so, however little it was.
static void all_is_told(void **state)
{
    (void)state;
    struct co_packet packet = {.kind = CO_PACKET_ACK};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SLOTS; i++) {
            assert_true(co_ring_write(&writer, shape, &packet, NULL, 0, NULL, 0));
        }
        for (int i = 0; i < SLOTS; i++) {
            assert_non_null(co_ring_front(&reader, shape, &packet));
            co_ring_drop(&reader, shape, packet.bytes);
            if (i == round) { // quarters are counted from here
                co_ring_tell_read(&reader);
            }
        }
        co_ring_tell_read(&reader);
    }
}

static void stamps_wrap(void **state)
{
    (void)state;
    uint64_t start = UINT32_MAX - 100;
    start -= start % SLOTS;
    writer.slots = writer.slots_told = reader.slots = reader.slots_told = start;
    co_store_relaxed(&ring->read_slots, start);
    for (uint64_t i = 0; i < 300; i++) {
        assert_false(read_number(i));
        assert_true(write_number(i));
        assert_true(read_number(i));
    }
}

// What the slot says is more than any packet has, up to the end of the area and beyond it.
static void more_bytes_than_a_packet_has(void **state)
{
    (void)state;
    struct co_packet packet;
    static const uint32_t lies[] = {AREA / 2 + 1, AREA, AREA + 1, 0xffffff};
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        ring->slots[0].kind_and_bytes = (uint32_t)CO_PACKET_EAGER << 24 | lies[i];
        co_store_relaxed(&ring->slots[0].stamp, 1);
        assert_non_null(co_ring_front(&reader, shape, &packet));
        assert_int_equal(packet.kind, CO_PACKET_BROKEN);
        assert_int_equal(packet.bytes, 0);
    }
}

// What the reader says that it has read is wrong: the writer stays inside of the ring all the same.
static void more_is_read_than_was_written(void **state)
{
    (void)state;
    static const uint64_t lies[] = {1, SLOTS, UINT64_C(1) << 40, UINT64_MAX};
    for (uint64_t number = 0; number < 1000; number++) {
        co_store_relaxed(&ring->read_slots, lies[number % 4]);
        co_store_relaxed(&ring->read_bytes, lies[number / 4 % 4]);
        write_number(number);
    }
    assert_true(writer.slots > SLOTS);
}

static void *write_all(void *arg)
{
    (void)arg;
    for (uint64_t number = 0; number < ROUNDS; number++) {
        while (!write_number(number)) {
            sched_yield();
        }
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
    for (uint64_t number = 0; number < ROUNDS; number++) {
        while (!read_number(number)) {
            sched_yield();
        }
    }
    pthread_join(thread, NULL);
}

static bool is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

// Rings of all ordered pairs fit the memory, and those of a crowded node hold the most messages for which there is
// room.
static void shapes(void **state)
{
    (void)state;
    for (int size = 2; size <= 400; size++) {
        for (size_t memory = 1 << 20; memory <= (size_t)1 << 30; memory *= 4) {
            struct co_ring_shape plain = co_ring_channel_shape(memory, size, false);
            struct co_ring_shape deep = co_ring_channel_shape(memory, size, true);
            size_t each = memory / ((size_t)size * (size_t)(size - 1));
            assert_int_equal(plain.area == 0, deep.area == 0);
            if (plain.area == 0) {
                assert_true(co_ring_bytes((struct co_ring_shape){16, 2048}) > each);
                continue;
            }
            assert_true(co_ring_bytes(plain) <= each && co_ring_bytes(deep) <= each);
            assert_true(is_power_of_two(plain.slots) && is_power_of_two(plain.area));
            assert_true(is_power_of_two(deep.slots) && is_power_of_two(deep.area));
            assert_true(deep.slots >= plain.slots && deep.area <= plain.area);
            assert_true(each < 48 << 10 || (plain.slots >= 64 && plain.area >= 32 << 10));
            assert_true(each < 336 << 10 || plain.slots == 512);
            assert_true(each < 272 << 10 || plain.area == 256 << 10);
            assert_true(each < 100 << 10 || deep.slots == 512);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(around, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(full_of_slots, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(room, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(room_in_slots, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(all_is_told, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(stamps_wrap, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(more_bytes_than_a_packet_has, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(more_is_read_than_was_written, open_ring, close_ring),
        cmocka_unit_test_setup_teardown(two_threads, open_ring, close_ring),
        cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
