// SPDX-License-Identifier: BSD-3-Clause
//
// The ports of a hop on real interfaces: three pairs of them in a network namespace, the hop on one end of each,
// crafted frames from and to the others. Frames come out once and whole, copies byte by byte, VLAN tags stay.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "onesided/hop_ports.h"
#include "roce_frames.h"
#include "udp_namespace.h"

enum { HOSTS = 3, QPN = 0x777, KEY = 5 };
enum { GROUP = 0xefc10001 }; // more than an int

// Until the kernel has seen the carrier it drops what is sent, without a word. Ten seconds at most.
#define ALL_UP                                                                                                         \
    "n=0; until [ $(ip -o link | grep -c 'state UP') -eq 6 ]; do n=$((n + 1)); [ $n -lt 200 ] && sleep 0.05 || exit 1; done"

static const char *const commands[] = {
    "ip link add h0 type veth peer name p0 && ip link add h1 type veth peer name p1",
    "ip link add h2 type veth peer name p2",
    "for i in 0 1 2; do echo 1 >/proc/sys/net/ipv6/conf/h$i/disable_ipv6; echo 1 >/proc/sys/net/ipv6/conf/p$i/disable_ipv6; "
    "done || true",
    "for i in h0 h1 h2 p0 p1 p2; do ip link set $i mtu 4500 up || exit 1; done",
    ALL_UP,
    NULL};
static const char *const names[] = {"p0", "p1", "p2"};

static const struct co_roce_target targets[] = {
    {.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000002, .qpn = 0x12, .psn_offset = 3, .rkey = 0x22, .address = 0x10000},
    {.mac = {2, 0, 0, 0, 0, 2}, .ip = 0x0a000003, .qpn = 0x13, .psn_offset = 4, .rkey = 0x23, .address = 0x20000},
};

static int hosts[HOSTS];
static struct co_hop_ports *ports;
static struct co_hop *hop;

static int open_host(const char *name)
{
    int one = 1, host = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(0x0003), .sll_ifindex = (int)if_nametoindex(name)};
    namespace_require(host >= 0 && setsockopt(host, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) == 0 &&
                          setsockopt(host, SOL_PACKET, PACKET_AUXDATA, &one, sizeof one) == 0 &&
                          bind(host, (struct sockaddr *)&address, sizeof address) == 0,
                      "a packet socket for a host");
    return host;
}

static void open_all(enum co_hop_mode mode, unsigned count)
{
    char why[200] = "", warning[200];
    namespace_require(co_hop_ports_open(&ports, names, count, 1, why, sizeof why, warning, sizeof warning) == 0, why);
    struct co_hop_config config = {.mode = mode, .ports = count, .rules = 4, .actions = 8};
    struct co_hop_output output = co_hop_ports_output(ports);
    namespace_require(co_hop_open(&hop, &config, &output) == 0, "the hop opens");
    for (int i = 0; i < HOSTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        hosts[i] = open_host(name);
    }
}

static void close_all(void)
{
    for (int i = 0; i < HOSTS; i++) {
        close(hosts[i]);
    }
    co_hop_close(hop);
    co_hop_ports_close(ports);
}

static void send_from(int host, const uint8_t *frame, size_t bytes)
{
    namespace_require(send(hosts[host], frame, bytes, 0) == (ssize_t)bytes, "a host sends");
}

// Until the hop has taken `frames` frames; the harness ends a test that hangs.
static void move(unsigned frames)
{
    struct pollfd entries[CO_HOP_PORTS_MAX];
    unsigned moved = 0;
    while (moved < frames) {
        poll(entries, co_hop_ports_watch(ports, entries), 10);
        moved += co_hop_ports_progress(ports, hop, 1);
    }
    if (moved != frames) {
        fprintf(stderr, "%u frames, not %u\n", moved, frames);
    }
    namespace_require(moved == frames, "the hop takes as many frames as were sent");
}

enum { COMES_MS = 30000, NONE_MS = 20 };

// The next frame of a host, or 0 when none comes in that time. *tag: its VLAN, or -1.
static size_t receive_at(int host, uint8_t frame[ROCE_FRAME_ROOM], int *tag, int most_ms)
{
    struct pollfd entry = {.fd = hosts[host], .events = POLLIN};
    struct iovec part = {frame, ROCE_FRAME_ROOM};
    _Alignas(struct cmsghdr) char control[64];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (poll(&entry, 1, most_ms) == 0) {
        return 0;
    }
    ssize_t bytes = recvmsg(hosts[host], &message, 0);
    namespace_require(bytes > 0, "a host receives");
    const struct tpacket_auxdata *facts = (const void *)CMSG_DATA(CMSG_FIRSTHDR(&message));
    *tag = facts->tp_status & TP_STATUS_VLAN_VALID ? facts->tp_vlan_tci : -1;
    return (size_t)bytes;
}

