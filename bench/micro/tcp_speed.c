// SPDX-License-Identifier: BSD-3-Clause
//
// What TCP alone takes to bring a stream to N receivers: one sender writes blocks of 8 MiB to each connection in turn,
// blocking, and each receiver reads into a buffer of 8 MiB, blocking. No polling, no tree: the least that MPI over TCP
// could take of processors, if not of links. For figure M49; prints what udp_speed prints.
//
//   tcp_speed receive ADDRESS
//   tcp_speed send ADDRESS RECEIVERS MIB
//
// ADDRESS is the sender's.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define PORT 17773
#define BLOCK_BYTES ((size_t)8 << 20)
#define RECEIVERS_MAX 256
#define TRIES 500

static unsigned char block[BLOCK_BYTES];

static int fail(const char *what)
{
    fprintf(stderr, "tcp_speed: ");
    perror(what);
    return 1;
}

static void print_usage(const char *role, const struct rusage *before, uint64_t from_ns)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    double from = (double)from_ns / (double)CO_NS_PER_S, to = (double)co_clock_now_ns() / (double)CO_NS_PER_S;
    printf("used %s %d %.4f %.4f %.4f %.6f %.6f\n", role, (int)getpid(),
           (double)(now.ru_utime.tv_sec - before->ru_utime.tv_sec) +
               1e-6 * (double)(now.ru_utime.tv_usec - before->ru_utime.tv_usec),
           (double)(now.ru_stime.tv_sec - before->ru_stime.tv_sec) +
               1e-6 * (double)(now.ru_stime.tv_usec - before->ru_stime.tv_usec),
           to - from, from, to);
}

static int run_receiver(struct sockaddr_in *sender)
{
    int fd = -1;
    struct rusage before;
    for (int i = 0; i < TRIES; i++) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)sender, sizeof *sender) == 0) {
            break;
        }
        close(fd);
        fd = -1;
        usleep(20000);
    }
    if (fd < 0 || recv(fd, block, 1, MSG_PEEK) != 1) { // waits until the stream begins
        return fail("connect");
    }
    prctl(PR_SET_NAME, "cost-receiver");
    uint64_t from_ns = co_clock_now_ns();
    getrusage(RUSAGE_SELF, &before);
    for (size_t at = 0;;) {
        ssize_t bytes = recv(fd, block + at, BLOCK_BYTES - at, 0);
        if (bytes <= 0) {
            print_usage("receiver", &before, from_ns);
            return bytes < 0 ? fail("receive") : 0;
        }
        at = (at + (size_t)bytes) % BLOCK_BYTES;
    }
}

static int send_block(int fd)
{
    for (size_t at = 0; at < BLOCK_BYTES;) {
        ssize_t bytes = send(fd, block + at, BLOCK_BYTES - at, MSG_NOSIGNAL);
        if (bytes < 0) {
            return fail("send");
        }
        at += (size_t)bytes;
    }
    return 0;
}

static int run_sender(struct sockaddr_in *mine, int receivers, uint64_t mib)
{
    int fds[RECEIVERS_MAX], yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct rusage before;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)mine, sizeof *mine) != 0 || listen(listener, receivers) != 0) {
        return fail("listen");
    }
    for (int i = 0; i < receivers; i++) {
        fds[i] = accept(listener, NULL, NULL);
    }
    memset(block, 1, sizeof block);
    prctl(PR_SET_NAME, "cost-sender");
    uint64_t from_ns = co_clock_now_ns();
    getrusage(RUSAGE_SELF, &before);
    for (uint64_t sent = 0; sent < mib << 20; sent += BLOCK_BYTES) {
        for (int i = 0; i < receivers; i++) {
            if (send_block(fds[i]) != 0) {
                return 1;
            }
        }
    }
    print_usage("sender", &before, from_ns);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    bool sends = argc == 5 && strcmp(argv[1], "send") == 0;
    if ((!sends && (argc != 3 || strcmp(argv[1], "receive") != 0)) || inet_aton(argv[2], &address.sin_addr) == 0) {
        fprintf(stderr, "tcp_speed receive ADDRESS\ntcp_speed send ADDRESS RECEIVERS MIB\n");
        return 2;
    }
    if (!sends) {
        return run_receiver(&address);
    }
    int receivers = atoi(argv[3]), mib = atoi(argv[4]);
    if (receivers < 1 || receivers > RECEIVERS_MAX || mib < 1) {
        fprintf(stderr, "tcp_speed: 1 to %d receivers, at least 1 MiB\n", RECEIVERS_MAX);
        return 2;
    }
    return run_sender(&address, receivers, (uint64_t)mib);
}
