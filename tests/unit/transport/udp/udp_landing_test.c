// SPDX-License-Identifier: BSD-3-Clause
//
// Payload received straight to its place: whatever comes, every datagram is delivered once, in order and intact, what
// comes as expected stands where it goes, and no byte outside is touched.
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "udp_on_loopback.h"

#define GROUP 1
#define HEAD 8
#define TAIL 4
#define PAYLOAD 1000
#define BATCH 20
#define PLACES 600
#define LAST_PAYLOAD 77 // of the last place
#define BUFFER_BYTES ((PLACES - 1) * PAYLOAD + LAST_PAYLOAD)
#define GUARD 64
#define SENT_MAX 4000
#define WAIT_MS 10000

// What a datagram is stands in its first four bytes: a place, or something else.
#define STRANGER 0x80000000U

struct rig {
    struct co_transport *from, *to;
    uint8_t memory[GUARD + BUFFER_BYTES + GUARD];
    uint8_t *places; // where the landing is said to be: in `memory`, or where nobody can write
    uint32_t next;   // place expected
    uint32_t landing_first;
    bool has_gro;
    unsigned landed, delivered;
    struct sent {
        uint32_t what;
        size_t bytes; // of the datagram
    } sent[SENT_MAX];
    unsigned sent_count;
};

static uint8_t payload_byte(uint32_t what, size_t at)
{
    return (uint8_t)(what * 131 + at * 7 + at / 256);
}

static size_t payload_bytes(uint32_t place)
{
    return place == PLACES - 1 ? LAST_PAYLOAD : PAYLOAD;
}

static size_t fill(uint8_t *datagram, uint32_t what, size_t payload)
{
    memcpy(datagram, &what, sizeof what);
    memset(datagram + sizeof what, 'h', HEAD - sizeof what);
    for (size_t i = 0; i < payload; i++) {
        datagram[HEAD + i] = payload_byte(what, i);
    }
    memset(datagram + HEAD + payload, 't', TAIL);
    return HEAD + payload + TAIL;
}

static void send_run(struct rig *rig, const uint32_t *whats, const size_t *payloads, unsigned count)
{
    static uint8_t bytes[64][HEAD + PAYLOAD + TAIL];
    struct co_tx_datagram batch[64];
    for (unsigned i = 0; i < count; i++) {
        size_t size = fill(bytes[i], whats[i], payloads[i]);
        batch[i] = (struct co_tx_datagram){.head = bytes[i], .head_bytes = (uint32_t)size};
        rig->sent[rig->sent_count++] = (struct sent){whats[i], size};
    }
    struct co_destination to = {CO_TO_GROUP, GROUP};
    assert_int_equal(rig->from->ops->send(rig->from, to, batch, count), count);
}

static void send_places(struct rig *rig, uint32_t first, unsigned count)
{
    uint32_t whats[64];
    size_t payloads[64];
    for (unsigned i = 0; i < count; i++) {
        whats[i] = first + i;
        payloads[i] = payload_bytes(first + i);
    }
    send_run(rig, whats, payloads, count);
}

static void send_strangers(struct rig *rig, unsigned count, size_t payload)
{
    uint32_t whats[64];
    size_t payloads[64];
    for (unsigned i = 0; i < count; i++) {
        whats[i] = STRANGER + rig->sent_count + i;
        payloads[i] = payload;
    }
    send_run(rig, whats, payloads, count);
}

// As the engine sees it: places from `next` on are open, what is behind may be written to.
static bool expects(void *arg, unsigned group, struct co_landing *landing)
{
    struct rig *rig = arg;
    assert_int_equal(group, GROUP);
    if (rig->next >= PLACES) {
        return false;
    }
    rig->landing_first = rig->next;
    *landing = (struct co_landing){.at = rig->places + (size_t)rig->next * PAYLOAD,
                                   .bytes = BUFFER_BYTES - (size_t)rig->next * PAYLOAD,
                                   .head_bytes = HEAD,
                                   .payload_bytes = PAYLOAD,
                                   .tail_bytes = TAIL,
                                   .first_batch = BATCH - rig->next % BATCH,
                                   .batch = BATCH};
    return true;
}

static bool is_expected(void *arg, const uint8_t *data, size_t bytes, uint32_t place)
{
    const struct rig *rig = arg;
    uint32_t what;
    memcpy(&what, data, sizeof what);
    return what == rig->landing_first + place && bytes == HEAD + payload_bytes(what) + TAIL;
}

