// SPDX-License-Identifier: BSD-3-Clause
//
// By connected sockets, to which the kernel tells what came back. Hosts answer so once a second or so at most: a large
// datagram is asked for only after a small one was answered, and more than once. Cold.
#include "path_probe.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADERS = 28, SMALL = 64, TRIES = 3, TRY_MS = 500 };

// Of names that are like "h1:4", which has slots, the host.
static bool find_address(struct sockaddr_in *address, const char *host)
{
    char name[256];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
    size_t length = strcspn(host, ":");
    if (length >= sizeof name) {
        return false;
    }
    memcpy(name, host, length);
    name[length] = '\0';
    if (getaddrinfo(name, NULL, &hints, &found) != 0) {
        return false;
    }
    memcpy(address, found->ai_addr, sizeof *address);
    freeaddrinfo(found);
    address->sin_port = htons(9); // discard: nobody listens there nowadays
    return true;
}

static bool is_refused(int fd, size_t bytes)
{
    static const char zeros[65536];
    for (int i = 0; i < TRIES; i++) {
        struct pollfd answer = {.fd = fd};
        if (send(fd, zeros, bytes, 0) < 0 && errno == ECONNREFUSED) {
            return true;
        }
        int error = 0;
        socklen_t length = sizeof error;
        if (poll(&answer, 1, TRY_MS) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 &&
            error == ECONNREFUSED) {
            return true;
        }
    }
    return false;
}

enum co_path_state co_path_probe(const char *host, size_t *bytes)
{
    struct sockaddr_in address;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), whole = IP_PMTUDISC_PROBE, mtu = 0;
    socklen_t length = sizeof mtu;
    enum co_path_state state = CO_PATH_UNKNOWN;
    if (fd >= 0 && find_address(&address, host) &&
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &length) == 0 && mtu > HEADERS && is_refused(fd, SMALL)) {
        *bytes = (size_t)(mtu < 65535 ? mtu : 65535);
        state = is_refused(fd, *bytes - HEADERS) ? CO_PATH_CARRIES : CO_PATH_LOSES_LARGE;
    }
    if (fd >= 0) {
        close(fd);
    }
    return state;
}
