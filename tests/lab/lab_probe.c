// SPDX-License-Identifier: BSD-3-Clause
//
// Ends of the traffic with which lab_test.sh checks a laboratory: "echo" and "ask" (one UDP datagram
// there and back), "hear" and "say" (multicast; a "burst" is all of it at once; a "knock" is a byte, and the first one
// heard is told as "knocked"), "drain" and "pour" (a TCP stream; pour prints the nanoseconds until the other end had
// everything). A listener prints "ready" when it may be sent to. Every wait ends after 200 seconds with an error.

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { wait_seconds = 200, datagram_bytes = 1000, knock_bytes = 1 };

static char buffer[65536];

static void require(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static struct sockaddr_in make_address(const char *text, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    require(inet_pton(AF_INET, text, &address.sin_addr) == 1, text);
    return address;
}

static int open_socket(int type)
{
    int one = 1;
    struct timeval limit = {.tv_sec = wait_seconds};
    int fd = socket(AF_INET, type, 0);

    require(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return fd;
}

static void bind_to(int fd, const struct sockaddr_in *address)
{
    require(bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0, "bind");
}

static void report_ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void echo_one(const struct sockaddr_in *here)
{
    struct sockaddr_in peer;
    socklen_t peer_bytes = sizeof(peer);
    int fd = open_socket(SOCK_DGRAM);

    bind_to(fd, here);
    report_ready();
    ssize_t got = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&peer, &peer_bytes);
    require(got >= 0, "echo receive");
    require(sendto(fd, buffer, (size_t)got, 0, (struct sockaddr *)&peer, peer_bytes) == got, "echo send");
}

static void ask_one(const struct sockaddr_in *there)
{
    int fd = open_socket(SOCK_DGRAM);

    require(sendto(fd, "anyone?", 7, 0, (const struct sockaddr *)there, sizeof(*there)) == 7, "ask send");
    require(recv(fd, buffer, sizeof(buffer), 0) == 7 && memcmp(buffer, "anyone?", 7) == 0, "ask receive");
}

static void hear(const struct sockaddr_in *group, int count)
{
    struct ip_mreqn request = {.imr_multiaddr = group->sin_addr};
    int fd = open_socket(SOCK_DGRAM);

    bind_to(fd, group);
    require(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) == 0, "join");
    report_ready();
    for (int heard = 0, knocks = 0; heard < count;) {
        ssize_t bytes = recv(fd, buffer, sizeof(buffer), 0);
        require(bytes == datagram_bytes || bytes == knock_bytes, "hear");
        heard += bytes == datagram_bytes;
        if (bytes == knock_bytes && knocks++ == 0) {
            puts("knocked");
            fflush(stdout);
        }
    }
}

static void say(const struct sockaddr_in *group, int count, int bytes)
{
    int fd = open_socket(SOCK_DGRAM);

    for (int i = 0; i < count; i++) {
        require(sendto(fd, buffer, (size_t)bytes, 0, (const struct sockaddr *)group, sizeof(*group)) == bytes, "say");
    }
}

// One superpacket, which the shaper takes apart.
static void burst(const struct sockaddr_in *group, int count)
{
    int fd = open_socket(SOCK_DGRAM), bytes = count * datagram_bytes, each = datagram_bytes;

    require(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &each, sizeof(each)) == 0, "UDP_SEGMENT");
    require(sendto(fd, buffer, (size_t)bytes, 0, (const struct sockaddr *)group, sizeof(*group)) == bytes, "burst");
}

static void drain(const struct sockaddr_in *here)
{
    ssize_t got;
    int listener = open_socket(SOCK_STREAM);

    bind_to(listener, here);
    require(listen(listener, 1) == 0, "listen");
    report_ready();
    int fd = accept(listener, NULL, NULL);
    require(fd >= 0, "accept");
    do {
        got = read(fd, buffer, sizeof(buffer));
        require(got >= 0, "drain");
    } while (got > 0);
    require(write(fd, "x", 1) == 1, "drain reply");
}

static void pour(const struct sockaddr_in *there, long bytes)
{
    struct timespec start, end;
    int fd = open_socket(SOCK_STREAM);

    require(connect(fd, (const struct sockaddr *)there, sizeof(*there)) == 0, "connect");
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (bytes > 0) {
        size_t piece = bytes < (long)sizeof(buffer) ? (size_t)bytes : sizeof(buffer);
        ssize_t done = write(fd, buffer, piece);
        require(done > 0, "pour");
        bytes -= done;
    }
    shutdown(fd, SHUT_WR);
    require(read(fd, buffer, 1) == 1, "pour reply");
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%lld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: lab_probe echo|ask|hear|knock|say|burst|drain|pour ADDRESS PORT [AMOUNT]\n");
        return 2;
    }
    struct sockaddr_in address = make_address(argv[2], argv[3]);
    long amount = argc > 4 ? atol(argv[4]) : 1;

    if (strcmp(argv[1], "echo") == 0) {
        echo_one(&address);
    } else if (strcmp(argv[1], "ask") == 0) {
        ask_one(&address);
    } else if (strcmp(argv[1], "hear") == 0) {
        hear(&address, (int)amount);
    } else if (strcmp(argv[1], "say") == 0) {
        say(&address, (int)amount, datagram_bytes);
    } else if (strcmp(argv[1], "burst") == 0) {
        burst(&address, (int)amount);
    } else if (strcmp(argv[1], "knock") == 0) {
        say(&address, 1, knock_bytes);
    } else if (strcmp(argv[1], "drain") == 0) {
        drain(&address);
    } else if (strcmp(argv[1], "pour") == 0) {
        pour(&address, amount);
    } else {
        fprintf(stderr, "lab_probe: unknown part '%s'\n", argv[1]);
        return 2;
    }
    return 0;
}
