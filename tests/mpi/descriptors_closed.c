// SPDX-License-Identifier: BSD-3-Clause
// A program that closes descriptors which are not its own, as daemons do, and opens files that get their numbers, and
// many more: regular files, eventfds, datagram and stream sockets with something in them. It goes on with collectives
// and messages, and ends; what it has in its files is as it was. Between nodes operations may fail from then on.
// Native MPI, which would not survive, keeps its own: what castoff has is found by its kind.
// ranks: 2 4
// arguments: file 0
// arguments: eventfd 0
// arguments: datagrams 0
// arguments: stream 0
// arguments: datagrams 1
// expect: no file of the program's is read, written to or closed
#include "oracle/verdict.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 96, BYTES = 200, ROUNDS = 60, LARGE = 1200000, NUMBERS = 1000 };

static int files[FILES], others[FILES]; // the other ends of streams
static char content[BYTES], found[2 * BYTES];
static unsigned char *block, *all;

// A datagram socket of IPv4, or what the kernel calls so.
static bool is_castoffs(int fd)
{
    char path[40], name[80] = "";
    int type = 0, family = 0;
    socklen_t length = sizeof(int);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool is_counters = readlink(path, name, sizeof name - 1) > 0 && strncmp(name, "/memfd:castoff", 14) == 0;
    return is_counters ||
           (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 && type == SOCK_DGRAM && family == AF_INET);
}

// From the first one of castoff's on, or, where it has none, behind all.
static void close_others(void)
{
    int first = 3;
    while (first < NUMBERS && !is_castoffs(first)) {
        first++;
    }
    syscall(SYS_close_range, first, ~0U, 0);
}

static int datagrams(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_told = bind(fd, (struct sockaddr *)&own, length) == 0 &&
                   getsockname(fd, (struct sockaddr *)&own, &length) == 0 &&
                   sendto(fd, content, BYTES, 0, (struct sockaddr *)&own, length) == BYTES;
    return is_told ? fd : -1;
}

static int stream(int *other)
{
    int ends[2];
    bool is_told = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0 &&
                   write(ends[0], content, BYTES) == BYTES && write(ends[1], content, BYTES) == BYTES;
    *other = ends[1];
    return is_told ? ends[0] : -1;
}

static int regular(void)
{
    char name[] = "/tmp/castoff-test-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    return write(fd, content, BYTES) == BYTES && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static int open_one(const char *kind, int *other)
{
    return kind[0] == 'f'   ? regular()
           : kind[0] == 'e' ? eventfd(5, EFD_NONBLOCK | EFD_CLOEXEC)
           : kind[0] == 'd' ? datagrams()
                            : stream(other);
}

static bool is_in(int fd, ssize_t first, ssize_t second)
{
    return read(fd, found, sizeof found) == first && memcmp(found, content, (size_t)first) == 0 &&
           (second < 0 ? read(fd, found, sizeof found) < 0 : read(fd, found, sizeof found) == second);
}

static bool is_untouched(const char *kind, int fd, int other)
{
    uint64_t value = 0;
    struct stat state;
    switch (kind[0]) {
    case 'f':
        return lseek(fd, 0, SEEK_CUR) == 0 && fstat(fd, &state) == 0 && state.st_size == BYTES && is_in(fd, BYTES, 0);
    case 'e':
        return read(fd, &value, sizeof value) == sizeof value && value == 5;
    case 'd':
        return is_in(fd, BYTES, -1);
    default:
        return is_in(fd, BYTES, -1) && is_in(other, BYTES, -1);
    }
}

// False: it has failed, as castoff may.
static bool go_round(int round, int bytes)
{
    int rank = co_test_rank(), ranks = co_test_size(), root = round % ranks, value = -1;
    MPI_Request request;
    memset(block, rank == root ? round + 1 : 0, (size_t)bytes);
    if (MPI_Bcast(block, bytes, MPI_BYTE, root, MPI_COMM_WORLD) != MPI_SUCCESS) {
        return false;
    }
    co_test_expect(block[0] == round + 1 && block[bytes - 1] == round + 1, "round %d: broadcast", round);
    memset(block, rank + round, (size_t)bytes);
    if (MPI_Iallgather(block, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request) != MPI_SUCCESS ||
        MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return false;
    }
    for (int i = 0; i < ranks; i++) {
        co_test_expect(all[(size_t)i * (size_t)bytes] == i + round, "round %d: block %d", round, i);
    }
    MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % ranks, 0, &value, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    co_test_expect(value == round, "round %d: message", round);
    return true;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    const char *kind = argv[1];
    bool alone = argv[2][0] == '1', closes = !alone || co_test_rank() == 0;
    block = malloc(LARGE);
    all = malloc((size_t)LARGE * (size_t)co_test_size());
    memset(content, 'p', BYTES);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bool goes_on = go_round(0, 4096) && go_round(1, LARGE);
    if (closes) {
        close_others();
        for (int i = 0; i < FILES; i++) {
            files[i] = open_one(kind, &others[i]);
            co_test_expect(files[i] >= 0, "file %d cannot be opened", i);
        }
    }
    for (int round = 2; round < ROUNDS && goes_on; round++) {
        goes_on = go_round(round, round % 20 == 19 ? LARGE : 100);
        if (round % 10 == 0) {
            usleep(5000); // those who move castoff's operations without a call of ours fall asleep
        }
    }
    for (int i = 0; i < FILES && closes; i++) {
        co_test_expect(is_untouched(kind, files[i], others[i]), "%s %d (descriptor %d) is not what it was", kind, i,
                       files[i]);
    }
    int status = co_test_finish();
    for (int i = 0; i < FILES && closes; i++) {
        if (fcntl(files[i], F_GETFD) < 0) {
            fprintf(stderr, "descriptor %d was closed at the end\n", files[i]);
            status = 1;
        }
    }
    return status;
}
