// SPDX-License-Identifier: BSD-3-Clause
//
// Any packets, in any order, to a rank that sends, receives, probes and cancels, from a neighbour on its node and from
// another host, with and without the numbers that it has told: no byte is read or written where none belongs,
// and what is done is done once. The input is a list of steps.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p2p_channels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { OPERATIONS = 48, KINDS = CO_PACKET_CREDIT + 2 }; // of packets, and one that is none

static const uint8_t *input;
static size_t left;
static bool may_read;
static uint64_t clock_ns;

// Of the program.
static struct co_p2p *p2p;
static struct co_p2p_context *context;
static struct co_p2p_send sends[OPERATIONS];
static struct co_p2p_receive receives[OPERATIONS];
static void *buffers[OPERATIONS];
static struct co_p2p_message *taken[OPERATIONS];
static unsigned send_count, receive_count, taken_count;

static unsigned next_of(unsigned count)
{
    unsigned value = left > 0 ? *input : 0;
    input += left > 0;
    left -= left > 0;
    return value % count;
}

// What a peer could name: a number that it was told, or one that it made up.
static uint64_t number_next(void)
{
    unsigned which = next_of(NUMBERS + 1);
    return which < NUMBERS ? channels.numbers[which] : (uint64_t)next_of(256) << 32 | next_of(4);
}

static int read_peer(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)remote;
    must(peer == NEIGHBOUR);
    if (may_read) {
        memset(local, 2, bytes);
    }
    return may_read ? 0 : -EPERM;
}

static uint64_t now(void)
{
    return clock_ns++;
}

static void say_packet(void)
{
    static const uint64_t lengths[] = {0, 1, 100, 5000, 40000, 200000, UINT64_C(1) << 40, UINT64_MAX};
    uint64_t words[4] = {number_next(), lengths[next_of(8)], next_of(2), next_of(3) == 0 ? next_of(256) * 128 : 0};
    struct co_packet packet = {.kind = (enum co_packet_kind)next_of(KINDS),
                               .context = next_of(8) == 0 ? 2 : 1,
                               .source = (int32_t)next_of(PEERS + 2) - 1,
                               .tag = (int32_t)next_of(3)};
    size_t head = packet.kind == CO_PACKET_RTS || packet.kind == CO_PACKET_CTS ? sizeof words
                  : packet.kind == CO_PACKET_EAGER || packet.kind == CO_PACKET_FIRST || packet.kind == CO_PACKET_DATA
                      ? 0
                      : sizeof *words;
    if (packet.kind == CO_PACKET_CTS) { // operation, receive, bytes, number
        words[2] = words[1];
        words[1] = next_of(256);
    }
    head = next_of(16) == 0 ? next_of(sizeof words) : head;
    size_t body = head == sizeof words ? 0 : (size_t)next_of(256) * (PAYLOAD_MOST - sizeof words) / 255;
    packet.bytes = (uint32_t)(head + body);
    if (packet.kind == CO_PACKET_DATA) {
        packet.context = words[0];
    }
    channels.coming.packet = packet;
    channels.coming.peer = NEIGHBOUR + (int)next_of(2);
    channels.coming.payload = malloc(head + body + 1);
    memset(channels.coming.payload, 3, head + body + 1);
    memcpy(channels.coming.payload, words, head);
    co_p2p_progress(p2p);
    free(channels.coming.payload); // nobody polled
    channels.coming.payload = NULL;
}

static size_t size_next(void)
{
    static const size_t sizes[] = {0, 1, 64, 200, 1500, 5000, 9000, 70000};
    return sizes[next_of(8)];
}

static void send_one(void)
{
    if (send_count == OPERATIONS) {
        return;
    }
    struct co_p2p_send *send = &sends[send_count];
    size_t bytes = size_next();
    void *data = malloc(bytes + 1);
    memset(data, 4, bytes + 1);
    buffers[send_count++] = data;
    *send = (struct co_p2p_send){.context = context,
                                 .data = data,
                                 .bytes = bytes,
                                 .destination = (int32_t)next_of(PEERS),
                                 .tag = (int32_t)next_of(3),
                                 .is_synchronous = next_of(3) == 0};
    co_p2p_send(send);
}

static struct co_p2p_receive *receive_make(void)
{
    struct co_p2p_receive *receive = &receives[receive_count];
    size_t room = size_next();
    *receive = (struct co_p2p_receive){.context = context, .buffer = malloc(room), .room = room};
    receive_count++;
    return receive;
}

