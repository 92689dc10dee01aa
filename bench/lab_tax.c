// SPDX-License-Identifier: BSD-3-Clause
//
// What the laboratory itself takes from a computation: its switches and shapers run on the processors of the ranks, as
// those of a real network do not. A fixed amount of work is timed alone, and while as many bytes pass as an allgather
// of such blocks has passing, but of datagrams for a group that no rank has joined: each host sends its block before
// the clock starts, and no process hears it. A control beside figure M5; mean over the ranks of medians.
//
//   lab_tax BYTES ROUNDS COMPUTE_US
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define GROUP 0xEFFF4D4DU // 239.255.77.77
#define PORT 9            // discard
#define SEGMENT 1472
#define SEGMENTS 40
#define CALIBRATIONS 5

enum { ALONE, TRAFFIC, SIDES };

static volatile double sink;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double compute(double steps)
{
    double x = sink, start = now_us();
    for (double i = 0; i < steps; i += 1) {
        x = x * 0.999999 + 0.5;
    }
    sink = x;
    return now_us() - start;
}

static int open_socket(int bytes)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), segment = SEGMENT, no = 0, room = 4 * bytes + (1 << 20);
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(GROUP)};
    if (fd < 0 || setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &no, sizeof no) != 0 ||
        (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0 &&
         setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0) ||
        connect(fd, (struct sockaddr *)&group, sizeof group) != 0) {
        perror("lab_tax: socket");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return fd;
}

// How many bytes found no room.
static int send_block(int fd, int bytes)
{
    static char data[SEGMENT * SEGMENTS];
    while (bytes > 0) {
        size_t size = (size_t)bytes < sizeof data ? (size_t)bytes : sizeof data;
        if (send(fd, data, size, MSG_DONTWAIT) < 0) {
            break;
        }
        bytes -= (int)size;
    }
    return bytes;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of_medians(double *times, int rounds, int ranks)
{
    double sum;
    qsort(times, (size_t)rounds, sizeof *times, compare);
    MPI_Allreduce(&times[rounds / 2], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / ranks;
}

// As all ranks will compute later, at once; the fastest of a few turns, so that no computation is too short.
static double steps_per_us(int ranks)
{
    const double steps = 1e6;
    double mine = 0, sum;
    for (int i = 0; i < CALIBRATIONS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double speed = steps / compute(steps);
        mine = speed > mine ? speed : mine;
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / ranks;
}

int main(int argc, char **argv)
{
    int rank, ranks, left = 0, all_left;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = argc == 4 ? atoi(argv[1]) : 0, rounds = argc == 4 ? atoi(argv[2]) : 0;
    double compute_us = argc == 4 ? atof(argv[3]) : 0;
    if (bytes < 1 || bytes > (64 << 20) || rounds < 1 || compute_us <= 0) {
        fputs("usage: lab_tax BYTES ROUNDS COMPUTE_US\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int fd = open_socket(bytes);
    double steps = compute_us * steps_per_us(ranks), *times = calloc((size_t)rounds * SIDES, sizeof *times);
    const struct timespec pause = {(time_t)(2 * compute_us / 1e6), (long)(2e3 * compute_us) % 1000000000L};
    for (int round = 0; round < rounds * SIDES; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        left += round % SIDES == TRAFFIC ? send_block(fd, bytes) : 0;
        times[round % SIDES * rounds + round / SIDES] = compute(steps);
        nanosleep(&pause, NULL); // the links are empty again
    }
    double alone = mean_of_medians(times, rounds, ranks), traffic = mean_of_medians(times + rounds, rounds, ranks);
    MPI_Reduce(&left, &all_left, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d %d %d %.1f %.1f %.2f\n", bytes, ranks, all_left, alone, traffic, 100 * (traffic / alone - 1));
    }
    free(times);
    close(fd);
    MPI_Finalize();
    return 0;
}
