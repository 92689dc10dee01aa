// SPDX-License-Identifier: BSD-3-Clause
//
// Sockets as src/transport/udp has them, of their own: what a firewall refuses is to be told by its errno. Cold.
#include "reach_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/settings.h"
#include "engine/engine.h"
#include "transport/udp/udp.h"

enum { PACKET_HEADERS = 28, SEND_SECONDS = 2, SEND_BYTES = 1 << 20 };

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0 ? 0 : -errno;
}

static int bind_to(int fd, const struct sockaddr_in *address)
{
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : -errno;
}

static int open_unicast(struct co_reach_sockets *sockets)
{
    socklen_t length = sizeof sockets->own;
    struct timeval patience = {.tv_sec = SEND_SECONDS}; // a link that is slow, or that takes nothing any more
    int fd = sockets->unicast = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ip_mreqn out = {.imr_address = sockets->own.sin_addr};
    int failed = fd < 0 ? -errno : bind_to(fd, &sockets->own);
    if (!failed && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) != 0) {
        failed = -errno;
    }
    failed = failed ? failed : set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)co_setting_number(CO_SET_UDP_TTL));
    if (!failed && getsockname(fd, (struct sockaddr *)&sockets->own, &length) != 0) {
        failed = -errno;
    }
    if (!failed) {
        set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE);
        set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)co_setting_number(CO_SET_UDP_RCVBUF));
        set_option(fd, SOL_SOCKET, SO_SNDBUF, SEND_BYTES); // a volley, in one go: who slept would be late on busy hosts
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return failed;
}

static int open_group(struct co_reach_sockets *sockets)
{
    int fd = sockets->group = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ip_mreqn member = {.imr_multiaddr = sockets->group_address.sin_addr, .imr_address = sockets->own.sin_addr};
    int failed = fd < 0 ? -errno : set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    failed = failed ? failed : bind_to(fd, &sockets->group_address);
    failed = failed ? failed : set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    if (!failed && setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member) != 0) {
        failed = -errno;
    }
    if (!failed) {
        set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)co_setting_number(CO_SET_UDP_RCVBUF));
    }
    return failed;
}

// "... port 41234, ..." of a transport that is described.
static uint16_t port_of(const char *text)
{
    const char *found = strstr(text, " port ");
    return found != NULL ? (uint16_t)strtoul(found + strlen(" port "), NULL, 10) : 0;
}

int co_reach_sockets_open(struct co_reach_sockets *sockets, uint64_t job_tag, uint32_t near_ip, char *why, size_t room)
{
    struct co_udp_config config;
    struct co_udp_address mine;
    struct co_transport *udp;
    char text[256];
    *sockets = (struct co_reach_sockets){.unicast = -1, .group = -1};
    co_network_udp_config(&config, job_tag);
    config.near_ip = near_ip;
    int failed = co_udp_open(&udp, &config, &mine, why, room);
    if (failed) {
        return failed;
    }
    co_udp_describe(udp, text, sizeof text);
    sockets->own = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = mine.ip};
    sockets->group_address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port_of(text)), .sin_addr.s_addr = htonl(co_udp_first_group(udp))};
    udp->ops->close(udp);
    failed = open_unicast(sockets);
    failed = failed ? failed : open_group(sockets);
    if (failed) {
        snprintf(why, room, "sockets: %s", strerror(-failed));
        co_reach_sockets_close(sockets);
    }
    return failed;
}

void co_reach_sockets_close(struct co_reach_sockets *sockets)
{
    if (sockets->unicast >= 0) {
        close(sockets->unicast);
    }
    if (sockets->group >= 0) {
        close(sockets->group);
    }
    sockets->unicast = sockets->group = -1;
}

int co_reach_sockets_send(const struct co_reach_sockets *sockets, const struct sockaddr_in *to,
                          const struct co_reach_mark *mark, size_t packet_bytes)
{
    static uint8_t bytes[65535];
    if (packet_bytes < PACKET_HEADERS + sizeof *mark || packet_bytes > sizeof bytes) {
        return EMSGSIZE;
    }
    memcpy(bytes, mark, sizeof *mark);
    ssize_t sent =
        sendto(sockets->unicast, bytes, packet_bytes - PACKET_HEADERS, 0, (const struct sockaddr *)to, sizeof *to);
    return sent < 0 ? errno : 0;
}

bool co_reach_sockets_take(int fd, struct co_reach_mark *mark)
{
    ssize_t got;
    do {
        got = recv(fd, mark, sizeof *mark, MSG_DONTWAIT | MSG_TRUNC);
    } while (got < 0 && errno == EINTR);
    if (got >= 0 && got < (ssize_t)sizeof *mark) {
        mark->nonce = 0; // a stranger's, of which no job has the number
    }
    return got >= 0;
}