static void expect_nothing(int host)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    int tag = -1;
    namespace_require(receive_at(host, frame, &tag, NONE_MS) == 0, "nothing comes where nothing should");
}

static void expect_frame(int host, const uint8_t *wanted, size_t bytes)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    int tag = -1;
    namespace_require(receive_at(host, frame, &tag, COMES_MS) == bytes, "a frame comes, of this length");
    namespace_require(tag == -1 && memcmp(frame, wanted, bytes) == 0, "it is the one that was wanted");
}

static size_t other_frame(uint8_t frame[ROCE_FRAME_ROOM], const uint8_t to[6], const uint8_t from[6], size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        frame[i] = (uint8_t)(i * 31);
    }
    memcpy(frame, to, 6);
    memcpy(frame + 6, from, 6);
    frame[12] = 0x88, frame[13] = 0xb5;
    return bytes;
}

static const uint8_t A[6] = {2, 0, 0, 0, 0, 1}, B[6] = {2, 0, 0, 0, 0, 2}, SENDER[6] = {2, 0, 0, 0, 0, 9};

static struct roce_frame_spec write_spec(uint8_t opcode, uint32_t psn)
{
    struct roce_frame_spec spec = {.destination = {1, 0, 0x5e, 0x41, 0, 1},
                                   .source_ip = 0x0a000001,
                                   .destination_ip = GROUP,
                                   .qpn = QPN,
                                   .psn = psn,
                                   .rkey = KEY,
                                   .message_bytes = 8192,
                                   .opcode = opcode,
                                   .payload_bytes = 4096};
    memcpy(spec.source, SENDER, 6);
    return spec;
}

static void install(const struct co_roce_target *first, uint32_t actions)
{
    char why[160] = "";
    struct co_rule_config config = {.id = 1,
                                    .group_ip = GROUP,
                                    .sender_ip = 0x0a000001,
                                    .qpn = QPN,
                                    .key = KEY,
                                    .bytes = 1 << 20,
                                    .action_count = actions,
                                    .targets = first};
    namespace_require(co_hop_install(hop, &config, 1, 1000000000, why, sizeof why) == 0, why);
}

static void expect_copy(int host, const struct roce_frame_spec *sent, const struct co_roce_target *target)
{
    uint8_t wanted[ROCE_FRAME_ROOM];
    struct roce_frame_spec spec = *sent;
    memcpy(spec.destination, target->mac, 6);
    spec.destination_ip = target->ip;
    spec.qpn = target->qpn;
    spec.rkey = target->rkey;
    spec.address += target->address;
    size_t bytes = roce_frame_make(wanted, &spec);
    wanted[53] = (uint8_t)(sent->psn + target->psn_offset);
    roce_frame_seal(wanted, bytes);
    expect_frame(host, wanted, bytes);
}

// As many as the hosts' receive buffers hold.
static void multiply_twenty(uint32_t psn)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    for (uint32_t i = 0; i < 20; i++) {
        struct roce_frame_spec spec = write_spec(i % 2 ? CO_ROCE_WRITE_LAST : CO_ROCE_WRITE_FIRST, psn + i);
        send_from(0, frame, roce_frame_make(frame, &spec));
    }
    move(20);
    for (uint32_t i = 0; i < 20; i++) {
        struct roce_frame_spec spec = write_spec(i % 2 ? CO_ROCE_WRITE_LAST : CO_ROCE_WRITE_FIRST, psn + i);
        expect_copy(1, &spec, &targets[0]);
        expect_copy(2, &spec, &targets[1]);
    }
}

static int live_switch(void)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    open_all(CO_HOP_SWITCH, 3);
    size_t bytes = other_frame(frame, B, A, 300);
    send_from(1, frame, bytes);
    move(1);
    expect_frame(0, frame, bytes); // nobody knows B yet
    expect_frame(2, frame, bytes);
    expect_nothing(1);
    bytes = other_frame(frame, A, B, 4514); // as large as the MTU allows
    send_from(2, frame, bytes);
    move(1);
    expect_frame(1, frame, bytes);
    expect_nothing(0);
    install(targets, 2);
    for (uint32_t i = 0; i < 100; i += 20) {
        multiply_twenty(i);
    }
    expect_nothing(0);
    namespace_require(co_hop_totals(hop)->group_packets == 100 && co_hop_totals(hop)->copies == 200, "counted");
    struct roce_frame_spec broken = write_spec(CO_ROCE_WRITE_ONLY, 200);
    bytes = roce_frame_make(frame, &broken);
    frame[39] ^= 4;
    send_from(0, frame, bytes);
    move(1);
    expect_nothing(1);
    namespace_require(co_hop_totals(hop)->malformed == 1, "a malformed packet is counted");
    namespace_require(co_hop_port_totals(ports, 0)->frames_in == 101, "frames of a port");
    namespace_require(co_hop_port_totals(ports, 1)->frames_out == 101, "frames to a port");
    namespace_require(co_hop_port_totals(ports, 1)->unsent == 0, "all was sent");
    close_all();
    return 0;
}

