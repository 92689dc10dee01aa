// SPDX-License-Identifier: BSD-3-Clause
//
// castoff_offload: messages between processes that move while the processes compute, sleep or are stopped: a proxy, a
// process of castoff's on their node, is told once what is to be moved, and does it alone. This is the public header of
// libcastoff-offload.so, which needs no MPI and goes with any. Source: Suresh et al., "A Novel Framework for Efficient
// Offloading of Communication Operations to Bluefield SmartNICs" (S3), sections on basic and group primitives.
//
// A world is a number of processes, ranks 0 to size - 1, each of which has opened it. Messages are bytes: the k-th send
// from a rank to a rank with a tag is received by the k-th receive of that one, from it, with that tag. There are no
// wildcards and no types. A buffer of a send must not be changed, and one of a receive not be looked at, before the
// request or the call is over; nothing is registered, so it may be any memory, and may be freed afterwards. No byte is
// written into it before its receive, or that call of its group, has begun.
//
// Functions return 0 or -errno, and castoff_offload_why() then has a sentence for people. None waits but open, close
// and those with wait in their name. One thread at a time for a world; several worlds may be open. In a child that was
// made by fork, every function of a world of its parent's returns -ECHILD. -ECONNRESET: the proxy has ended, or has
// not moved for CASTOFF_DEADLINE_S while it was waited for, or, of a call or a wait, another rank that it needs has
// ended, or could not do its part.
//
//     struct castoff_offload_job job = {.struct_bytes = sizeof job, .rank = r, .size = n, .allgather = f, .arg = a};
//     castoff_offload_open(&world, &job);
//     castoff_offload_receive(world, in, bytes, left, 0, &request);
//     castoff_offload_send(world, out, bytes, right, 0, &other);
//     compute();
//     castoff_offload_wait(request, NULL);
//     castoff_offload_wait(other, NULL);
//     castoff_offload_close(world);
#ifndef CASTOFF_OFFLOAD_H
#define CASTOFF_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CASTOFF_OFFLOAD_EXPORT __attribute__((visibility("default")))

struct castoff_offload_world;
struct castoff_offload_request;
struct castoff_offload_group;

// Members that are not named are 0. Later versions may add some at its end, and take what a program of this one says.
struct castoff_offload_job {
    size_t struct_bytes; // sizeof(struct castoff_offload_job), as the program knows it
    int rank, size;      // this process, of so many
    // Gathers `bytes` bytes of each rank, in the order of ranks, into `all` of each: collective. 0, or another number,
    // which castoff_offload_open returns, if it is negative, or -EIO. Called by castoff_offload_open alone.
    int (*allgather)(void *arg, const void *mine, void *all, size_t bytes);
    void *arg;
    // What only ranks of this job know, the same at each: 16 to 64 bytes. NULL: rank 0 makes one, and `allgather` takes
    // it to the others.
    const void *key;
    size_t key_bytes;
    const char *command; // path of the castoff command; NULL: the one beside the library
    // Called with `arg` again and again while a function of this world waits, but for open and close: for a library
    // whose own messages go on only while it is called, as those of most MPIs, and which another rank may wait for
    // meanwhile. It calls no function of the world, and does not wait. NULL: nothing.
    void (*progress)(void *arg);
};

// Collective. Starts a proxy on each node, which is in no relation to this process: no child, no signal, no file. It
// ends with the last of its ranks. -ENOTSUP: CASTOFF_PROXY=no. -EPERM: the kernel does not let a process of the same
// user read and write this one's memory, and CASTOFF_PROXY_LEND=attach; else this process copies its messages itself,
// and a line on standard error says so. -ENOENT: no castoff command. What one rank cannot do is an error of all. But
// -EINVAL, where rank, size, key, allgather or struct_bytes cannot be, and -E2BIG, where the program says something
// that only a later version of this library knows, are those of a rank alone. Settings: CASTOFF_PROXY, CASTOFF_PROXIES,
// CASTOFF_PROXY_LEND, CASTOFF_PROXY_CORES, CASTOFF_PROXY_STAGING, CASTOFF_UDP_INTERFACE, CASTOFF_AUTH,
// CASTOFF_DEADLINE_S.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_open(struct castoff_offload_world **world,
                                                const struct castoff_offload_job *job);
// -EBUSY: a request or a call of a group has not been waited for, and all is as before. Groups are freed before; so no
// other rank needs a buffer of this one's any more. NULL is allowed.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_close(struct castoff_offload_world *world);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_rank(const struct castoff_offload_world *world);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_size(const struct castoff_offload_world *world);

