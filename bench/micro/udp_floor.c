// SPDX-License-Identifier: BSD-3-Clause
//
// What an allgather of small blocks costs by bare sockets: no protocol, no MPI, blocking sockets, and whoever loses a
// datagram hangs (the laboratory's shaped links lose none). The floor under figure M7 on a machine whose processors
// all hosts of the laboratory share. Member 0 prints the mean of an operation.
//
//   udp_floor INDEX COUNT collect|direct sleep|yield BYTES REPEATS FIRST_ADDRESS
//
// collect: all send to member 0, which multicasts the whole; direct: each multicasts its own. sleep: blocked in recv;
// yield: looking and giving up the processor in turn, as MPI does when it is told that it shares it. The members'
// addresses follow FIRST_ADDRESS.
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
#define MEMBERS_MAX 255
#define GREETING_NS (20 * CO_NS_PER_MS)

struct member {
    int index, count;
    bool collects, sleeps;
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

// Until `count` datagrams of this operation have come; nobody is ahead by more than one.
static void receive(struct member *member, int fd, int count)
{
    static char data[DATAGRAM_MAX];
    while (member->here < count) {
        uint32_t turn;
        if (recv(fd, data, sizeof data, member->sleeps ? 0 : MSG_DONTWAIT) < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                fail("receive");
            }
            sched_yield();
            continue;
        }
        memcpy(&turn, data, sizeof turn);
        member->here += turn == member->turn;
        member->early += turn == member->turn + 1;
    }
    member->here = member->early;
    member->early = 0;
}

static void gather(struct member *member)
{
    int others = member->count - 1;
    member->turn++;
    if (!member->collects) {
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
        struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(PORT + 1), .sin_addr.s_addr = htonl(GROUP)};
        sendto(member->direct_fd, greeting, sizeof greeting, 0, (struct sockaddr *)&all, sizeof all);
    }
}

int main(int argc, char **argv)
{
    struct in_addr first;
    if (argc != 8 || inet_aton(argv[7], &first) == 0) {
        fprintf(stderr, "udp_floor INDEX COUNT collect|direct sleep|yield BYTES REPEATS FIRST_ADDRESS\n");
        return 1;
    }
    struct member member = {.index = atoi(argv[1]),
                            .count = atoi(argv[2]),
                            .collects = strcmp(argv[3], "collect") == 0,
                            .sleeps = strcmp(argv[4], "sleep") == 0,
                            .bytes = strtoul(argv[5], NULL, 0),
                            .first_ip = ntohl(first.s_addr)};
    int repeats = atoi(argv[6]);
    if (member.count < 2 || member.count > MEMBERS_MAX || member.bytes < sizeof member.turn ||
        member.bytes * (size_t)member.count > DATAGRAM_MAX) {
        fprintf(stderr, "udp_floor: COUNT or BYTES is out of range\n");
        return 1;
    }
    open_sockets(&member);
    meet(&member);
    uint64_t start_ns = co_clock_now_ns();
    for (int i = 0; i < repeats; i++) {
        gather(&member);
    }
    if (member.index == 0) {
        printf("%s %s %zu %.1f us\n", argv[3], argv[4], member.bytes,
               (double)(co_clock_now_ns() - start_ns) / 1000 / repeats);
    }
    return 0;
}
