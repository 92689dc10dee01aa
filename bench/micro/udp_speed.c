// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the UDP transport alone is: one sender multicasts to N receivers under the least flow control that keeps
// their buffers from overrunning (each says now and then how far it is; the sender stays within a window of the
// slowest). No reliability, no tags, no copies to a user's buffer: the "sockets alone" that the protocol is held
// against. Over real or virtual hosts start the receivers first, then the sender; `here` does both on one interface.
//
//   udp_speed receive INTERFACE [plain]
//   udp_speed send INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain]
//   udp_speed here INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain]
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast/transport/udp.h"

#define JOB_TAG UINT64_C(0x7564702d73706565)
#define RECEIVERS_MAX 256
#define REPORT_BYTES (128 * 1024)
#define HEAD_BYTES 24
#define TAIL_BYTES 16
#define PATIENCE_NS (20 * CO_NS_PER_MS) // after which the window counts what is missing as lost

#define SILENCE_MS 20000 // after which a receiver gives up

enum word { HELLO = 1, DATA, END, READY, REPORT, DONE };

// Starts every datagram.
struct head {
    uint32_t word, from;
    uint64_t number; // DATA: its place in the stream, in bytes; REPORT: how far the receiver is; DONE: received bytes
    uint32_t ip;     // HELLO: the sender's address
    uint16_t port;
    uint16_t zero;
};
_Static_assert(sizeof(struct head) == HEAD_BYTES, "head of a datagram");

struct receiver {
    struct co_transport *udp;
    struct co_tx_datagram answer;
    struct head answer_head;
    bool is_connected, is_done;
    uint64_t received, furthest, reported, first_ns, last_ns, end_ns;
};

struct sender {
    struct co_transport *udp;
    int receivers;
    bool has_answered[RECEIVERS_MAX];
    int answered;
    uint32_t ids[RECEIVERS_MAX];
    uint64_t furthest[RECEIVERS_MAX], received[RECEIVERS_MAX];
    bool is_done[RECEIVERS_MAX];
    int done;
};

static struct co_transport *open_transport(const char *interface, bool plain, struct co_udp_address *address)
{
    struct co_udp_config config = {.interface = interface,
                                   .group_range = "239.192.0.0/16",
                                   .job_tag = JOB_TAG,
                                   .subgroups = 1,
                                   .ttl = 1,
                                   .mtu_bytes = 1500,
                                   .receive_buffer_bytes = 4 << 20,
                                   .send_buffer_bytes = 256 << 10,
                                   .plain = plain};
    struct co_transport *udp = NULL;
    char why[256];

    if (co_udp_open(&udp, &config, address, why, sizeof why) != 0) {
        fprintf(stderr, "udp_speed: %s\n", why);
        exit(1);
    }
    return udp;
}

// False: nothing for so long.
static bool sleep_on(struct co_transport *udp, int milliseconds, int want_write)
{
    struct pollfd fds[4];
    int count = udp->ops->descriptors(udp, fds, 4, want_write);
    return poll(fds, (nfds_t)count, milliseconds) > 0;
}

static void answer(struct receiver *receiver, enum word word, uint64_t number)
{
    receiver->answer_head = (struct head){.word = word, .from = (uint32_t)getpid(), .number = number};
    receiver->answer = (struct co_tx_datagram){.head = &receiver->answer_head, .head_bytes = HEAD_BYTES};
    receiver->udp->ops->send(receiver->udp, (struct co_destination){CO_TO_PEER, 0}, &receiver->answer, 1);
}

static void hear_one(struct receiver *receiver, const uint8_t *data, size_t bytes)
{
    struct head head;

    if (bytes < HEAD_BYTES) {
        return;
    }
    memcpy(&head, data, sizeof head);
    if (head.word == DATA) {
        receiver->first_ns = receiver->first_ns ? receiver->first_ns : co_clock_now_ns();
        receiver->received += bytes;
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
        receiver->is_done = true;
        receiver->end_ns = co_clock_now_ns();
        answer(receiver, DONE, receiver->received);
    }
}

static void hear(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        hear_one(arg, arrivals[i].data, arrivals[i].bytes);
    }
}