// Basic primitives. `peer`: a rank, also this one. -EAGAIN: too much is under way (1,024 requests and calls of groups);
// wait for some of it. -EINVAL: no such rank, more than 128 TiB. -ENOSPC: a world has 65,536 pairs of rank and tag.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_send(struct castoff_offload_world *world, const void *address, size_t bytes,
                                                int peer, uint32_t tag, struct castoff_offload_request **request);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_receive(struct castoff_offload_world *world, void *address, size_t bytes,
                                                   int peer, uint32_t tag, struct castoff_offload_request **request);
// *is_done: 1 if the request is over, and waiting for it would not wait; else 0. It has to be waited for still.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_test(struct castoff_offload_request *request, int *is_done);
// Until it is over; the request is gone then, whatever is returned. *received, unless NULL: bytes of a receive. A send
// is over when its bytes have left the buffer. -EMSGSIZE: the message was longer than the receive. -EFAULT: there was
// no such memory.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_wait(struct castoff_offload_request *request, size_t *received);

// Group primitives. A group is recorded once and called as often as one likes; a call runs all of it, in recorded order
// as far as barriers say. Sends of groups meet receives of groups. An error of one operation ends the call with it.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_start(struct castoff_offload_world *world,
                                                       struct castoff_offload_group **group);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_send(struct castoff_offload_group *group, const void *address,
                                                      size_t bytes, int peer, uint32_t tag);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_receive(struct castoff_offload_group *group, void *address,
                                                         size_t bytes, int peer, uint32_t tag);
// Of this rank alone: what follows begins when all before it is complete here.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_barrier(struct castoff_offload_group *group);
// Receives from a rank and passes on to another what has come: a ring without a barrier.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_forward(struct castoff_offload_group *group, void *address,
                                                         size_t bytes, int from, uint32_t from_tag, int to,
                                                         uint32_t to_tag);
// The record is complete. -EBUSY of what records: it was.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_end(struct castoff_offload_group *group);
// Runs it once. -EFAULT, where this process copies its messages: there is no such memory. -EINVAL: it has no end.
// -EBUSY: its last call has not been waited for. -EAGAIN, -ENOSPC: as above.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_call(struct castoff_offload_group *group);
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_test(struct castoff_offload_group *group, int *is_done);
// Of its last call; *received, unless NULL: bytes of all its receives. 0 where none was called since.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_wait(struct castoff_offload_group *group, size_t *received);
// -EBUSY: its last call has not been waited for. -EAGAIN: ask again. NULL is allowed.
CASTOFF_OFFLOAD_EXPORT int castoff_offload_group_free(struct castoff_offload_group *group);

// What all worlds of this process have had moved so far; the report of castoff's preload has the same.
enum castoff_offload_count {
    CASTOFF_OFFLOAD_WORLDS,         // opened
    CASTOFF_OFFLOAD_REFUSED,        // that could not be
    CASTOFF_OFFLOAD_CALLS,          // single operations, and calls of groups
    CASTOFF_OFFLOAD_CACHED,         // of groups that the proxy knew already
    CASTOFF_OFFLOAD_FAILED,         // that ended with an error
    CASTOFF_OFFLOAD_BYTES_RECEIVED, //
    CASTOFF_OFFLOAD_BYTES_COPIED,   // of these, by this process itself
    CASTOFF_OFFLOAD_COUNTS
};
// Writes as many as there are, and room for: so many.
CASTOFF_OFFLOAD_EXPORT size_t castoff_offload_counts(uint64_t *counts, size_t room);
// How the last world that was to be opened here is served, or why it is not; "": there was none. Until this
// thread asks again.
CASTOFF_OFFLOAD_EXPORT const char *castoff_offload_state(void);

// What went wrong last in this thread, until the next failure; never NULL.
CASTOFF_OFFLOAD_EXPORT const char *castoff_offload_why(void);

// The one world of castoff_offload_paper.h, for all files of a program.
CASTOFF_OFFLOAD_EXPORT struct castoff_offload_world **castoff_offload_paper_world(void);

#ifdef __cplusplus
}
#endif

// The names of the paper, on MPI_COMM_WORLD: mpi.h comes before.
#ifdef CASTOFF_OFFLOAD_PAPER_NAMES
#include "castoff_offload_paper.h"
#endif

#endif
