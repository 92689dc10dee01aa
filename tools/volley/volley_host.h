// SPDX-License-Identifier: BSD-3-Clause
//
// One host's part in a volley: it sends it, or takes it. Cold.
#ifndef CASTOFF_TOOLS_VOLLEY_HOST_H
#define CASTOFF_TOOLS_VOLLEY_HOST_H

#include <netinet/in.h>
#include <stdint.h>

#include "volley.h"

struct co_volley_socket {
    int fd;
    uint32_t overflows; // datagrams that found no room in it, as far as they were looked for
};

// The socket that takes volleys.
void co_volley_prepare(struct co_volley_socket *socket, int fd);

// `nonce`: who else sends to the group has another one.
void co_volley_send(int fd, const struct sockaddr_in *group, uint64_t nonce, const struct co_volley *volley);

// Until its end has come, or nothing for a while.
void co_volley_take(struct co_volley_socket *socket, uint64_t nonce, const struct co_volley *volley,
                    struct co_volley_seen *seen);

// Nothing waits any more: what the host has sent itself, and what was left of the volley before.
void co_volley_drain(struct co_volley_socket *socket);

#endif
