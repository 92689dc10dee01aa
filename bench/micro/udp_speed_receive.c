// SPDX-License-Identifier: BSD-3-Clause
//
// A receiver of udp_speed: says how far it is, and has payload put where it goes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "udp_speed.h"

#define REPORT_BYTES (128 * 1024)
#define SILENCE_MS 20000 // after which a receiver gives up

struct receiver {
    struct co_transport *udp;
    struct co_tx_datagram answer;
    struct head answer_head;
    bool is_connected, is_done;
    uint64_t received, landed, furthest, reported, first_ns, last_ns, end_ns;
    uint8_t *buffer;    // NULL: nothing is put anywhere
    uint64_t landing;   // number of the first datagram that is expected
    struct rusage used; // up to the first byte, then from there to the end
};

static void answer(struct receiver *receiver, enum word word, uint64_t number)
{
    receiver->answer_head = (struct head){.word = word, .from = (uint32_t)getpid(), .number = number};
    receiver->answer = (struct co_tx_datagram){.head = &receiver->answer_head, .head_bytes = HEAD_BYTES};
    receiver->udp->ops->send(receiver->udp, (struct co_destination){CO_TO_PEER, 0}, &receiver->answer, 1);
}

// `bytes` of the datagram stand at `data`, all but the payload if that has landed.
static void hear_one(struct receiver *receiver, const uint8_t *data, size_t bytes, bool has_landed)
{
    struct head head;

    if (bytes < HEAD_BYTES) {
        return;
    }
    memcpy(&head, data, sizeof head);
    if (head.word == DATA) {
        if (receiver->first_ns == 0) {
            receiver->first_ns = co_clock_now_ns();
            getrusage(RUSAGE_SELF, &receiver->used);
            prctl(PR_SET_NAME, "cost-receiver");
        }
        if (receiver->buffer != NULL && !has_landed && bytes == receiver->udp->max_datagram_bytes) {
            memcpy(receiver->buffer + udp_speed_place(receiver->udp, head.number), data + HEAD_BYTES,
                   udp_speed_payload(receiver->udp));
        }
        receiver->received += bytes;
        receiver->landed += has_landed ? bytes : 0;
        receiver->furthest = head.number + bytes;
        if (receiver->furthest - receiver->reported >= REPORT_BYTES) {
            receiver->reported = receiver->furthest;
            receiver->last_ns = co_clock_now_ns();
            answer(receiver, REPORT, receiver->furthest);
        }
    } else if (head.word == HELLO) {
        struct co_udp_address sender = {.ip = head.ip, .port = head.port};
        if (!receiver->is_connected) {
            receiver->is_connected = co_udp_connect(receiver->udp, &sender, 1, 0) == 0;
        }
        answer(receiver, READY, 0);
    } else if (head.word == END) {
        receiver->used = receiver->is_done ? receiver->used : udp_speed_usage_since(&receiver->used);
        receiver->end_ns = receiver->is_done ? receiver->end_ns : co_clock_now_ns();
        receiver->is_done = true;
        answer(receiver, DONE, receiver->received);
    }
}

static void hear(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        hear_one(arg, arrivals[i].data, arrivals[i].bytes, false);
    }
}

static void hear_landed(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        hear_one(arg, arrivals[i].data, arrivals[i].bytes, true);
    }
}

static bool expects(void *arg, unsigned group, struct co_landing *landing)
{
    struct receiver *receiver = arg;
    const struct co_transport *udp = receiver->udp;
    uint64_t next = receiver->furthest / udp->max_datagram_bytes;
    (void)group;
    receiver->landing = next * udp->max_datagram_bytes;
    *landing = (struct co_landing){.at = receiver->buffer + udp_speed_place(udp, receiver->landing),
                                   .bytes = (udp_speed_datagrams(udp) - next % udp_speed_datagrams(udp)) *
                                            udp_speed_payload(udp),
                                   .head_bytes = HEAD_BYTES,
                                   .payload_bytes = (uint32_t)udp_speed_payload(udp),
                                   .tail_bytes = TAIL_BYTES,
                                   .first_batch = udp->max_batch - (unsigned)(next % udp->max_batch),
                                   .batch = udp->max_batch};
    return receiver->is_connected;
}

static bool is_expected(void *arg, const uint8_t *data, size_t bytes, uint32_t place)
{
    const struct receiver *receiver = arg;
    struct head head;
    memcpy(&head, data, sizeof head);
    return bytes == receiver->udp->max_datagram_bytes && head.word == DATA &&
           head.number == receiver->landing + place * (uint64_t)receiver->udp->max_datagram_bytes;
}

int udp_speed_receive(const char *interface)
{
    static const struct co_lander lander = {.expects = expects, .is_expected = is_expected, .deliver = hear_landed};
    struct co_udp_address address;
    struct receiver receiver = {.udp = udp_speed_open(interface, udp_speed_is_plain, &address)};
    uint64_t calls;

    if (!udp_speed_is_untouched) {
        receiver.buffer = calloc(1, BUFFER_BYTES);
        memset(receiver.buffer, 1, BUFFER_BYTES);
        if (receiver.udp->ops->land != NULL) {
            receiver.udp->ops->land(receiver.udp, &lander);
        }
    }

    if (receiver.udp->ops->join(receiver.udp, 0) != 0) {
        return 1;
    }
    while (!receiver.is_done || co_clock_now_ns() - receiver.end_ns < 200 * CO_NS_PER_MS) { // END may be repeated
        if (receiver.udp->ops->poll(receiver.udp, 256, hear, &receiver) == 0) {
            if (!udp_speed_sleep(receiver.udp, receiver.is_done ? 50 : SILENCE_MS, 0) && !receiver.is_done) {
                fprintf(stderr, "udp_speed: receiver %d heard nothing for %d s\n", (int)getpid(), SILENCE_MS / 1000);
                return 1;
            }
        }
    }
    calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    double seconds = (double)(receiver.last_ns - receiver.first_ns) / (double)CO_NS_PER_S;
    double received = (double)receiver.received;
    double share = (double)udp_speed_payload(receiver.udp) / (double)receiver.udp->max_datagram_bytes;
    printf("receiver %d: %.3f GB/s, %.1f %% landed, %.1f %% lost, %.1f receiving calls a MiB\n", (int)getpid(),
           received * share / seconds / 1e9, 100 * (double)receiver.landed / received,
           100 * (1 - received / (double)(receiver.furthest ? receiver.furthest : 1)),
           (double)calls * 1048576 / received);
    udp_speed_print_usage("receiver", &receiver.used, receiver.first_ns, receiver.end_ns);
    receiver.udp->ops->close(receiver.udp);
    return 0;
}
