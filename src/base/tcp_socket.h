// SPDX-License-Identifier: BSD-3-Clause
//
// TCP sockets: addresses out of text and back, listening, beginning a connection. The file that opens them. Nothing
// waits, but to find the address of a name. Any thread; cold.
#ifndef CASTOFF_BASE_TCP_SOCKET_H
#define CASTOFF_BASE_TCP_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addrinfo;

#define CO_SOCKET_PLACE_MAX 64 // text of an address and port

// The addresses of "host:port", "host", ":port" or "[address]:port"; what is missing comes from `port`. `flags` as
// getaddrinfo(3) has them; the caller calls freeaddrinfo. -EINVAL and `why`.
int co_socket_addresses_find(struct addrinfo **out, const char *place, const char *port, int flags, char *why,
                             size_t why_room);
// "address:port", numbers alone.
void co_socket_address_describe(char place[CO_SOCKET_PLACE_MAX], const struct sockaddr *address, socklen_t bytes);

// A nonblocking socket that listens at the first of the addresses that works; of no host at all of them, of IPv4 and
// IPv6. -errno, and `why` is a whole sentence.
int co_socket_listen(const char *place, const char *port, char *why, size_t why_room);
// The port that it has got; 0: none.
uint16_t co_socket_port(int socket);

// A nonblocking socket that is connected, or is being connected: it is writable when that is over, and co_socket_error
// says how. -errno.
int co_socket_connect(const struct sockaddr *address, socklen_t bytes);
int co_socket_error(int socket); // 0 or -errno; it is then forgotten

// Without a word where the kernel does not know the option.
void co_socket_number_set(int socket, int level, int option, int value);

#endif
