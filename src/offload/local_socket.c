// SPDX-License-Identifier: BSD-3-Clause
//
// Unix sockets; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // accept4, struct ucred
#endif
#include "offload/local_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/poll.h"

enum {
    QUEUE = 128,
    RINGS_BYTES = 256,
    DESCRIPTORS = 4
}; // more than one descriptor is an error, but what comes has to be closed

static socklen_t address_of(struct sockaddr_un *address, const char *name)
{
    size_t length = strnlen(name, CO_LOCAL_NAME_MAX - 1);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, length); // its first byte is zero: abstract
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static int peer_of(int connected, struct co_local_peer *peer)
{
    struct ucred who;
    socklen_t bytes = sizeof who;

    if (getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
        return -errno;
    }
    *peer = (struct co_local_peer){.user = who.uid, .process = who.pid};
    return 0;
}

int co_local_listen(const char *name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(&address, name);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (made < 0) {
        return -errno;
    }
    if (bind(made, (struct sockaddr *)&address, bytes) != 0 || listen(made, QUEUE) != 0) {
        int error = -errno;
        close(made);
        return error;
    }
    return made;
}

int co_local_accept(int listener, struct co_local_peer *peer)
{
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) {
        return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
    }
    int error = peer_of(accepted, peer);
    if (error != 0) {
        close(accepted);
        return error;
    }
    return accepted;
}

int co_local_connect(const char *name, struct co_local_peer *peer)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(&address, name);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (made < 0) {
        return -errno;
    }
    int error = connect(made, (struct sockaddr *)&address, bytes) != 0 ? -errno : peer_of(made, peer);
    if (error != 0) {
        close(made);
        return error;
    }
    return made;
}

int co_local_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0 ? -errno : 0;
}

ssize_t co_local_send(int socket, const void *bytes, size_t count, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } with = {0};
    struct iovec piece = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = &with;
        message.msg_controllen = sizeof with.room;
        with.head =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&with.head), &fd, sizeof fd);
    }
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR) {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return sent < 0 ? -errno : sent;
}

// Closes all but a single one.
static int descriptors_take(struct msghdr *message, int *fd)
{
    int found[DESCRIPTORS], count = 0;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            int here = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(found, CMSG_DATA(head), (size_t)here * sizeof(int)); // the room had no more
            count = here;
        }
    }
    bool is_cut = (message->msg_flags & MSG_CTRUNC) != 0;
    for (int i = 0; i < count && (count > 1 || is_cut); i++) {
        close(found[i]);
    }
    *fd = count == 1 && !is_cut ? found[0] : -1;
    return count > 1 || is_cut ? -EPROTO : 0;
}

ssize_t co_local_receive(int socket, void *bytes, size_t room, int *fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } with;
    struct iovec piece = {bytes, room};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with.room};

    *fd = -1;
    ssize_t came = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (came < 0 && errno == EINTR) {
        came = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    }
    if (came < 0) {
        return -errno;
    }
    int error = descriptors_take(&message, fd);
    return error != 0 ? error : came;
}

// Looked at without room for descriptors: the kernel says whether there are any, and takes none. Then exactly that much
// is taken, so that what has come since is not.
ssize_t co_local_rings(int socket)
{
    char rings[RINGS_BYTES];
    struct iovec piece = {rings, sizeof rings};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t came = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);

    if (came > 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
        return -EPROTO;
    }
    came = came > 0 ? recv(socket, rings, (size_t)came, MSG_DONTWAIT) : came;
    return came >= 0 ? came : errno == EINTR ? -EAGAIN : -errno;
}

static int socket_await(int socket, short events, uint64_t most_ns)
{
    struct pollfd look = {.fd = socket, .events = events};
    int ready = co_poll(&look, 1, most_ns);
    return ready >= 0 ? ready : errno == EINTR ? 0 : -errno;
}

int co_local_await(int socket, uint64_t most_ns)
{
    return socket_await(socket, POLLIN, most_ns);
}

int co_local_await_until(int socket, uint64_t until_ns)
{
    uint64_t now_ns = co_clock_now_ns();
    int ready = 0;

    for (; ready == 0 && now_ns < until_ns; now_ns = co_clock_now_ns()) {
        ready = socket_await(socket, POLLIN, until_ns - now_ns);
    }
    return ready;
}

// After a step that moved `moved` bytes, or none (-EAGAIN): whether there may be another one, and when.
static int step_follow(int socket, short events, ssize_t moved, uint64_t until_ns)
{
    if (moved < 0 && moved != -EAGAIN) {
        return (int)moved;
    }
    if (moved > 0) {
        return 0;
    }
    uint64_t now_ns = co_clock_now_ns();
    return now_ns >= until_ns ? -ETIMEDOUT : socket_await(socket, events, until_ns - now_ns);
}

int co_local_receive_all_with(int socket, void *bytes, size_t count, uint64_t until_ns, int *with)
{
    int error = 0;
    *with = -1;
    for (size_t done = 0; done < count && error >= 0;) {
        int fd;
        ssize_t came = co_local_receive(socket, (char *)bytes + done, count - done, &fd);
        if (*with < 0) {
            *with = fd;
        } else if (fd >= 0) {
            close(fd);
        }
        done += came > 0 ? (size_t)came : 0;
        error = came == 0 ? -EPIPE : step_follow(socket, POLLIN, came, until_ns);
    }
    return error < 0 ? error : 0;
}

int co_local_receive_all(int socket, void *bytes, size_t count, uint64_t until_ns)
{
    int with;
    int error = co_local_receive_all_with(socket, bytes, count, until_ns, &with);
    if (with >= 0) {
        close(with); // nobody sends one here
    }
    return error;
}

int co_local_send_all(int socket, const void *bytes, size_t count, uint64_t until_ns)
{
    int error = 0;
    for (size_t done = 0; done < count && error >= 0;) {
        ssize_t sent = co_local_send(socket, (const char *)bytes + done, count - done, -1);
        done += sent > 0 ? (size_t)sent : 0;
        error = step_follow(socket, POLLOUT, sent, until_ns);
    }
    return error < 0 ? error : 0;
}

bool co_local_has_ended(int socket)
{
    struct pollfd look = {.fd = socket, .events = POLLRDHUP};
    return co_poll(&look, 1, 0) > 0;
}

int co_local_end(int socket)
{
    return shutdown(socket, SHUT_WR) == 0 ? 0 : -errno;
}
