// SPDX-License-Identifier: BSD-3-Clause
//
// Who comes to a proxy's unix socket, up to the moment when it is known who that is. Anybody on the host may connect
// and say anything: a connection of another user is closed at once, one that says what it should not, or nothing for
// a while, likewise, and only so many are listened to at a time, the newest of them; nobody goes for a newer one before
// it has been heard. All that is counted. A rank has the key of the job and is the process that its number belongs to.
// Time is an argument; the proxy's one thread, which has SIGALRM and its timer for that; cold.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_LISTENER_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_LISTENER_H

#include <sys/types.h>

#include "offload/local_socket.h"
#include "offload/offload_hello.h"

#define CO_PROXY_STRANGERS 64 // that are listened to at a time

struct co_proxy_listener;

struct co_proxy_listener_config {
    const uint8_t *key; // of the job: CO_OFFLOAD_KEY_BYTES; stays where it is
    uint32_t ranks;
    const pid_t *processes; // by rank, 0: not a rank of this proxy; stays where it is
    uint64_t patience_ns;   // for who has connected and not said who he is
};

// Descriptors are the receiver's.
struct co_proxy_arrival {
    int socket;
    int segment; // of a rank: its segment's descriptor; else -1
    pid_t process;
    struct co_offload_hello hello;
};

struct co_proxy_listener_counts {
    uint64_t accepted;
    uint64_t foreign; // another user
    uint64_t junk;    // no hello, another key, another process than that rank, no segment
    uint64_t silent;  // nothing, or too little, until it was too late
    uint64_t crowded; // closed for newer ones, or for want of descriptors
};

// Listens under a name that nobody can guess, and writes it there.
int co_proxy_listener_open(struct co_proxy_listener **out, const struct co_proxy_listener_config *config,
                           char name[CO_LOCAL_NAME_MAX]);
void co_proxy_listener_close(struct co_proxy_listener *listener);
// Readable when there may be something to do.
int co_proxy_listener_descriptor(const struct co_proxy_listener *listener);
// 1: the next one that is known. 0: nobody is, until it is readable or due again.
int co_proxy_listener_next(struct co_proxy_listener *listener, uint64_t now_ns, struct co_proxy_arrival *arrival);
// When it has to be asked again though nothing comes; UINT64_MAX: never.
uint64_t co_proxy_listener_due_ns(const struct co_proxy_listener *listener);
const struct co_proxy_listener_counts *co_proxy_listener_counts(const struct co_proxy_listener *listener);

#endif