static int run_receiver(const char *interface, bool plain)
{
    struct co_udp_address address;
    struct receiver receiver = {.udp = open_transport(interface, plain, &address)};
    uint64_t calls;

    if (receiver.udp->ops->join(receiver.udp, 0) != 0) {
        return 1;
    }
    while (!receiver.is_done || co_clock_now_ns() - receiver.end_ns < 200 * CO_NS_PER_MS) { // END may be repeated
        if (receiver.udp->ops->poll(receiver.udp, 256, hear, &receiver) == 0) {
            if (!sleep_on(receiver.udp, receiver.is_done ? 50 : SILENCE_MS, 0) && !receiver.is_done) {
                fprintf(stderr, "udp_speed: receiver %d heard nothing for %d s\n", (int)getpid(), SILENCE_MS / 1000);
                return 1;
            }
        }
    }
    calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    double seconds = (double)(receiver.last_ns - receiver.first_ns) / (double)CO_NS_PER_S;
    printf("receiver %d: %.3f GB/s, %.1f %% lost, %.1f receiving calls a MiB\n", (int)getpid(),
           (double)receiver.received / seconds / 1e9,
           100.0 * (1 - (double)receiver.received / (double)(receiver.furthest ? receiver.furthest : 1)),
           (double)calls * 1048576 / (double)receiver.received);
    receiver.udp->ops->close(receiver.udp);
    return 0;
}

static int place_of(struct sender *sender, uint32_t id)
{
    int i = 0;
    while (i < sender->answered && sender->ids[i] != id) {
        i++;
    }
    if (i == sender->answered && i < sender->receivers) {
        sender->ids[sender->answered++] = id;
    }
    return i < sender->receivers ? i : -1;
}

static void collect_one(struct sender *sender, const uint8_t *data, size_t bytes)
{
    struct head head;

    if (bytes < HEAD_BYTES) {
        return;
    }
    memcpy(&head, data, sizeof head);
    int at = place_of(sender, head.from);
    if (at < 0) {
        return;
    }
    if (head.word == REPORT && head.number > sender->furthest[at]) {
        sender->furthest[at] = head.number;
    } else if (head.word == DONE && !sender->is_done[at]) {
        sender->is_done[at] = true;
        sender->received[at] = head.number;
        sender->done++;
    }
}

static void collect(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        collect_one(arg, arrivals[i].data, arrivals[i].bytes);
    }
}

static uint64_t slowest(const struct sender *sender)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < sender->receivers; i++) {
        least = sender->furthest[i] < least ? sender->furthest[i] : least;
    }
    return least;
}

static void say(struct sender *sender, enum word word, const struct co_udp_address *mine)
{
    struct head head = {.word = word, .from = (uint32_t)getpid(), .ip = mine->ip, .port = mine->port};
    struct co_tx_datagram datagram = {.head = &head, .head_bytes = HEAD_BYTES};
    sender->udp->ops->send(sender->udp, (struct co_destination){CO_TO_GROUP, 0}, &datagram, 1);
    sleep_on(sender->udp, 20, 0);
    sender->udp->ops->poll(sender->udp, 64, collect, sender);
}

static unsigned fill_batch(struct co_tx_datagram *batch, struct head *heads, const uint8_t *payload, size_t size,
                           unsigned most, uint64_t at, uint64_t end)
{
    unsigned count = 0;
    for (; count < most && at < end; count++, at += size) {
        heads[count] = (struct head){.word = DATA, .number = at};
        batch[count] = (struct co_tx_datagram){.head = &heads[count],
                                               .head_bytes = HEAD_BYTES,
                                               .payload = payload,
                                               .payload_bytes = (uint32_t)(size - HEAD_BYTES - TAIL_BYTES),
                                               .tail = payload,
                                               .tail_bytes = TAIL_BYTES};
    }
    return count;
}