static void check(struct rig *rig, const uint8_t *data, size_t bytes, const uint8_t *payload)
{
    assert_true(rig->delivered < rig->sent_count);
    const struct sent *sent = &rig->sent[rig->delivered++];
    uint32_t what;
    memcpy(&what, data, sizeof what);
    assert_int_equal(what, sent->what);
    assert_int_equal(bytes, sent->bytes);
    for (size_t i = 0; i < bytes - HEAD - TAIL; i++) {
        assert_int_equal(payload[i], payload_byte(what, i));
    }
    for (size_t i = 0; i < TAIL; i++) {
        assert_int_equal(data[bytes - TAIL + i], 't');
    }
}

static void open_to(struct rig *rig, uint32_t what)
{
    if (what < PLACES && what >= rig->next) {
        rig->next = what + 1;
    }
}

static void take(struct rig *rig, const uint8_t *data, size_t bytes)
{
    check(rig, data, bytes, data + HEAD);
    uint32_t what;
    memcpy(&what, data, sizeof what);
    if (what < PLACES) {
        memcpy(rig->memory + GUARD + (size_t)what * PAYLOAD, data + HEAD, bytes - HEAD - TAIL);
    }
    open_to(rig, what);
}

static void deliver(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        take(arg, arrivals[i].data, arrivals[i].bytes);
    }
}

static void land(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct rig *rig = arg;
    for (unsigned i = 0; i < count; i++) {
        uint32_t what;
        memcpy(&what, arrivals[i].data, sizeof what);
        assert_int_equal(what, rig->landing_first + arrivals[i].immediate);
        check(rig, arrivals[i].data, arrivals[i].bytes, rig->memory + GUARD + (size_t)what * PAYLOAD);
        open_to(rig, what);
        rig->landed++;
    }
}

static struct rig *rig_open(void)
{
    static const struct co_lander lander = {.expects = expects, .is_expected = is_expected, .deliver = land};
    struct rig *rig = calloc(1, sizeof *rig);
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    char text[200];
    assert_non_null(rig);
    rig->from = udp_opened(&config, &address);
    rig->to = udp_opened(&config, &address);
    co_udp_describe(rig->to, text, sizeof text);
    rig->has_gro = strstr(text, "gro yes") != NULL && strstr(text, "gso yes") != NULL;
    assert_int_equal(rig->to->ops->join(rig->to, GROUP), 0);
    rig->to->ops->land(rig->to, &lander);
    memset(rig->memory, '-', sizeof rig->memory);
    rig->places = rig->memory + GUARD;
    return rig;
}

static void receive_all(struct rig *rig)
{
    struct pollfd fds[8];
    while (rig->delivered < rig->sent_count) {
        int count = rig->to->ops->descriptors(rig->to, fds, 8, 0);
        assert_true(poll(fds, (nfds_t)count, WAIT_MS) > 0);
        assert_true(rig->to->ops->poll(rig->to, 256, deliver, rig) >= 0);
    }
}

static void assert_guards(const struct rig *rig)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(rig->memory[i], '-');
        assert_int_equal(rig->memory[GUARD + BUFFER_BYTES + i], '-');
    }
}

static void assert_places(const struct rig *rig, uint32_t from, uint32_t to)
{
    for (uint32_t place = from; place < to; place++) {
        for (size_t i = 0; i < payload_bytes(place); i++) {
            assert_int_equal(rig->memory[GUARD + (size_t)place * PAYLOAD + i], payload_byte(place, i));
        }
    }
}

static void rig_close(struct rig *rig)
{
    assert_guards(rig);
    rig->from->ops->close(rig->from);
    rig->to->ops->close(rig->to);
    free(rig);
}

static void in_order_nothing_is_copied(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    for (uint32_t first = 0; first < PLACES; first += BATCH) {
        send_places(rig, first, BATCH);
        receive_all(rig);
    }
    assert_places(rig, 0, PLACES);
    assert_int_equal(rig->landed, rig->has_gro ? PLACES : rig->landed);
    assert_true(rig->landed >= PLACES / BATCH);
    rig_close(rig);
}

