// SPDX-License-Identifier: BSD-3-Clause
//
// How many frames a second the hop of one-sided multicast takes and sends, on one core, beside plain forwarding by the
// same program and beside the kernel's bridge. Runs between the interfaces h0 to h3 and their other ends p0 to p3,
// which hop_speed.sh makes: a thread sends the same frame from h0 as fast as it can, the hop has the ends p, and what
// arrives at h1 to h3 is counted by the kernel and dropped. Times are processor time of the thread named.
//
//   hop_speed group|nic|forward|bridge PAYLOAD SECONDS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "onesided/hop_ports.h"
#include "roce_frames.h"

enum { HOSTS = 4, BATCH = 32, QPN = 0x777, KEY = 5, USAGE = 2, LINE = 512 };

#define GROUP 0xefc10001u
#define SENDER_IP 0x0a000001u

static const uint8_t sender_mac[6] = {2, 0, 0, 0, 0, 9};
static const struct co_roce_target targets[] = {
    {.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000002, .qpn = 0x12, .psn_offset = 3, .rkey = 0x22, .address = 0x10000},
    {.mac = {2, 0, 0, 0, 0, 2}, .ip = 0x0a000003, .qpn = 0x13, .psn_offset = 4, .rkey = 0x23, .address = 0x20000},
    {.mac = {2, 0, 0, 0, 0, 3}, .ip = 0x0a000004, .qpn = 0x14, .psn_offset = 5, .rkey = 0x24, .address = 0x30000},
};

static uint8_t frame[ROCE_FRAME_ROOM];
static size_t frame_bytes;
static _Atomic bool stop;
static uint64_t sent, sender_ns;

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t thread_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * CO_NS_PER_S + (uint64_t)time.tv_nsec;
}

// Protocol 0: it only sends.
static int open_host(int number)
{
    char name[16];
    snprintf(name, sizeof name, "h%d", number);
    struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    int host = socket(AF_PACKET, SOCK_RAW, 0);
    if (host < 0 || bind(host, (struct sockaddr *)&place, sizeof place) != 0) {
        give_up(name);
    }
    return host;
}

// What is at h1 to h3 says where it is.
static void say_where(void)
{
    for (int i = 1; i < HOSTS; i++) {
        uint8_t hello[64] = {1, 0, 0x5e, 0, 0, 1};
        int host = open_host(i);
        memcpy(hello + 6, targets[i - 1].mac, 6);
        hello[12] = 0x88, hello[13] = 0xb5;
        if (send(host, hello, sizeof hello, 0) < 0) {
            give_up("send");
        }
        close(host);
    }
}

// Packets at h1 to h3.
static uint64_t arrived(void)
{
    char line[LINE];
    uint64_t sum = 0;
    unsigned number;
    unsigned long long bytes, packets;
    FILE *file = fopen("/proc/self/net/dev", "r");
    if (file == NULL) {
        give_up("/proc/self/net/dev");
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, " h%u: %llu %llu", &number, &bytes, &packets) == 3 && number > 0) {
            sum += packets;
        }
    }
    fclose(file);
    return sum;
}

static void *send_all(void *unused)
{
    struct iovec part = {frame, frame_bytes};
    struct mmsghdr batch[BATCH];
    int host = open_host(0);
    (void)unused;
    for (int i = 0; i < BATCH; i++) {
        batch[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    }
    uint64_t began_ns = thread_ns();
    while (!stop) {
        int count = sendmmsg(host, batch, BATCH, 0);
        sent += count > 0 ? (uint64_t)count : 0;
    }
    sender_ns = thread_ns() - began_ns;
    close(host);
    return NULL;
}

static void make_frame(const char *mode, size_t payload)
{
    bool is_group = strcmp(mode, "group") == 0 || strcmp(mode, "nic") == 0;
    struct roce_frame_spec spec = {.destination = {1, 0, 0x5e, 0x41, 0, 1},
                                   .source_ip = SENDER_IP,
                                   .destination_ip = is_group ? GROUP : targets[0].ip,
                                   .qpn = QPN,
                                   .rkey = KEY,
                                   .message_bytes = (uint32_t)payload,
                                   .opcode = CO_ROCE_WRITE_ONLY,
                                   .payload_bytes = payload};
    memcpy(spec.source, sender_mac, 6);
    if (!is_group) {
        memcpy(spec.destination, targets[0].mac, 6);
    }
    frame_bytes = roce_frame_make(frame, &spec);
}

static void open_hop(const char *mode, struct co_hop_ports **ports, struct co_hop **hop)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3"};
    char why[200] = "", warning[200];
    bool is_nic = strcmp(mode, "nic") == 0;
    struct co_hop_config config = {.mode = is_nic ? CO_HOP_NIC : CO_HOP_SWITCH,
                                   .ports = is_nic ? CO_HOP_NIC_PORTS : HOSTS,
                                   .rules = 1,
                                   .actions = 3};
    struct co_rule_config rule = {.id = 1,
                                  .group_ip = GROUP,
                                  .sender_ip = SENDER_IP,
                                  .qpn = QPN,
                                  .key = KEY,
                                  .bytes = ROCE_FRAME_ROOM,
                                  .action_count = is_nic ? 1 : 3,
                                  .targets = targets};
    if (co_hop_ports_open(ports, names, config.ports, CO_HOP_ROOM_MIB, why, sizeof why, warning, sizeof warning) != 0) {
        give_up(why);
    }
    struct co_hop_output output = co_hop_ports_output(*ports);
    if (co_hop_open(hop, &config, &output) != 0 ||
        co_hop_install(*hop, &rule, co_clock_now_ns(), 3600 * CO_NS_PER_S, why, sizeof why) != 0) {
        give_up(why);
    }
}

