// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of the TCP carrier share: tcp_carrier.c is its conductor, tcp_remotes.c has the other proxies. Private
// to the carrier; one thread.
#ifndef CASTOFF_OFFLOAD_CARRIER_TCP_CARRIER_STATE_H
#define CASTOFF_OFFLOAD_CARRIER_TCP_CARRIER_STATE_H

#include <sys/socket.h>

#include "base/tcp_socket.h"
#include "offload/carrier/tcp_carrier.h"
#include "offload/carrier/tcp_connection.h"
#include "offload/carrier/tcp_strangers.h"

#define CO_CARRIER_HOST_MAX 128

// Another proxy.
struct co_carrier_remote {
    int number;
    char host[CO_CARRIER_HOST_MAX], place[CO_SOCKET_PLACE_MAX];
    struct sockaddr_storage address;
    socklen_t address_bytes;
    bool is_ending; // the owner is to be told that,
    bool is_over;   // and has been
    int error;      // why
    const char *why;
    uint64_t heard_ns; // something came from it, or silence began to count
    struct co_carrier_tcp_connection connections[CO_CARRIER_CONNECTIONS];
};

struct co_carrier_tcp {
    struct co_carrier carrier; // the first
    struct co_carrier_identity identity;
    struct co_carrier_tcp_output output;
    int epoll;
    uint64_t connect_until_ns, silent_ns, tick_every_ns;
    size_t control_bytes_max;
    uint64_t now_ns;  // of the turn
    uint64_t tick_ns; // when silence is looked for next; 0: the owner does not wait
    uint64_t next_ns; // co_carrier_tcp_deadline
    bool has_news;    // the turn's
    bool is_leaving;
    unsigned ending;            // remotes of which the owner is to be told
    unsigned to_come, to_reach; // connections of remotes that are not over, and have not stood
    struct co_carrier_strangers strangers;
    struct co_carrier_tcp_spare spare;
    struct co_carrier_tcp_counts counts;
    int remotes_made;
    struct co_carrier_remote remotes[]; // by number; its own is not used
};

// Connections are watched by twice the remote's number and which it is; above these the listener, and strangers.
static inline uint64_t co_carrier_first_stranger_id(const struct co_carrier_tcp *tcp)
{
    return (uint64_t)tcp->identity.proxies * CO_CARRIER_CONNECTIONS;
}

// The owner is told in this turn or the next one; the first reason counts. `why` is a sentence in which the proxy is
// "it", or NULL: what the kernel says of that error. 0: it has left.
void co_carrier_remote_fail(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote, int error, const char *why);
// Closes what is ending, and tells the owner.
void co_carrier_remotes_end(struct co_carrier_tcp *tcp);

// A socket of who has shown the key: a stranger's, which is then the remote's.
void co_carrier_remote_came(struct co_carrier_tcp *tcp, struct co_carrier_tcp_connection *stranger);
// A connection is readable, writable or broken.
void co_carrier_remote_event(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote,
                             enum co_carrier_connection which, uint32_t events);
// Tries to connect, and gives up.
void co_carrier_remotes_connect(struct co_carrier_tcp *tcp);
// Asks who is silent for a sign of life, and gives up who gave none.
void co_carrier_remotes_tick(struct co_carrier_tcp *tcp);
void co_carrier_remote_leave(struct co_carrier_tcp *tcp, struct co_carrier_remote *remote);

#endif
