// SPDX-License-Identifier: BSD-3-Clause
//
// Unix sockets between a proxy and the processes of its node. Names are abstract: they stand in no folder, end with
// their owner, and each network namespace has its own, so two hosts of the laboratory do not meet. Who is at the other
// end the kernel says (SO_PEERCRED). Nothing here waits but what says so. All descriptors close on exec. Any thread;
// set-up and doorbells.
#ifndef CASTOFF_OFFLOAD_LOCAL_SOCKET_H
#define CASTOFF_OFFLOAD_LOCAL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CO_LOCAL_NAME_MAX 64 // with its end

// Who was at the other end when it listened or connected.
struct co_local_peer {
    uid_t user;
    pid_t process;
};

// A listening socket of that name, which nobody has yet. -EADDRINUSE, -EMFILE, ...
int co_local_listen(const char *name);
// The next one who came, or -EAGAIN: nobody has.
int co_local_accept(int listener, struct co_local_peer *peer);
// A socket that is connected with who listens there. -ECONNREFUSED: nobody does. -EAGAIN: too many want to.
int co_local_connect(const char *name, struct co_local_peer *peer);
// Two sockets that are connected with each other.
int co_local_pair(int ends[2]);

// Bytes, and a descriptor with them unless it is -1. Returns how many were taken, or -errno (-EAGAIN: no room).
ssize_t co_local_send(int socket, const void *bytes, size_t count, int fd);
// What is there: how many bytes, 0 at the end, or -errno (-EAGAIN: nothing). *fd: the descriptor that came with them,
// which is the caller's, or -1; of more than one none is taken, and all are closed (-EPROTO).
ssize_t co_local_receive(int socket, void *bytes, size_t room, int *fd);
// The same of bytes that say nothing, as a doorbell's. With descriptors among them nothing is taken (-EPROTO).
ssize_t co_local_rings(int socket);

// Sleeps until there is something to read, or the other end is closed, at most so long: 1, or 0. -errno. A signal ends
// the first of them early (0), and not the second.
int co_local_await(int socket, uint64_t most_ns);
int co_local_await_until(int socket, uint64_t until_ns);
// Whether the other end is closed; rings that have come before stay.
bool co_local_has_ended(int socket);
// The other end hears the end of it, and what that one does then is heard here: the descriptor stays, for reading.
int co_local_end(int socket);
// All of `count` bytes, before until_ns. 0; -ETIMEDOUT; -EPIPE: the other end is closed; -errno. They wait.
int co_local_receive_all(int socket, void *bytes, size_t count, uint64_t until_ns);
// The same with the first descriptor that comes along, or -1; it is the caller's whatever is returned.
int co_local_receive_all_with(int socket, void *bytes, size_t count, uint64_t until_ns, int *with);
int co_local_send_all(int socket, const void *bytes, size_t count, uint64_t until_ns);

#endif