// Sends `bytes` of stream; returns how often the window had to be forced open because reports were missing.
static unsigned stream(struct sender *sender, uint64_t bytes, uint64_t window)
{
    static struct co_tx_datagram batch[64];
    static struct head heads[64];
    static uint8_t payload[65536];
    const struct co_destination group = {CO_TO_GROUP, 0};
    size_t size = sender->udp->max_datagram_bytes;
    uint64_t at = 0, forgiven = 0, moved_ns = co_clock_now_ns();
    unsigned forced = 0;

    while (at < bytes) {
        uint64_t base = slowest(sender) > forgiven ? slowest(sender) : forgiven;
        unsigned count =
            at < base + window ? fill_batch(batch, heads, payload, size, sender->udp->max_batch, at, bytes) : 0;
        int sent = count ? sender->udp->ops->send(sender->udp, group, batch, count) : 0;
        if (sent > 0) {
            at += (uint64_t)sent * size;
            moved_ns = co_clock_now_ns();
        } else if (co_clock_now_ns() - moved_ns > PATIENCE_NS) {
            forgiven = at;
            forced++;
        } else {
            sleep_on(sender->udp, 1, count > 0);
        }
        sender->udp->ops->poll(sender->udp, 64, collect, sender);
    }
    return forced;
}

static int run_sender(const char *interface, int receivers, uint64_t mib, uint64_t window_kib, bool plain)
{
    struct co_udp_address address;
    static struct sender sender;
    char text[256];

    sender = (struct sender){.udp = open_transport(interface, plain, &address), .receivers = receivers};
    for (int i = 0; i < 500 && sender.answered < receivers; i++) {
        say(&sender, HELLO, &address);
    }
    if (sender.answered < receivers) {
        fprintf(stderr, "udp_speed: %d of %d receivers answered\n", sender.answered, receivers);
        return 1;
    }
    co_udp_describe(sender.udp, text, sizeof text);
    printf("# %s; %d receivers, %llu MiB, window %llu KiB\n", text, receivers, (unsigned long long)mib,
           (unsigned long long)window_kib);
    uint64_t calls = co_counter_read(CO_COUNT_SEND_CALLS), start_ns = co_clock_now_ns();
    unsigned forced = stream(&sender, mib << 20, window_kib << 10);
    calls = co_counter_read(CO_COUNT_SEND_CALLS) - calls;
    double seconds = (double)(co_clock_now_ns() - start_ns) / (double)CO_NS_PER_S;
    for (int i = 0; i < 500 && sender.done < receivers; i++) {
        say(&sender, END, &address);
    }
    printf("sender: %.3f GB/s, %.1f sending calls a MiB, window forced %u times, %d of %d receivers ended\n",
           (double)(mib << 20) / seconds / 1e9, (double)calls / (double)mib, forced, sender.done, receivers);
    sender.udp->ops->close(sender.udp);
    return sender.done == receivers ? 0 : 1;
}

static int run_here(const char *interface, int receivers, uint64_t mib, uint64_t window_kib, bool plain)
{
    int failed = 0, status = 0;

    for (int i = 0; i < receivers; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            return 1;
        }
        if (pid == 0) {
            exit(run_receiver(interface, plain));
        }
    }
    failed = run_sender(interface, receivers, mib, window_kib, plain);
    fflush(stdout);
    for (int i = 0; i < receivers; i++) {
        wait(&status);
        failed |= status != 0;
    }
    return failed;
}

int main(int count, char **arguments)
{
    bool plain = count > 1 && strcmp(arguments[count - 1], "plain") == 0;
    int numbers = count - plain;

    if (numbers == 3 && strcmp(arguments[1], "receive") == 0) {
        return run_receiver(arguments[2], plain);
    }
    bool is_here = numbers > 1 && strcmp(arguments[1], "here") == 0;
    if (numbers < 5 || numbers > 6 || !(is_here || strcmp(arguments[1], "send") == 0)) {
        fprintf(stderr, "udp_speed receive INTERFACE [plain]\n"
                        "udp_speed send|here INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain]\n");
        return 2;
    }
    int receivers = atoi(arguments[3]);
    uint64_t mib = strtoull(arguments[4], NULL, 10), window_kib = numbers > 5 ? strtoull(arguments[5], NULL, 10) : 1024;
    if (receivers < 1 || receivers > RECEIVERS_MAX || mib < 1 || window_kib < 1) {
        fprintf(stderr, "udp_speed: 1 to %d receivers, at least 1 MiB and 1 KiB\n", RECEIVERS_MAX);
        return 2;
    }
    return (is_here ? run_here : run_sender)(arguments[2], receivers, mib, window_kib, plain);
}
