// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams are numbered; a few at the end say how many there were, so that who lacks the last ones knows, and who was
// interrupted while it sent is not taken for one who loses. Cold.
#include "volley_host.h"

#include <linux/sock_diag.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// FIRST_MS: until it begins. QUIET_MS: the sender may wait for its processor. An end that finds the queue of a slow
// link full is lost, the next one less probably. LAG_NS: what was not sent in time is not made up for all at once.
enum {
    HEADERS = 28,
    FIRST_MS = 3000,
    QUIET_MS = 1000,
    ENDS = 4,
    END_GAP_NS = 20000000,
    LAG_NS = 2000000,
    REFUSED_MOST = 8
};
#define SENDING_NS (3 * CO_NS_PER_S)
#define FAST_NS CO_NS_PER_S         // slow links have shown what they are
#define TAKING_NS (8 * CO_NS_PER_S) // of a volley from before its first to behind its ends: strangers may send for ever
#define DRAINING_NS CO_NS_PER_S     // strangers may be faster than that, too
#define IS_END (UINT32_C(1) << 31)

struct mark {
    uint64_t nonce;
    uint16_t from, number;
    uint32_t order; // from 0 on; of an end how many there were, with IS_END
};

// Of all since the socket was opened.
static uint32_t count_overflows(int fd)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof memory;
    return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0 ? memory[SK_MEMINFO_DROPS] : 0;
}

// When datagrams came is asked of the kernel: a process that has to wait for its processor would see it too late.
void co_volley_prepare(struct co_volley_socket *socket, int fd)
{
    int yes = 1;
    *socket = (struct co_volley_socket){.fd = fd, .overflows = count_overflows(fd)};
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
}

void co_volley_drain(struct co_volley_socket *socket)
{
    char byte;
    uint64_t until_ns = co_clock_now_ns() + DRAINING_NS;
    while (recv(socket->fd, &byte, sizeof byte, MSG_DONTWAIT) >= 0 && co_clock_now_ns() < until_ns) {
    }
    socket->overflows = count_overflows(socket->fd);
}

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / CO_NS_PER_S), .tv_nsec = (long)(ns % CO_NS_PER_S)};
    nanosleep(&time, NULL);
}

static bool send_one(int fd, const struct sockaddr_in *group, const struct mark *mark, size_t packet_bytes)
{
    static uint8_t bytes[65535];
    size_t length = packet_bytes > HEADERS + sizeof *mark ? packet_bytes - HEADERS : sizeof *mark;
    memcpy(bytes, mark, sizeof *mark);
    return length <= sizeof bytes && sendto(fd, bytes, length, 0, (const struct sockaddr *)group, sizeof *group) >= 0;
}

void co_volley_send(int fd, const struct sockaddr_in *group, uint64_t nonce, const struct co_volley *volley)
{
    struct mark mark = {.nonce = nonce, .from = (uint16_t)volley->from, .number = (uint16_t)volley->number};
    uint64_t began = co_clock_now_ns(), due = began, most_ns = volley->kbits > 0 ? SENDING_NS : FAST_NS;
    uint64_t gap_ns = volley->kbits > 0 ? volley->bytes * 8 * CO_NS_PER_MS / (uint64_t)volley->kbits : 0;
    for (int refused = 0; mark.order < (uint32_t)volley->count && refused < REFUSED_MOST; due += gap_ns) {
        uint64_t now = co_clock_now_ns();
        if (now - began > most_ns) {
            break;
        }
        if (now < due) {
            sleep_ns(due - now);
        } else if (now - due > LAG_NS) {
            due = now - LAG_NS;
        }
        if (send_one(fd, group, &mark, volley->bytes)) {
            mark.order++;
        } else {
            refused++;
        }
    }
    mark.order |= IS_END;
    for (int i = 0; i < ENDS; i++) {
        sleep_ns(END_GAP_NS);
        send_one(fd, group, &mark, 0);
    }
}

// False: nothing waits. `ns`: when it came.
static bool receive(int fd, struct mark *mark, int64_t *ns)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec into = {.iov_base = mark, .iov_len = sizeof *mark};
    struct msghdr message = {
        .msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
    if (got < 0) {
        return false;
    }
    if (got < (ssize_t)sizeof *mark) {
        mark->nonce = 0; // a stranger's
    }
    *ns = 0;
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(one), sizeof time);
            *ns = (int64_t)time.tv_sec * (int64_t)CO_NS_PER_S + time.tv_nsec;
        }
    }
    return true;
}

// Of the later half: a limit by a bucket of tokens lets the first ones through as they come.
static int64_t rate_of(const int64_t *times_ns, int count, size_t bytes)
{
    enum { FEWEST = 8 };
    int half = count / 2, behind = count - 1 - half;
    int64_t span_ns = count > 0 ? times_ns[count - 1] - times_ns[half] : 0;
    return behind >= FEWEST && span_ns > 0 ? (int64_t)bytes * 8 * behind * (int64_t)CO_NS_PER_MS / span_ns : 0;
}

void co_volley_take(struct co_volley_socket *socket, uint64_t nonce, const struct co_volley *volley,
                    struct co_volley_seen *seen)
{
    bool came[CO_VOLLEY_MOST] = {false}, is_over = false;
    int64_t times_ns[CO_VOLLEY_MOST];
    struct pollfd waits = {.fd = socket->fd, .events = POLLIN};
    uint64_t until_ns = co_clock_now_ns() + TAKING_NS;
    *seen = (struct co_volley_seen){.sent = 0};
    while (!is_over && co_clock_now_ns() < until_ns && poll(&waits, 1, seen->sent > 0 ? QUIET_MS : FIRST_MS) > 0) {
        struct mark mark;
        int64_t ns;
        while (co_clock_now_ns() < until_ns && receive(socket->fd, &mark, &ns)) {
            uint32_t order = mark.order & ~IS_END;
            if (mark.nonce != nonce || mark.from != volley->from || mark.number != volley->number ||
                order > CO_VOLLEY_MOST) {
                continue;
            }
            is_over = is_over || (mark.order & IS_END) != 0;
            if ((mark.order & IS_END) != 0) {
                seen->sent = (int)order;
            } else if (order < CO_VOLLEY_MOST && !came[order]) {
                came[order] = true;
                times_ns[seen->arrived++] = ns;
                seen->sent = (int)order >= seen->sent ? (int)order + 1 : seen->sent;
            }
        }
    }
    uint32_t overflows = count_overflows(socket->fd);
    seen->overflowed = (int)(overflows - socket->overflows);
    socket->overflows = overflows;
    seen->kbits = rate_of(times_ns, seen->arrived, volley->bytes);
}