static void turn(struct co_hop_ports *ports, struct co_hop *hop)
{
    struct pollfd entries[CO_HOP_PORTS_MAX];
    if (poll(entries, co_hop_ports_watch(ports, entries), 10) > 0) {
        co_hop_ports_progress(ports, hop, co_clock_now_ns());
    }
}

static void say(const char *mode, size_t payload, uint64_t frames, uint64_t out, double seconds, const char *who,
                uint64_t cpu_ns)
{
    printf("%-8s %6zu %10.0f %10.0f %10.1f %8.0f %8.0f  %s\n", mode, payload, (double)frames / seconds,
           (double)out / seconds, (double)out * (double)frame_bytes / seconds / 1e6,
           frames > 0 ? (double)cpu_ns / (double)frames : 0, out > 0 ? (double)cpu_ns / (double)out : 0, who);
}

static void measure_hop(const char *mode, size_t payload, uint64_t span_ns)
{
    struct co_hop_ports *ports;
    struct co_hop *hop;
    pthread_t sender;
    open_hop(mode, &ports, &hop);
    say_where();
    turn(ports, hop);
    turn(ports, hop);
    uint64_t before = arrived(), frames = co_hop_totals(hop)->frames, began_ns = co_clock_now_ns(),
             cpu_ns = thread_ns();
    if (pthread_create(&sender, NULL, send_all, NULL) != 0) {
        give_up("a thread");
    }
    while (co_clock_now_ns() - began_ns < span_ns) {
        turn(ports, hop);
    }
    double seconds = (double)(co_clock_now_ns() - began_ns) / 1e9;
    cpu_ns = thread_ns() - cpu_ns;
    frames = co_hop_totals(hop)->frames - frames;
    uint64_t out = arrived() - before;
    stop = true;
    pthread_join(sender, NULL);
    say(mode, payload, frames, out, seconds, "hop", cpu_ns);
    co_hop_close(hop);
    co_hop_ports_close(ports);
}

// The sender's thread does the bridge's work, too.
static void measure_bridge(size_t payload, uint64_t span_ns)
{
    pthread_t sender;
    say_where();
    uint64_t before = arrived(), began_ns = co_clock_now_ns();
    if (pthread_create(&sender, NULL, send_all, NULL) != 0) {
        give_up("a thread");
    }
    struct timespec span = {.tv_sec = (time_t)(span_ns / CO_NS_PER_S), .tv_nsec = (long)(span_ns % CO_NS_PER_S)};
    nanosleep(&span, NULL);
    stop = true;
    pthread_join(sender, NULL);
    double seconds = (double)(co_clock_now_ns() - began_ns) / 1e9;
    say("bridge", payload, sent, arrived() - before, seconds, "sender and bridge", sender_ns);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"group", "nic", "forward", "bridge"};
    bool is_known = false;
    for (size_t i = 0; argc == 4 && i < sizeof modes / sizeof *modes; i++) {
        is_known = is_known || strcmp(argv[1], modes[i]) == 0;
    }
    unsigned long payload = is_known ? strtoul(argv[2], NULL, 10) : 0;
    double seconds = is_known ? strtod(argv[3], NULL) : 0;
    if (payload < 4 || payload > 4096 || !(seconds > 0)) {
        fprintf(stderr, "usage: hop_speed group|nic|forward|bridge PAYLOAD SECONDS; PAYLOAD: 4 to 4096 bytes\n");
        return USAGE;
    }
    make_frame(argv[1], payload);
    if (strcmp(argv[1], "bridge") == 0) {
        measure_bridge(payload, (uint64_t)(seconds * 1e9));
    } else {
        measure_hop(argv[1], payload, (uint64_t)(seconds * 1e9));
    }
    return 0;
}