static int live_tags(void)
{
    uint8_t frame[ROCE_FRAME_ROOM] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0x20, 0x05, 0x88, 0xb5},
            got[ROCE_FRAME_ROOM];
    int tag = -1;
    open_all(CO_HOP_SWITCH, 3);
    memset(frame + 18, 0x77, 82);
    send_from(0, frame, 100);
    move(1);
    namespace_require(receive_at(1, got, &tag, COMES_MS) == 96,
                      "a frame with a tag comes"); // the kernel takes the tag out again
    namespace_require(tag == 0x2005, "the tag is the one that was sent");
    namespace_require(memcmp(got, frame, 12) == 0 && memcmp(got + 12, frame + 16, 84) == 0, "and so is the rest");
    close_all();
    return 0;
}

static int live_nic(void)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    open_all(CO_HOP_NIC, 2);
    install(targets, 1);
    struct roce_frame_spec spec = write_spec(CO_ROCE_WRITE_FIRST, 1);
    size_t bytes = roce_frame_make(frame, &spec);
    send_from(1, frame, bytes); // the device's host sends to a group itself
    move(1);
    expect_frame(0, frame, bytes);
    send_from(0, frame, bytes);
    move(1);
    expect_copy(1, &spec, &targets[0]);
    bytes = other_frame(frame, A, B, 100);
    send_from(0, frame, bytes);
    move(1);
    expect_frame(1, frame, bytes);
    close_all();
    return 0;
}

// More than the receive buffer holds, while nobody takes it.
static void overrun(void)
{
    enum { MANY = 2000 };
    uint8_t frame[ROCE_FRAME_ROOM];
    size_t bytes = other_frame(frame, B, A, 4514);
    uint64_t came = co_hop_port_totals(ports, 0)->frames_in;
    for (int i = 0; i < MANY; i++) {
        send_from(0, frame, bytes);
    }
    while (co_hop_ports_progress(ports, hop, 1) > 0) {
    }
    co_hop_ports_count_overruns(ports);
    came = co_hop_port_totals(ports, 0)->frames_in - came;
    namespace_require(came < MANY && co_hop_port_totals(ports, 0)->overruns == MANY - came, "lost frames are counted");
}

// An interface that goes down and comes back, one that is not there, and a process without capabilities.
static int live_trouble(void)
{
    char why[200], warning[200];
    uint8_t frame[ROCE_FRAME_ROOM];
    struct pollfd entries[CO_HOP_PORTS_MAX];
    static const char *const wrong[] = {"p0", "p7"};
    namespace_require(co_hop_ports_open(&ports, wrong, 2, 1, why, sizeof why, warning, sizeof warning) == -ENODEV &&
                          strcmp(why, "there is no interface p7") == 0,
                      why);
    open_all(CO_HOP_SWITCH, 3);
    namespace_run("ip link set p2 down");
    size_t bytes = other_frame(frame, B, A, 100);
    send_from(0, frame, bytes);
    move(1);
    poll(entries, co_hop_ports_watch(ports, entries), 0);
    co_hop_ports_progress(ports, hop, 1);
    expect_frame(1, frame, bytes);
    namespace_require(!co_hop_port_totals(ports, 2)->is_up, "the port is known to be down");
    namespace_require(co_hop_port_totals(ports, 2)->unsent > 0, "what it should have sent is counted");
    namespace_require(poll(entries, co_hop_ports_watch(ports, entries), 50) == 0, "a port that is down wakes nobody");
    namespace_run("ip link set p2 up");
    namespace_run(ALL_UP);
    send_from(2, frame, bytes);
    move(1);
    namespace_require(co_hop_port_totals(ports, 2)->is_up, "it is up again");
    overrun();
    close_all();
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    namespace_require(syscall(SYS_capset, &header, none) == 0, "capabilities are given up");
    namespace_require(co_hop_ports_open(&ports, names, 3, 1, why, sizeof why, warning, sizeof warning) == -EPERM &&
                          strstr(why, "CAP_NET_RAW is missing") != NULL,
                      "it says which capability is missing");
    return 0;
}

static void as_a_switch(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_switch);
}

static void with_vlan_tags(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_tags);
}

static void as_a_nic(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_nic);
}

static void in_trouble(void **state)
{
    (void)state;
    namespace_enter_and(commands, live_trouble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_switch),
        cmocka_unit_test(with_vlan_tags),
        cmocka_unit_test(as_a_nic),
        cmocka_unit_test(in_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
