// SPDX-License-Identifier: BSD-3-Clause
//
// Hostile sender for the laboratory: puts UDP datagrams with any source address on the wire, as fast
// as the link takes them. "send" makes them up, or takes the bytes from a file, and prints "ready" when one has
// gone out; "mirror" listens to
// the multicast that passes and sends each datagram again: unchanged (replay), cut short, or with
// one bit flipped; it prints "ready" when it listens. "unreachable" sends ICMP "port unreachable", from the host's own
// address or a forged one, as if a datagram from --to to --about had been refused. lab-inject builds it at first use
// and runs it in one host; needs root there.

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    header_bytes = sizeof(struct iphdr) + sizeof(struct udphdr),
    largest_payload = 1500 - header_bytes,
};

enum change { change_replay, change_truncate, change_flip };

struct options {
    bool mirrors, refuses;
    enum change change;
    struct sockaddr_in to;
    struct sockaddr_in from;
    struct sockaddr_in about;
    uint8_t code;   // of ICMP
    uint64_t count; // 0: until a signal ends it
    long bytes;     // -1: a random size each time
    const char *file;
    uint64_t seed;
};

struct datagram {
    struct sockaddr_in to;
    struct sockaddr_in from;
    size_t bytes;
    unsigned char payload[largest_payload];
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

static _Noreturn void refuse(const char *what)
{
    fprintf(
        stderr,
        "inject: %s\n"
        "usage: inject send --to ADDRESS:PORT [--from ADDRESS:PORT] [--count N]\n"
        "                   [--bytes N | --file FILE] [--seed N]\n"
        "       inject unreachable --to ADDRESS:PORT --about ADDRESS:PORT [--from ADDRESS:0] [--code N] [--count N]\n"
        "                          [--seed N]\n"
        "       inject mirror --as replay|truncate|flip [--to ANY:PORT] [--count N] [--seed N]\n",
        what);
    exit(2);
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(1);
}

// splitmix64: small, and the same junk again for the same seed.
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int open_sender(void)
{
    int one = 1, zero = 0;
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

    if (fd < 0) {
        fail("raw socket");
    }
    if (setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)) != 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &zero, sizeof(zero)) != 0) {
        fail("raw socket options");
    }
    return fd;
}

// Returns false when a signal ended the wait for room in the link. No UDP checksum: a changed
// payload has to reach the program, not to die in the kernel.
static bool put_on_wire(int fd, const struct datagram *datagram)
{
    unsigned char packet[header_bytes + largest_payload];
    struct iphdr ip = {
        .version = 4,
        .ihl = 5,
        .ttl = 1,
        .protocol = IPPROTO_UDP,
        .tot_len = htons((uint16_t)(header_bytes + datagram->bytes)),
        .saddr = datagram->from.sin_addr.s_addr,
        .daddr = datagram->to.sin_addr.s_addr,
    };
    struct udphdr udp = {
        .source = datagram->from.sin_port,
        .dest = datagram->to.sin_port,
        .len = htons((uint16_t)(sizeof(udp) + datagram->bytes)),
    };

    memcpy(packet, &ip, sizeof(ip));
    memcpy(packet + sizeof(ip), &udp, sizeof(udp));
    memcpy(packet + header_bytes, datagram->payload, datagram->bytes);
    while (sendto(fd, packet, header_bytes + datagram->bytes, 0, (const struct sockaddr *)&datagram->to,
                  sizeof(datagram->to)) < 0) {
        if (errno != EINTR && errno != ENOBUFS) {
            fail("send");
        }
        if (stopped) {
            return false;
        }
    }
    return true;
}

static void load_file(struct datagram *datagram, const char *name)
{
    FILE *file = fopen(name, "rb");

    if (file == NULL) {
        fail(name);
    }
    datagram->bytes = fread(datagram->payload, 1, sizeof(datagram->payload), file);
    fclose(file);
}