// Several messages wait at once: how many of them can be aimed at is learnt.
static void messages_in_a_row_land(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    for (uint32_t first = 0; first < PLACES; first += 5 * BATCH) {
        for (uint32_t at = first; at < first + 5 * BATCH; at += BATCH) {
            send_places(rig, at, BATCH);
        }
        receive_all(rig);
    }
    assert_places(rig, 0, PLACES);
    assert_true(!rig->has_gro || rig->landed > PLACES / 2);
    rig_close(rig);
}

static void strangers_are_put_together_again(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    send_strangers(rig, BATCH, PAYLOAD); // look the same from afar
    receive_all(rig);
    send_strangers(rig, 7, 13);
    send_strangers(rig, 1, 0);
    send_strangers(rig, 3, PAYLOAD - 1);
    receive_all(rig);
    assert_int_equal(rig->landed, 0);
    for (uint32_t first = 0; first < PLACES; first += BATCH) {
        send_places(rig, first, BATCH);
        receive_all(rig);
    }
    assert_places(rig, 0, PLACES);
    rig_close(rig);
}

static void what_was_lost_leaves_its_place_open(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    send_places(rig, 0, 10);
    send_places(rig, 12, 8); // 10 and 11 never come
    send_places(rig, 20, BATCH);
    receive_all(rig);
    assert_places(rig, 0, 10);
    assert_places(rig, 12, 40);
    send_places(rig, 10, 2); // too late to be expected
    receive_all(rig);
    assert_places(rig, 0, 40);
    rig_close(rig);
}

// The message goes on with what no longer belongs to it.
static void more_than_expected_is_delivered(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    uint32_t whats[] = {PLACES - 3, PLACES - 2, STRANGER + 5, STRANGER + 6};
    size_t payloads[] = {PAYLOAD, PAYLOAD, PAYLOAD, PAYLOAD};
    rig->next = PLACES - 3;
    send_run(rig, whats, payloads, 4); // a stranger of full size where a short one is expected
    receive_all(rig);
    send_places(rig, PLACES - 1, 1);
    receive_all(rig);
    assert_places(rig, PLACES - 3, PLACES);
    rig_close(rig);
}

static unsigned below(unsigned *seed, unsigned limit)
{
    *seed = *seed * 1103515245 + 12345;
    return (*seed >> 16) % limit;
}

// What the kernel cannot write it throws away. The next one is received otherwise, or nothing would come any more.
static void what_cannot_be_written_costs_one_receive(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct pollfd fds[8];
    void *forbidden = mmap(NULL, BUFFER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(forbidden, MAP_FAILED);
    rig->places = forbidden;
    send_places(rig, 0, 1);
    assert_true(poll(fds, (nfds_t)rig->to->ops->descriptors(rig->to, fds, 8, 0), WAIT_MS) > 0);
    assert_int_equal(rig->to->ops->poll(rig->to, 256, deliver, rig), 0);
    assert_int_equal(rig->delivered++, 0); // it is lost
    send_places(rig, 0, 1);
    receive_all(rig);
    assert_int_equal(rig->landed, 0);
    munmap(forbidden, BUFFER_BYTES);
    rig_close(rig);
}

// Runs in order, out of order, repeated and foreign, of all sizes, in one poll or several.
static void anything_arrives_intact(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 30; seed++) {
        unsigned random = seed, at = 0;
        struct rig *rig = rig_open();
        while (at < PLACES) {
            unsigned count = 1 + below(&random, BATCH + 5), left = PLACES - at;
            count = count < left ? count : left;
            switch (below(&random, 6)) {
            case 0:
                send_strangers(rig, count, below(&random, PAYLOAD + 1));
                break;
            case 1:
                send_places(rig, below(&random, at + 1), 1); // again, or the next
                break;
            default:
                send_places(rig, at, count);
                at += count;
            }
            if (below(&random, 3) == 0) {
                receive_all(rig);
            }
        }
        receive_all(rig);
        assert_places(rig, 0, PLACES);
        rig_close(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_nothing_is_copied),       cmocka_unit_test(messages_in_a_row_land),
        cmocka_unit_test(strangers_are_put_together_again), cmocka_unit_test(what_was_lost_leaves_its_place_open),
        cmocka_unit_test(more_than_expected_is_delivered),  cmocka_unit_test(what_cannot_be_written_costs_one_receive),
        cmocka_unit_test(anything_arrives_intact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
