// SPDX-License-Identifier: BSD-3-Clause
//
// castoff_group: one sender writes a registered buffer into those of all members of a group by RDMA, with no work for
// the members meanwhile. A hop (castoff hop) multiplies the writes, a coordinator (castoff coordinator) sets it up.
// This is the public header of libcastoff-group.so, for programs other than MPI. Source: S4, section 3.
//
// A group is set up for one buffer of the same length at all ends; the sender may write it as often as it likes, one
// transfer after the other. All functions may wait, none is for several threads at a time on one group. They return 0
// or -errno, and castoff_group_why() then has a sentence for people.
//
//     sender                                            each member
//     castoff_group_open_sender(&g, &options, b, n)     castoff_group_open_member(&g, &options, b, n)
//     castoff_group_write(g, 0, n)
//     castoff_group_complete(g)                         castoff_group_complete(g)
//     castoff_group_close(g)                            castoff_group_close(g)
#ifndef CASTOFF_GROUP_H
#define CASTOFF_GROUP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CASTOFF_GROUP_EXPORT __attribute__((visibility("default")))

struct castoff_group;

struct castoff_group_options {
    const char *coordinator; // "host:port"; port 4793 if it is missing
    const char *secret;      // path of the file with the secret that the coordinator has
    const char *group;       // its name: letters, digits, '.', '_', '-', 63 at most
    const char *name;        // of this end, unique in the group; NULL: the host's
    const char *device;      // RDMA device, such as mlx5_0; NULL: the first that has an IPv4 address (RoCEv2)
    const char *address;     // that IPv4 address; NULL: the device's first
    unsigned members;        // sender: how many there are, 1 to 1024
    unsigned patience_ms;    // longest wait for the others without any progress; 0: 30 s
    uint64_t rate;           // sender: bytes a second at most; 0: as fast as it goes, slower where much is lost
};

// Whether this process could be an end of a group: the secret can be read, and the RDMA device is there with its
// address. Asks nobody and waits for nothing. Needs `secret`; -EACCES, -ENOENT, -EINVAL of it, -ENODEV of the device.
CASTOFF_GROUP_EXPORT int castoff_group_check(const struct castoff_group_options *options);

// Waits until all members have joined and all rules are in place. `buffer` is registered and must stay until
// castoff_group_close has returned; `bytes`: 1 to 2 TiB. -ETIMEDOUT who has not come or answered is in the sentence;
// -EEXIST a name is taken; -ENOSPC a table is full; -ENODEV no RDMA device; -EHOSTUNREACH no hop; -EACCES another
// secret; -EPROTONOSUPPORT another version; -ENOMEM also a limit on locked memory.
CASTOFF_GROUP_EXPORT int castoff_group_open_sender(struct castoff_group **out,
                                                   const struct castoff_group_options *options, const void *buffer,
                                                   size_t bytes);

// Waits until the sender has come and this member's part of the set-up is done. `bytes`: as many as the sender's, or
// more. From here to the return of castoff_group_close the buffer may be written at any time.
CASTOFF_GROUP_EXPORT int castoff_group_open_member(struct castoff_group **out,
                                                   const struct castoff_group_options *options, void *buffer,
                                                   size_t bytes);

// Of a chunk: what is written, and if need be written again, as one.
CASTOFF_GROUP_EXPORT size_t castoff_group_chunk_bytes(const struct castoff_group *group);

// Sender: writes this part of the buffer, which must not change until castoff_group_complete has returned. -ERANGE:
// beyond the buffer. -EINVAL: does not begin with a chunk, or does not end with one or the buffer.
CASTOFF_GROUP_EXPORT int castoff_group_write(struct castoff_group *group, size_t offset, size_t bytes);

// Sender: the transfer is whole: waits until every member has all chunks, and writes again what one of them lacks.
// -EINVAL: some have not been written yet. -EPIPE: members were lost, all others have everything. -ETIMEDOUT: no
// progress. Member: waits for that; then the buffer has what the sender's had. -ECONNRESET: the group is over before
// it.
CASTOFF_GROUP_EXPORT int castoff_group_complete(struct castoff_group *group);

// Leaves the group. When it returns nothing is written into the buffer any more, whatever it returns: the rules are
// gone, and the coordinator has said so (0), or that could not be learnt, and only the registration is gone (-errno).
// NULL is allowed.
CASTOFF_GROUP_EXPORT int castoff_group_close(struct castoff_group *group);

struct castoff_group_counts {
    uint64_t chunks_written, chunks_repaired; // sender: in all, and of them again
    uint64_t bytes_written;
    uint64_t chunks_received; // member: that came, also twice
    uint32_t rounds;          // of castoff_group_complete: 1 for each transfer where nothing was lost
    uint32_t members_lost;
};

CASTOFF_GROUP_EXPORT void castoff_group_counts(const struct castoff_group *group, struct castoff_group_counts *out);

// What went wrong last in this thread, until the next call; never NULL.
CASTOFF_GROUP_EXPORT const char *castoff_group_why(void);

#ifdef __cplusplus
}
#endif

#endif
