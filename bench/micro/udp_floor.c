// SPDX-License-Identifier: BSD-3-Clause
//
// What a broadcast or an allgather of small blocks costs by bare sockets: no protocol, no MPI, blocking sockets, and
// whoever loses a datagram hangs (the laboratory's shaped links lose none). The floor under figure M7 on a machine
// whose processors all hosts of the laboratory share. As in castoff bench a sample is a batch of operations, which all
// begin together and nobody waits in between, and its time is that of the slowest member. Member 0 prints the median.
//
//   udp_floor INDEX COUNT collect|direct|bcast sleep|yield BYTES BATCH SAMPLES FIRST_ADDRESS
//
// collect: all send to member 0, which multicasts the whole; direct: each multicasts its own; bcast: member 0 does.
// sleep: blocked in recv; yield: looking and giving up the processor in turn, as MPI does when it is told that it
// shares it. The members' addresses follow FIRST_ADDRESS.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

#define PORT 17771
#define GROUP 0xEFC04D01U // 239.192.77.1
#define DATAGRAM_MAX 60000
#define GREETINGS 2000
#define GREETING 0xffffffffU
#define BEGIN 0xfffffffeU // from member 0 to all
#define ENDED 0xfffffffdU // to member 0, with the time taken
#define SAMPLES_MAX 10000
#define MEMBERS_MAX 255
#define GREETING_NS (20 * CO_NS_PER_MS)

enum way { COLLECT, DIRECT, BCAST, WAYS };
static const char *const way_names[WAYS] = {"collect", "direct", "bcast"};

struct ended {
    uint32_t word, index;
    uint64_t took_ns;
};

struct member {
    int index, count;
    enum way way;
    bool sleeps;
    size_t bytes;
    uint32_t first_ip; // host byte order
    int direct_fd, group_fd;
    uint32_t turn;   // operations so far; every datagram starts with its own, as far as it is long enough
    int here, early; // datagrams of this operation, and of the next one
};

static void fail(const char *what)
{
    fprintf(stderr, "udp_floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int bound(uint32_t ip, uint16_t port)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, large = 4 << 20;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &large, sizeof large);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("socket");
    }
    return fd;
}

static void open_sockets(struct member *member)
{
    uint32_t self = member->first_ip + (uint32_t)member->index;
    struct ip_mreqn join = {.imr_multiaddr.s_addr = htonl(GROUP), .imr_address.s_addr = htonl(self)};
    int no = 0;
    member->direct_fd = bound(self, PORT);
    member->group_fd = bound(GROUP, PORT + 1);
    if (setsockopt(member->group_fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join) != 0 ||
        setsockopt(member->direct_fd, IPPROTO_IP, IP_MULTICAST_IF, &join, sizeof join) != 0 ||
        setsockopt(member->direct_fd, IPPROTO_IP, IP_MULTICAST_LOOP, &no, sizeof no) != 0) {
        fail("multicast");
    }
}

static void send_to(const struct member *member, uint32_t ip, uint16_t port, size_t bytes)
{
    static char data[DATAGRAM_MAX];
    memcpy(data, &member->turn, sizeof member->turn);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    if (sendto(member->direct_fd, data, bytes, 0, (struct sockaddr *)&to, sizeof to) < 0) {
        fail("send");
    }
}

// The next datagram, waited for in the member's way; its length.
static size_t next_datagram(const struct member *member, int fd, void *data, size_t room)
{
    for (;;) {
        ssize_t bytes = recv(fd, data, room, member->sleeps ? 0 : MSG_DONTWAIT);
        if (bytes >= 0) {
            return (size_t)bytes;
        }
        if (errno != EAGAIN && errno != EINTR) {
            fail("receive");
        }
        sched_yield();
    }
}

// Until `count` datagrams of this operation have come; in an allgather nobody is ahead by more than one.
static void receive(struct member *member, int fd, int count)
{
    static char data[DATAGRAM_MAX];
    while (member->here < count) {
        uint32_t turn;
        next_datagram(member, fd, data, sizeof data);
        memcpy(&turn, data, sizeof turn);
        member->here += turn == member->turn;
        member->early += turn == member->turn + 1;
    }
    member->here = member->early;
    member->early = 0;
}

static void operate(struct member *member)
{
    static char data[DATAGRAM_MAX];
    int others = member->count - 1;
    member->turn++;
    if (member->way == BCAST) {
        if (member->index == 0) {
            send_to(member, GROUP, PORT + 1, member->bytes);
        } else {
            next_datagram(member, member->group_fd, data, sizeof data); // one sender: they come in order
        }
    } else if (member->way == DIRECT) {
        send_to(member, GROUP, PORT + 1, member->bytes);
        receive(member, member->group_fd, others);
    } else if (member->index > 0) {
        send_to(member, member->first_ip, PORT, member->bytes);
        receive(member, member->group_fd, 1);
    } else {
        receive(member, member->direct_fd, others);
        send_to(member, GROUP, PORT + 1, member->bytes * (size_t)member->count);
    }
}