static uint64_t send_made_up(int fd, struct options *options)
{
    struct datagram datagram = {.to = options->to, .from = options->from};
    uint64_t sent = 0;

    if (options->file != NULL) {
        load_file(&datagram, options->file);
    }
    while (!stopped && (options->count == 0 || sent < options->count)) {
        if (options->file == NULL) {
            datagram.bytes =
                options->bytes >= 0 ? (size_t)options->bytes : next_random(&options->seed) % (largest_payload + 1);
            for (size_t i = 0; i < datagram.bytes; i++) {
                datagram.payload[i] = (unsigned char)next_random(&options->seed);
            }
        }
        if (!put_on_wire(fd, &datagram)) {
            break;
        }
        if (sent++ == 0) {
            puts("ready");
            fflush(stdout);
        }
    }
    return sent;
}

static uint16_t checksum(const unsigned char *bytes, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < count; i += 2) {
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return htons((uint16_t)~sum);
}

// Each quotes another datagram: the head is there, the rest is made up.
static uint64_t send_refusals(int fd, struct options *options)
{
    enum { quoted_payload = 64 };
    struct {
        struct iphdr ip;
        struct icmphdr icmp;
        struct iphdr quoted_ip;
        struct udphdr quoted_udp;
        unsigned char payload[quoted_payload];
    } packet = {
        .ip = {.version = 4, .ihl = 5, .ttl = 1, .protocol = IPPROTO_ICMP, .tot_len = htons(sizeof(packet))},
        .icmp = {.type = ICMP_DEST_UNREACH, .code = options->code},
        .quoted_ip = {.version = 4,
                      .ihl = 5,
                      .ttl = 1,
                      .protocol = IPPROTO_UDP,
                      .tot_len = htons(header_bytes + quoted_payload)},
    };
    uint64_t sent = 0;

    packet.ip.saddr = options->from.sin_addr.s_addr; // 0: the kernel fills in the own one
    packet.ip.daddr = packet.quoted_ip.saddr = options->to.sin_addr.s_addr;
    packet.quoted_ip.daddr = options->about.sin_addr.s_addr;
    packet.quoted_udp = (struct udphdr){.source = options->to.sin_port,
                                        .dest = options->about.sin_port,
                                        .len = htons(sizeof(struct udphdr) + quoted_payload)};
    while (!stopped && (options->count == 0 || sent < options->count)) {
        for (size_t i = 0; i < quoted_payload; i++) {
            packet.payload[i] = (unsigned char)next_random(&options->seed);
        }
        packet.icmp.checksum = 0;
        packet.icmp.checksum = checksum((unsigned char *)&packet.icmp, sizeof(packet) - sizeof(packet.ip));
        if (sendto(fd, &packet, sizeof(packet), 0, (const struct sockaddr *)&options->to, sizeof(options->to)) < 0) {
            if (errno != EINTR && errno != ENOBUFS) {
                fail("send");
            }
            continue;
        }
        sent++;
        usleep(1000); // so that a real host's answers get through, too
    }
    return sent;
}

static int open_listener(void)
{
    struct packet_mreq all = {.mr_type = PACKET_MR_ALLMULTI};
    int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));

    all.mr_ifindex = (int)if_nametoindex("eth0");
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0) {
        fail("packet socket");
    }
    return fd;
}

// Takes over the next foreign multicast datagram that fits a frame. A superpacket does not: labs in
// which datagrams are to be mirrored are raised with --segment. Returns false after a signal.
static bool hear_datagram(int fd, in_port_t only_port, struct datagram *datagram)
{
    unsigned char packet[65536];
    struct iphdr ip;
    struct udphdr udp;

    while (!stopped) {
        struct sockaddr_ll origin;
        socklen_t origin_bytes = sizeof(origin);
        ssize_t got = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&origin, &origin_bytes);
        if (got < header_bytes || got > header_bytes + largest_payload || origin.sll_pkttype == PACKET_OUTGOING) {
            continue;
        }
        memcpy(&ip, packet, sizeof(ip));
        memcpy(&udp, packet + sizeof(ip), sizeof(udp));
        if (ip.ihl != 5 || ip.protocol != IPPROTO_UDP || !IN_MULTICAST(ntohl(ip.daddr)) ||
            (only_port != 0 && udp.dest != only_port) || ntohs(udp.len) < sizeof(udp) ||
            ntohs(udp.len) > (size_t)got - sizeof(ip)) {
            continue;
        }
        datagram->from = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = udp.source};
        datagram->from.sin_addr.s_addr = ip.saddr;
        datagram->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = udp.dest};
        datagram->to.sin_addr.s_addr = ip.daddr;
        datagram->bytes = ntohs(udp.len) - sizeof(udp);
        memcpy(datagram->payload, packet + header_bytes, datagram->bytes);
        return true;
    }
    return false;
}

