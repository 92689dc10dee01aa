// SPDX-License-Identifier: BSD-3-Clause
//
// How fast the UDP transport alone is: one sender multicasts to N receivers under the least flow control that keeps
// their buffers from overrunning (each says now and then how far it is; the sender stays within a window of the
// slowest). No reliability, no tags: the "sockets alone" that the protocol is held against. As a broadcast does, the
// sender reads a buffer of 8 MiB, and each receiver has what comes put into one, by the landing that castoff uses where
// it can; `untouched`: one page is sent again and again, and nobody reads what comes. Over real or virtual hosts start
// the receivers first, then the sender; `here` does both on one interface. Each prints the processor time that it used
// while the stream lasted: used ROLE PID user_s system_s wall_s from_s to_s (bench/softirq.py reads it).
//
//   udp_speed receive INTERFACE [plain] [untouched]
//   udp_speed send INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain] [untouched]
//   udp_speed here INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain] [untouched]
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "udp_speed.h"

#define JOB_TAG UINT64_C(0x7564702d73706565)
#define RECEIVERS_MAX 256
#define PATIENCE_NS (20 * CO_NS_PER_MS) // after which the window counts what is missing as lost
#define BATCH_MAX 64

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

bool udp_speed_is_plain, udp_speed_is_untouched;

struct co_transport *udp_speed_open(const char *interface, bool plain, struct co_udp_address *address)
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
bool udp_speed_sleep(struct co_transport *udp, int milliseconds, int want_write)
{
    struct pollfd fds[4];
    int count = udp->ops->descriptors(udp, fds, 4, want_write);
    return poll(fds, (nfds_t)count, milliseconds) > 0;
}

size_t udp_speed_payload(const struct co_transport *udp)
{
    return udp->max_datagram_bytes - HEAD_BYTES - TAIL_BYTES;
}

// Of datagrams, whole: what follows starts over at the buffer's begin.
uint64_t udp_speed_datagrams(const struct co_transport *udp)
{
    return BUFFER_BYTES / udp_speed_payload(udp);
}

// Where the payload of the datagram stands that begins there in the stream.
size_t udp_speed_place(const struct co_transport *udp, uint64_t number)
{
    return (size_t)(number / udp->max_datagram_bytes % udp_speed_datagrams(udp)) * udp_speed_payload(udp);
}

struct rusage udp_speed_usage_since(const struct rusage *start)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    now.ru_utime.tv_sec -= start->ru_utime.tv_sec;
    now.ru_utime.tv_usec -= start->ru_utime.tv_usec;
    now.ru_stime.tv_sec -= start->ru_stime.tv_sec;
    now.ru_stime.tv_usec -= start->ru_stime.tv_usec;
    return now;
}

void udp_speed_print_usage(const char *role, const struct rusage *used, uint64_t from_ns, uint64_t to_ns)
{
    double from = (double)from_ns / (double)CO_NS_PER_S, to = (double)to_ns / (double)CO_NS_PER_S;
    printf("used %s %d %.4f %.4f %.4f %.6f %.6f\n", role, (int)getpid(),
           (double)used->ru_utime.tv_sec + 1e-6 * (double)used->ru_utime.tv_usec,
           (double)used->ru_stime.tv_sec + 1e-6 * (double)used->ru_stime.tv_usec, to - from, from, to);
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
    poll(NULL, 0, 20); // answers do not shorten it: who is late must have heard it, too
    sender->udp->ops->poll(sender->udp, 64, collect, sender);
}

static unsigned fill_batch(const struct co_transport *udp, struct co_tx_datagram *batch, struct head *heads,
                           const uint8_t *buffer, uint64_t at, uint64_t end)
{
    unsigned count = 0;
    for (; count < udp->max_batch && count < BATCH_MAX && at < end; count++, at += udp->max_datagram_bytes) {
        const uint8_t *payload = buffer + (udp_speed_is_untouched ? 0 : udp_speed_place(udp, at));
        heads[count] = (struct head){.word = DATA, .number = at};
        batch[count] = (struct co_tx_datagram){.head = &heads[count],
                                               .head_bytes = HEAD_BYTES,
                                               .payload = payload,
                                               .payload_bytes = (uint32_t)udp_speed_payload(udp),
                                               .tail = payload,
                                               .tail_bytes = TAIL_BYTES};
    }
    return count;
}

