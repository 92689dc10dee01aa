// SPDX-License-Identifier: BSD-3-Clause
//
// The two kinds of sockets and their options. Unicast: bound to the interface's address, sends everything, multicast
// too. Group: bound to (group, port), so that it hears that group and nothing else, shared with other processes of
// the host. Called at start and when groups are joined.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "transport/udp/udp_state.h"

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0 ? 0 : -errno;
}

// More than the system's limit where we may, else what the limit gives; what came of it is read back.
static void ask_buffer(int fd, int force, int name, size_t bytes)
{
    int value = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes; // the kernel doubles it
    if (set_option(fd, SOL_SOCKET, force, value) != 0) {
        set_option(fd, SOL_SOCKET, name, value);
    }
}

size_t co_udp_socket_receive_buffer(int fd)
{
    int granted = 0;
    socklen_t length = sizeof granted;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &length) != 0 || granted < 0) {
        return 0;
    }
    return (size_t)granted / 2; // the other half is the kernel's bookkeeping
}

static int bind_to(int fd, uint32_t ip, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ip};
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : -errno;
}

static int open_socket(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 ? fd : -errno;
}

static int prepare_sending(int fd, const struct co_udp *udp, const struct co_udp_config *config)
{
    struct ip_mreqn out = {.imr_address.s_addr = udp->interface.ip, .imr_ifindex = udp->interface.index};
    int error = setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) == 0 ? 0 : -errno;
    if (!error) {
        error = set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, config->ttl);
    }
    if (!error) {
        error = set_option(fd, IPPROTO_IP, IP_RECVERR, 1); // to hear of unreachable ports and full local queues
    }
    // No DF, no belief in forged "fragmentation needed": datagrams fit the interface, routers may cut them up.
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE);
    ask_buffer(fd, SO_SNDBUF, SO_SNDBUF, config->send_buffer_bytes);
    return error;
}

int co_udp_socket_unicast(const struct co_udp *udp, const struct co_udp_config *config)
{
    int fd = open_socket();
    if (fd < 0) {
        return fd;
    }
    int error = bind_to(fd, udp->interface.ip, 0);
    if (!error) {
        error = prepare_sending(fd, udp, config);
    }
    if (error) {
        close(fd);
        return error;
    }
    ask_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, udp->receive_buffer_asked);
    return fd;
}

int co_udp_socket_group(const struct co_udp *udp, unsigned index)
{
    int fd = open_socket();
    if (fd < 0) {
        return fd;
    }
    int error = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!error) {
        error = bind_to(fd, htonl(udp->groups.first_ip + index), udp->groups.port);
    }
    if (!error) {
        // Without this a socket also hears what other sockets of the host have joined on other interfaces.
        error = set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    }
    if (error) {
        close(fd);
        return error;
    }
    ask_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, udp->receive_buffer_asked);
    return fd;
}

int co_udp_socket_become_member(const struct co_udp *udp, int fd, unsigned index)
{
    struct ip_mreqn membership = {.imr_multiaddr.s_addr = htonl(udp->groups.first_ip + index),
                                  .imr_address.s_addr = udp->interface.ip,
                                  .imr_ifindex = udp->interface.index};
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) == 0 ? 0 : -errno;
}

int co_udp_socket_loop(int fd, bool is_wanted)
{
    return set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, is_wanted);
}