static uint64_t mirror_multicast(int fd, struct options *options)
{
    int listener = open_listener();
    struct datagram datagram;
    uint64_t sent = 0;

    puts("ready");
    fflush(stdout);
    while ((options->count == 0 || sent < options->count) && hear_datagram(listener, options->to.sin_port, &datagram)) {
        if (datagram.bytes > 0 && options->change == change_truncate) {
            datagram.bytes = next_random(&options->seed) % datagram.bytes;
        } else if (datagram.bytes > 0 && options->change == change_flip) {
            uint64_t bit = next_random(&options->seed) % (datagram.bytes * 8);
            datagram.payload[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        }
        if (!put_on_wire(fd, &datagram)) {
            break;
        }
        sent++;
    }
    close(listener);
    return sent;
}

static struct sockaddr_in parse_address(char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char *colon = strchr(text, ':');

    if (colon == NULL) {
        refuse("addresses are written ADDRESS:PORT");
    }
    *colon = '\0';
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    if (strcmp(text, "ANY") != 0 && inet_pton(AF_INET, text, &address.sin_addr) != 1) {
        refuse("not an IPv4 address");
    }
    return address;
}

static enum change parse_change(const char *text)
{
    static const char *const names[] = {"replay", "truncate", "flip"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            return (enum change)i;
        }
    }
    refuse("--as takes replay, truncate or flip");
}

static struct options parse_options(int argc, char **argv)
{
    struct options options = {.bytes = -1, .seed = 1, .code = ICMP_PORT_UNREACH};
    bool has_target = false;

    if (argc < 2 ||
        (strcmp(argv[1], "send") != 0 && strcmp(argv[1], "mirror") != 0 && strcmp(argv[1], "unreachable") != 0)) {
        refuse("send, mirror or unreachable?");
    }
    options.mirrors = strcmp(argv[1], "mirror") == 0;
    options.refuses = strcmp(argv[1], "unreachable") == 0;
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 == argc) {
            refuse("an option without its value");
        }
        char *value = argv[i + 1];
        if (strcmp(argv[i], "--to") == 0) {
            options.to = parse_address(value);
            has_target = true;
        } else if (strcmp(argv[i], "--from") == 0) {
            options.from = parse_address(value);
        } else if (strcmp(argv[i], "--about") == 0) {
            options.about = parse_address(value);
        } else if (strcmp(argv[i], "--code") == 0) {
            options.code = (uint8_t)atoi(value);
        } else if (strcmp(argv[i], "--as") == 0) {
            options.change = parse_change(value);
        } else if (strcmp(argv[i], "--count") == 0) {
            options.count = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--bytes") == 0) {
            options.bytes = strtol(value, NULL, 10);
        } else if (strcmp(argv[i], "--file") == 0) {
            options.file = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = strtoull(value, NULL, 10);
        } else {
            refuse("unknown option");
        }
    }
    if (options.bytes > largest_payload || (!options.mirrors && !has_target)) {
        refuse("send and unreachable need --to, and at most 1472 bytes");
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    struct sigaction action = {.sa_handler = stop}; // no SA_RESTART: a signal ends the waits
    int fd = open_sender();
    uint64_t sent;

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sent = options.mirrors   ? mirror_multicast(fd, &options)
           : options.refuses ? send_refusals(fd, &options)
                             : send_made_up(fd, &options);
    printf("%llu datagrams sent, seed %llu\n", (unsigned long long)sent, (unsigned long long)options.seed);
    close(fd);
    return 0;
}
