// SPDX-License-Identifier: BSD-3-Clause
//
// Reliable connections to the other ranks over verbs (InfiniBand Architecture Specification 1.4: RC, shared receive
// queue, RDMA READ; RoCE v2), as the channel between hosts needs them: packets, which arrive in order and once, and
// reads of memory that a peer has exported. Made by libcastoff-verbs.so. A connection is made when it is first sent to,
// by datagrams; nobody waits for it. One caller at a time (the lock of the point-to-point engine), any thread. Opening
// is cold, send and poll are hot.
#ifndef CASTOFF_P2P_CHANNEL_RC_H
#define CASTOFF_P2P_CHANNEL_RC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_RC_MODULE_VERSION 3

// Of a peer, exchanged at the start.
struct co_rc_address {
    uint8_t gid[16];
    uint32_t connect_qp; // queue pair to which connection requests are sent
    uint16_t lid;        // 0 on RoCE
};

struct co_rc_config {
    const char *device;      // name
    uint8_t port, gid_index; // of it
    int size, self;          // peers, numbered as the job's ranks
    uint64_t job;            // what connection requests of this job say
    size_t packet_bytes;
    unsigned packets;                           // each way, for all peers together, at least 4
    void (*count_failed)(uint64_t completions); // that ended with an error
    void (*warn)(const char *text);             // one line, of a failure in mid-operation
};

// Memory that a peer may read, as it is told: the same numbers on both sides.
struct co_rc_key {
    uint64_t address;
    uint32_t key, place; // place: of the lender
};

enum co_rc_event_kind {
    CO_RC_PACKET, // data and bytes, until give_back(packet)
    CO_RC_READ,   // owner: its read is over, result 0 or -errno
    CO_RC_LOST    // the peer is not reached any more, result -errno; told once, after the ends of its reads
};

struct co_rc_event {
    enum co_rc_event_kind kind;
    int peer, result;
    unsigned packet;
    const unsigned char *data;
    size_t bytes;
    void *owner;
};

struct co_rc;

struct co_rc_ops {
    // Of every peer, before anything else; copied.
    void (*set_peer)(struct co_rc *rc, int peer, const struct co_rc_address *address);
    // A packet of three parts. False: no room now, or no connection yet; a lost peer takes everything and gets nothing.
    bool (*send)(struct co_rc *rc, int peer, const void *head, size_t head_bytes, const void *first, size_t first_bytes,
                 const void *second, size_t second_bytes);
    // What has happened, at most `most`; how many.
    int (*poll)(struct co_rc *rc, struct co_rc_event *events, int most);
    void (*give_back)(struct co_rc *rc, unsigned packet);
    // Memory is registered until region_release: 0, or -errno (more than may be locked): it cannot be exported.
    int (*region_export)(struct co_rc *rc, const void *data, size_t bytes, struct co_rc_key *key);
    void (*region_release)(struct co_rc *rc, const struct co_rc_key *key);
    // 0: it has begun, an event tells its end. -EAGAIN: not now. Another -errno: the buffer cannot be registered.
    int (*read)(struct co_rc *rc, int peer, void *buffer, size_t bytes, const struct co_rc_key *from, void *owner);
    // Somebody waits for this peer. Where there is a connection, and the peer is gone, or cannot be reached, it is lost
    // a while later.
    void (*query)(struct co_rc *rc, int peer);
    // Ends the connection: nothing is written to a buffer, or read from one, any more, no event of this peer comes.
    void (*cut)(struct co_rc *rc, int peer);
    bool (*is_idle)(const struct co_rc *rc); // no packet and no read is under way
    // The device is taken away: all peers are lost, and all that is the device's is given back, so that whoever takes
    // it away need not wait. Other calls stay allowed.
    void (*let_go)(struct co_rc *rc);
    void (*close)(struct co_rc *rc);
};

struct co_rc {
    const struct co_rc_ops *ops;
};

struct co_rc_module {
    int version;
    // 0 or -errno with the reason, one sentence, in why[why_room]. *connect_qp: of this rank's address.
    int (*open)(struct co_rc **out, const struct co_rc_config *config, uint32_t *connect_qp, char *why,
                size_t why_room);
};

// The second symbol of the module.
const struct co_rc_module *co_rc_module(void) __attribute__((visibility("default")));

#endif