static void receive_one(void)
{
    if (receive_count < OPERATIONS) {
        int32_t source = (int32_t)next_of(PEERS + 1), tag = (int32_t)next_of(4);
        co_p2p_receive(receive_make(), source == PEERS ? CO_P2P_ANY : source, tag == 3 ? CO_P2P_ANY : tag);
    }
}

static void take_one(void)
{
    struct co_p2p_info info;
    struct co_p2p_message *message =
        taken_count < OPERATIONS ? co_p2p_take(context, CO_P2P_ANY, CO_P2P_ANY, &info) : NULL;
    if (message != NULL) {
        taken[taken_count++] = message;
    }
}

static void taken_receive(void)
{
    if (taken_count > 0 && receive_count < OPERATIONS) {
        co_p2p_receive_taken(receive_make(), taken[--taken_count]);
    }
}

static void transfer_end(void)
{
    if (channels.pending_count > 0 && !channels.has_ended) {
        unsigned which = next_of(channels.pending_count);
        channels.ended = channels.pending[which];
        channels.ended.result = next_of(4) == 0 ? -EIO : 0;
        channels.has_ended = true;
        channels.pending[which] = channels.pending[--channels.pending_count];
    }
    co_p2p_progress(p2p);
}

static void change_something(void)
{
    switch (next_of(6)) {
    case 0:
        channels.has_room = !channels.has_room;
        break;
    case 1:
        may_read = !may_read;
        break;
    case 2:
        clock_ns += 10000;
        break;
    case 3:
        channels.given_back[NEIGHBOUR + next_of(2)] += (uint64_t)next_of(256) * 100;
        break;
    case 4:
        co_store_relaxed(&channels.gates[NEIGHBOUR][next_of(2)], next_of(2) ? number_next() : 0); // relaxed: one thread
        break;
    default:
        if (next_of(8) == 0) {
            co_p2p_lose(p2p, NEIGHBOUR + (int)next_of(2));
        }
    }
}

static void step(void)
{
    switch (next_of(16)) {
    case 0:
    case 1:
        send_one();
        break;
    case 2:
    case 3:
        receive_one();
        break;
    case 4:
        take_one();
        break;
    case 5:
        taken_receive();
        break;
    case 6:
        if (receive_count > 0) {
            co_p2p_cancel(&receives[next_of(receive_count)]);
        }
        break;
    case 7:
        transfer_end();
        break;
    case 8:
        change_something();
        break;
    case 9:
        co_p2p_progress(p2p);
        break;
    default:
        say_packet();
    }
}

static void open_all(void)
{
    static const int local_ranks[PEERS] = {0, 1, -1}, members[PEERS] = {SELF, NEIGHBOUR, OTHER_HOST};
    p2p_channels_open();
    struct co_p2p_config config = {.channel = &channels.channel[0],
                                   .remote_channel = &channels.channel[1],
                                   .local_ranks = local_ranks,
                                   .size = PEERS,
                                   .self = SELF,
                                   .eager_most = 1024,
                                   .remote_eager_most = 1024,
                                   .stream_most = 50000,
                                   .credit = 65536,
                                   .buffered_most = 20000,
                                   .matcher = {16, 16, 4},
                                   .places_most = 64,
                                   .lanes = next_of(2) ? 2 : 0,
                                   .read = next_of(4) ? read_peer : NULL,
                                   .patience_ns = 1000,
                                   .now_ns = now};
    may_read = true;
    clock_ns = 1;
    send_count = receive_count = taken_count = 0;
    must(co_p2p_open(&p2p, &config) == 0);
    context = co_p2p_context_open(p2p, 1, members, PEERS, SELF);
    must(context != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    input = data;
    left = bytes;
    open_all();
    while (left > 0) {
        step();
    }
    while (channels.pending_count > 0 || channels.has_ended) { // else closing leaves them alone
        transfer_end();
    }
    while (taken_count > 0) {
        co_p2p_drop_taken(taken[--taken_count]);
    }
    co_p2p_close(p2p);
    for (unsigned i = 0; i < send_count; i++) {
        free(buffers[i]);
    }
    for (unsigned i = 0; i < receive_count; i++) {
        must(co_p2p_receive_is_done(&receives[i]));
        free(receives[i].buffer);
    }
    return 0;
}