// Sends `bytes` of stream; returns how often the window had to be forced open because reports were missing.
static unsigned stream(struct sender *sender, uint64_t bytes, uint64_t window)
{
    static struct co_tx_datagram batch[BATCH_MAX];
    static struct head heads[BATCH_MAX];
    static uint8_t buffer[BUFFER_BYTES];
    const struct co_destination group = {CO_TO_GROUP, 0};
    size_t size = sender->udp->max_datagram_bytes;
    uint64_t at = 0, forgiven = 0, moved_ns = co_clock_now_ns();
    unsigned forced = 0;

    memset(buffer, 1, sizeof buffer); // pages that nobody has written are all one
    while (at < bytes) {
        uint64_t base = slowest(sender) > forgiven ? slowest(sender) : forgiven;
        unsigned count = at < base + window ? fill_batch(sender->udp, batch, heads, buffer, at, bytes) : 0;
        int sent = count ? sender->udp->ops->send(sender->udp, group, batch, count) : 0;
        if (sent > 0) {
            at += (uint64_t)sent * size;
            moved_ns = co_clock_now_ns();
        } else if (co_clock_now_ns() - moved_ns > PATIENCE_NS) {
            forgiven = at;
            forced++;
        } else {
            udp_speed_sleep(sender->udp, 1, count > 0);
        }
        sender->udp->ops->poll(sender->udp, 64, collect, sender);
    }
    return forced;
}

static int run_sender(const char *interface, int receivers, uint64_t mib, uint64_t window_kib)
{
    struct co_udp_address address;
    static struct sender sender;
    char text[256];

    sender = (struct sender){.udp = udp_speed_open(interface, udp_speed_is_plain, &address), .receivers = receivers};
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
    prctl(PR_SET_NAME, "cost-sender");
    uint64_t calls = co_counter_read(CO_COUNT_SEND_CALLS), start_ns = co_clock_now_ns();
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    unsigned forced = stream(&sender, mib << 20, window_kib << 10);
    calls = co_counter_read(CO_COUNT_SEND_CALLS) - calls;
    uint64_t end_ns = co_clock_now_ns();
    double seconds = (double)(end_ns - start_ns) / (double)CO_NS_PER_S;
    double share = (double)udp_speed_payload(sender.udp) / (double)sender.udp->max_datagram_bytes;
    used = udp_speed_usage_since(&used);
    for (int i = 0; i < 500 && sender.done < receivers; i++) {
        say(&sender, END, &address);
    }
    printf("sender: %.3f GB/s, %.1f sending calls a MiB, window forced %u times, %d of %d receivers ended\n",
           (double)(mib << 20) * share / seconds / 1e9, (double)calls / (double)mib, forced, sender.done, receivers);
    udp_speed_print_usage("sender", &used, start_ns, end_ns);
    sender.udp->ops->close(sender.udp);
    return sender.done == receivers ? 0 : 1;
}

static int run_here(const char *interface, int receivers, uint64_t mib, uint64_t window_kib)
{
    int failed = 0, status = 0;

    for (int i = 0; i < receivers; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            return 1;
        }
        if (pid == 0) {
            exit(udp_speed_receive(interface));
        }
    }
    failed = run_sender(interface, receivers, mib, window_kib);
    fflush(stdout);
    for (int i = 0; i < receivers; i++) {
        wait(&status);
        failed |= status != 0;
    }
    return failed;
}

// Takes the words behind the numbers; returns how many arguments are left.
static int take_words(int count, char **arguments)
{
    for (; count > 1; count--) {
        if (strcmp(arguments[count - 1], "plain") == 0) {
            udp_speed_is_plain = true;
        } else if (strcmp(arguments[count - 1], "untouched") == 0) {
            udp_speed_is_untouched = true;
        } else {
            break;
        }
    }
    return count;
}

int main(int count, char **arguments)
{
    int numbers = take_words(count, arguments);

    if (numbers == 3 && strcmp(arguments[1], "receive") == 0) {
        return udp_speed_receive(arguments[2]);
    }
    bool is_here = numbers > 1 && strcmp(arguments[1], "here") == 0;
    if (numbers < 5 || numbers > 6 || !(is_here || strcmp(arguments[1], "send") == 0)) {
        fprintf(stderr, "udp_speed receive INTERFACE [plain] [untouched]\n"
                        "udp_speed send|here INTERFACE RECEIVERS MIB [WINDOW_KIB] [plain] [untouched]\n");
        return 2;
    }
    int receivers = atoi(arguments[3]);
    uint64_t mib = strtoull(arguments[4], NULL, 10), window_kib = numbers > 5 ? strtoull(arguments[5], NULL, 10) : 1024;
    if (receivers < 1 || receivers > RECEIVERS_MAX || mib < 1 || window_kib < 1) {
        fprintf(stderr, "udp_speed: 1 to %d receivers, at least 1 MiB and 1 KiB\n", RECEIVERS_MAX);
        return 2;
    }
    return (is_here ? run_here : run_sender)(arguments[2], receivers, mib, window_kib);
}
