// SPDX-License-Identifier: BSD-3-Clause
//
// TCP sockets; see the header.
#define _GNU_SOURCE
#include "base/tcp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool split_place(const char *place, const char *port, char host[256], char number[32])
{
    const char *end = place[0] == '[' ? strchr(place, ']') : strchr(place, ':');
    const char *begin = place + (place[0] == '[');
    if (place[0] == '[' && end == NULL) {
        return false;
    }
    int length = end != NULL ? (int)(end - begin) : (int)strlen(begin);
    const char *colon = end != NULL && *end == ']' ? end + 1 : end;
    if (length >= 256 || (colon != NULL && *colon != '\0' && *colon != ':')) {
        return false;
    }
    snprintf(host, 256, "%.*s", length, begin);
    const char *wanted = colon != NULL && *colon == ':' ? colon + 1 : port;
    return strlen(wanted) <= 5 && strspn(wanted, "0123456789") == strlen(wanted) && atoi(wanted) <= UINT16_MAX &&
           snprintf(number, 32, "%s", wanted) > 0;
}

int co_socket_addresses_find(struct addrinfo **out, const char *place, const char *port, int flags, char *why,
                             size_t why_room)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    char host[256], number[32];
    if (!split_place(place, port, host, number)) {
        snprintf(why, why_room, "'%s' is no host:port", place);
        return -EINVAL;
    }
    int error = getaddrinfo(host[0] != '\0' ? host : NULL, number, &hints, out);
    if (error != 0) {
        snprintf(why, why_room, "%s: %s", place, gai_strerror(error));
        return -EINVAL;
    }
    return 0;
}

void co_socket_address_describe(char place[CO_SOCKET_PLACE_MAX], const struct sockaddr *address, socklen_t bytes)
{
    char host[48] = "?", port[8] = "?";
    getnameinfo(address, bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    const char *mapped = strncmp(host, "::ffff:", 7) == 0 ? host + 7 : host;
    snprintf(place, CO_SOCKET_PLACE_MAX, strchr(mapped, ':') != NULL ? "[%s]:%s" : "%s:%s", mapped, port);
}

void co_socket_number_set(int socket, int level, int option, int value)
{
    setsockopt(socket, level, option, &value, sizeof value);
}

static int listen_at(const struct addrinfo *at)
{
    int listener = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return -errno;
    }
    co_socket_number_set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    if (at->ai_family == AF_INET6) {
        co_socket_number_set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (bind(listener, at->ai_addr, at->ai_addrlen) != 0 || listen(listener, BACKLOG) != 0) {
        int error = errno;
        close(listener);
        return -error;
    }
    return listener;
}

static int listen_at_any(const struct addrinfo *found, bool is_six_alone)
{
    int listener = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at != NULL && listener < 0; at = at->ai_next) {
        listener = !is_six_alone || at->ai_family == AF_INET6 ? listen_at(at) : listener;
    }
    return listener;
}

int co_socket_listen(const char *place, const char *port, char *why, size_t why_room)
{
    struct addrinfo *found;
    int error = co_socket_addresses_find(&found, place, port, AI_PASSIVE, why, why_room);
    if (error != 0) {
        return error;
    }
    // Of no host: the list begins with IPv4's, but IPv6's hears both.
    bool is_everywhere = place[0] == '\0' || place[0] == ':';
    int listener = is_everywhere ? listen_at_any(found, true) : -EADDRNOTAVAIL;
    if (listener < 0) {
        listener = listen_at_any(found, false);
    }
    if (listener < 0) {
        char text[CO_SOCKET_PLACE_MAX];
        co_socket_address_describe(text, found->ai_addr, found->ai_addrlen);
        snprintf(why, why_room, "cannot listen at %s: %s", text, strerror(-listener));
    }
    freeaddrinfo(found);
    return listener;
}

uint16_t co_socket_port(int socket)
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    if (getsockname(socket, (struct sockaddr *)&own, &bytes) != 0) {
        return 0;
    }
    return ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                           : ((struct sockaddr_in *)&own)->sin_port);
}

int co_socket_connect(const struct sockaddr *address, socklen_t bytes)
{
    int connected = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connected < 0) {
        return -errno;
    }
    if (connect(connected, address, bytes) != 0 && errno != EINPROGRESS) {
        int error = errno;
        close(connected);
        return -error;
    }
    return connected;
}

int co_socket_error(int socket)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 ? -errno : -error;
}