static void say(const struct member *member, uint32_t ip, uint16_t port, const void *word, size_t bytes)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    if (sendto(member->direct_fd, word, bytes, 0, (struct sockaddr *)&to, sizeof to) < 0) {
        fail("send");
    }
}

// Whoever has heard it sooner may have sent its first datagram before the others hear it.
static void begin_together(struct member *member)
{
    uint32_t word = BEGIN;
    if (member->index == 0) {
        say(member, GROUP, PORT + 1, &word, sizeof word);
        return;
    }
    do {
        static char data[DATAGRAM_MAX];
        next_datagram(member, member->group_fd, data, sizeof data);
        memcpy(&word, data, sizeof word);
        member->here += word == member->turn + 1;
    } while (word != BEGIN);
}

// Of the slowest member; at member 0.
static uint64_t end_together(const struct member *member, uint64_t took_ns)
{
    struct ended mine = {ENDED, (uint32_t)member->index, took_ns}, one;
    if (member->index > 0) {
        say(member, member->first_ip, PORT, &mine, sizeof mine);
        return took_ns;
    }
    for (int heard = 0; heard < member->count - 1;) {
        if (next_datagram(member, member->direct_fd, &one, sizeof one) == sizeof one && one.word == ENDED) {
            took_ns = one.took_ns > took_ns ? one.took_ns : took_ns;
            heard++;
        }
    }
    return took_ns;
}

static uint64_t sample(struct member *member, int batch)
{
    begin_together(member);
    uint64_t start_ns = co_clock_now_ns();
    for (int i = 0; i < batch; i++) {
        operate(member);
    }
    return end_together(member, co_clock_now_ns() - start_ns);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Member 0 answers greetings until it has heard everybody's; all begin when it says so.
static void meet(const struct member *member)
{
    struct timeval pause = {0, GREETING_NS / 1000}, none = {0, 0};
    int fd = member->index == 0 ? member->direct_fd : member->group_fd, heard = 0;
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(member->first_ip)};
    uint32_t greeting[2] = {GREETING, (uint32_t)member->index};
    bool seen[MEMBERS_MAX] = {false};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
    for (int i = 0; i < GREETINGS && heard < (member->index == 0 ? member->count - 1 : 1); i++) {
        uint32_t from[2];
        if (member->index > 0) {
            sendto(member->direct_fd, greeting, sizeof greeting, 0, (struct sockaddr *)&to, sizeof to);
        }
        if (recv(fd, from, sizeof from, 0) == sizeof from && from[1] < MEMBERS_MAX && !seen[from[1]]) {
            seen[from[1]] = true;
            heard++;
        }
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    if (heard == 0) {
        errno = ETIMEDOUT;
        fail("the others");
    }
    if (member->index == 0) {
        say(member, GROUP, PORT + 1, greeting, sizeof greeting);
    }
}

static int read_way(const char *word)
{
    int way = 0;
    while (way < WAYS && strcmp(word, way_names[way]) != 0) {
        way++;
    }
    return way;
}

int main(int argc, char **argv)
{
    static uint64_t took_ns[SAMPLES_MAX];
    struct in_addr first;
    if (argc != 9 || read_way(argv[3]) == WAYS || inet_aton(argv[8], &first) == 0) {
        fprintf(stderr, "udp_floor INDEX COUNT collect|direct|bcast sleep|yield BYTES BATCH SAMPLES FIRST_ADDRESS\n");
        return 2;
    }
    struct member member = {.index = atoi(argv[1]),
                            .count = atoi(argv[2]),
                            .way = (enum way)read_way(argv[3]),
                            .sleeps = strcmp(argv[4], "sleep") == 0,
                            .bytes = strtoul(argv[5], NULL, 0),
                            .first_ip = ntohl(first.s_addr)};
    int batch = atoi(argv[6]), samples = atoi(argv[7]);
    if (member.count < 2 || member.count > MEMBERS_MAX || member.bytes < sizeof member.turn || batch < 1 ||
        samples < 1 || samples > SAMPLES_MAX || member.bytes * (size_t)member.count > DATAGRAM_MAX) {
        fprintf(stderr, "udp_floor: COUNT, BYTES, BATCH or SAMPLES is out of range\n");
        return 2;
    }
    open_sockets(&member);
    meet(&member);
    for (int i = 0; i < samples; i++) {
        took_ns[i] = sample(&member, batch);
    }
    if (member.index == 0) {
        qsort(took_ns, (size_t)samples, sizeof *took_ns, ascending);
        printf("%s %s %zu %d %.2f us\n", argv[3], argv[4], member.bytes, batch,
               (double)took_ns[samples / 2] / 1000 / batch);
    }
    return 0;
}
