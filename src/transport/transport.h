// SPDX-License-Identifier: BSD-3-Clause
//
// Contract of the datagram transports under the reliable multicast protocol: they move batches of datagrams
// to a group or to one peer, unreliably and in any order, and never read what is inside. udp, verbs (by RDMA devices),
// loopback (in process, virtual time, for tests, on request with the manners of verbs), lossy (a decorator over any of
// them). Calls come from whoever holds the engine, one at a time, except that one thread may send and others may
// receive from lanes beside it where lane_receive is there; none may block.
#ifndef CASTOFF_TRANSPORT_H
#define CASTOFF_TRANSPORT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "transport/arrival.h"

// Where a batch goes.
struct co_destination {
    enum { CO_TO_GROUP, CO_TO_PEER } kind;
    unsigned index; // group: subgroup number as joined; peer: world rank
};

struct co_reads;
struct co_region; // memory that a transport was told of by region_open; the transport's own

// One datagram in up to three pieces, so that payload leaves straight from the user's buffer. The pieces belong
// to the caller and may change once send has returned; only a payload that stands in a region is left as it is until
// the region is busy no more. Within one batch all datagrams but the last have equal total size and the last is not
// larger (that is what segmentation offload wants).
struct co_tx_datagram {
    const void *head, *payload, *tail;
    const struct co_region *region; // that all of the payload stands in; NULL: in none
    uint32_t head_bytes, payload_bytes, tail_bytes;
    uint32_t immediate; // arrives beside the bytes where has_immediate; others ignore it
    // To a peer, alone: where there is a reliable connection to it and room there (verbs: to two neighbours), it goes
    // by that, without its immediate; else like any other. For what is said once: what is said again had better take
    // another way.
    bool by_connection;
};

static inline size_t co_tx_datagram_bytes(const struct co_tx_datagram *datagram)
{
    return (size_t)datagram->head_bytes + datagram->payload_bytes + datagram->tail_bytes;
}

// Its pieces one after the other. How many bytes.
static inline uint32_t co_tx_datagram_copy(uint8_t *to, const struct co_tx_datagram *datagram)
{
    const void *const pieces[] = {datagram->head, datagram->payload, datagram->tail};
    const uint32_t sizes[] = {datagram->head_bytes, datagram->payload_bytes, datagram->tail_bytes};
    uint32_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        if (sizes[i] > 0) { // else there may be no piece
            memcpy(to + bytes, pieces[i], sizes[i]);
            bytes += sizes[i];
        }
    }
    return bytes;
}

// Called during poll or lane_receive with the datagrams that came together, at least one, in the order in which they
// came. During poll they are valid until it returns and must not be kept; it may send, join and leave, but not poll.
// During lane_receive it may do nothing with the transport. An immediate is the sender's where has_immediate:
// good for finding a place fast, never for proving anything, for no tag covers it.
typedef void (*co_deliver_fn)(void *arg, const struct co_arrival *arrivals, unsigned count);

#define CO_DELIVER_AT_ONCE 64 // at most

// What comes next to a group, if nothing is lost: datagrams of head, payload and tail whose payload goes to `at`, one
// after the other. They leave in batches, of which the first may be under way.
struct co_landing {
    uint8_t *at;
    size_t bytes; // of payload in all: that of the last datagram may be short
    uint32_t head_bytes, payload_bytes, tail_bytes;
    unsigned first_batch, batch; // datagrams left of the first, and of each that follows
};

// Who knows what comes next. Called during poll, with its `arg`.
struct co_lander {
    // Before each receive from a group; the answer holds until the transport has called anything else but is_expected.
    // False: whatever comes shall be delivered.
    bool (*expects)(void *arg, unsigned group, struct co_landing *landing);
    // Datagram number `place` of what is expected? All but its payload stands at `data`.
    bool (*is_expected)(void *arg, const uint8_t *data, size_t bytes, uint32_t place);
    // A co_deliver_fn instead of poll's, for datagrams of which all but the payload stands at `data`: that is where it
    // goes. Their immediates are their numbers in what was expected.
    co_deliver_fn deliver;
};

struct co_transport;

struct co_transport_ops {
    const char *name;

    // Starts to hear group `index` (0 ... 15). Joining twice is joining once. 0 or -errno.
    int (*join)(struct co_transport *transport, unsigned index);
    void (*leave)(struct co_transport *transport, unsigned index);

    // Hands datagrams to the network. Returns how many were accepted (0 ... count): fewer than count means the
    // local queue is full, try again later. Negative errno only when the transport is broken for good.
    // -EINVAL for a group or peer that does not exist, -EMSGSIZE for a datagram above max_datagram_bytes, -EFAULT for a
    // payload outside its region: mistakes of the caller.
    int (*send)(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                unsigned count);

    // Memory of the caller's from which payload leaves without a copy by the processor (verbs: registered memory).
    // NULL: nothing would be gained (the kernel copies). By the holder of the engine, perhaps while a thread sends from
    // other regions; all are closed before the transport. open: 0 or -errno, as for what is cheaper copied or more than
    // may be pinned; what is sent from memory in no region is copied, which is always right. With may_write the
    // transport may also put there what it fetches or what arrives for it; memory that is only read need not let itself
    // be written to. Called for each operation: where that is dear the transport keeps what it registers, because it
    // alone can know when the memory behind an address has become another.
    int (*region_open)(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                       bool may_write);
    // Something sent from there has yet to leave. As with a full queue, poll finds out, and the descriptors wake for it
    // with want_write. False for all once the transport is broken.
    bool (*region_is_busy)(const struct co_transport *transport, const struct co_region *region);
    // Of a busy one what has yet to leave is lost, and the transport is broken: only before that is closed.
    void (*region_close)(struct co_transport *transport, struct co_region *region);

    // Takes up to about `budget` datagrams and delivers each. Returns how many, or -errno when broken. What is
    // delivered stands in memory of the transport's, which it gives back to the network in batches of its own choice,
    // never before the caller is done with it; what comes while none is left is lost.
    int (*poll)(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg);

    // From now on payload may be received where it goes (NULL: it cannot; all is delivered). Whatever else comes may be
    // written there, too, before it is moved to where deliver can look at it; nothing is written outside, nothing after
    // the receive. The lander outlives the transport. 0, or -ENOTSUP: it cannot, as it is.
    int (*land)(struct co_transport *transport, const struct co_lander *lander);

    // Receiving by several threads (NULL: the transport cannot). lane_open gives a joined group memory of its own, for
    // good, and poll leaves it alone from then on; 0 or -errno. lane_receive takes what there is for that group and
    // delivers it: any thread, one at a time for one group, beside the holder of the engine. What it delivers stays
    // valid until the group's next lane_receive. Returns how many, or -errno when broken; *has_more: there was no room
    // for all, so others may be waiting.
    int (*lane_open)(struct co_transport *transport, unsigned index);
    int (*lane_receive)(struct co_transport *transport, unsigned index, co_deliver_fn deliver, void *arg,
                        bool *has_more);
    int (*lane_descriptor)(struct co_transport *transport, unsigned index); // readable: lane_receive has something

    // By the holder after poll, of a group with a lane: there was nothing for it a moment ago, lane_receive can be
    // spared.
    bool (*lane_is_quiet)(const struct co_transport *transport, unsigned index);

    // Descriptors to sleep on; with want_write also for room in the send queue, the first one, if a descriptor can tell
    // it now (POLLOUT), else next_event_ns does. Returns how many were filled in.
    int (*descriptors)(struct co_transport *transport, struct pollfd *fds, int room, int want_write);
    // Somebody has slept on them, and this is how poll(2) left them: the transport's next poll asks no more (NULL: it
    // makes no difference). Any thread.
    void (*woken)(struct co_transport *transport, const struct pollfd *fds, int count);

    // Earliest moment at which poll has something to do of its own accord (delays, virtual time), or may send again
    // though no descriptor tells it; 0: none.
    uint64_t (*next_event_ns)(struct co_transport *transport);

    // World rank of a peer to whom this host has refused to send for the deadline; -1: none.
    int (*dead_peer)(struct co_transport *transport);
    // World rank of a peer whose host, or who speaks in its name, has refused something that was sent to it since the
    // last call that told so; -1: none. A hint and no more: who judges is liveness.h (NULL: none come).
    int (*refused_peer)(struct co_transport *transport);
    // Where a peer is, in words for people (NULL, or `text` stays as it was: it cannot be told).
    void (*peer_text)(const struct co_transport *transport, int rank, char *text, size_t room);

    // Signs of life of hosts, whatever their processes do (NULL: cannot be had). host_ask puts a question to the kernel
    // of a peer's host, of which CO_TRANSPORT_HOSTS_ASKED can be open; 1, 0 while an earlier one to it is open, or
    // -errno when nothing could be asked now. host_told: world rank of a peer asked whose host has answered since, each
    // answer told once; -1: none.
    int (*host_ask)(struct co_transport *transport, int rank);
    int (*host_told)(struct co_transport *transport);

    // Of one that is broken: gives back what it can. Whoever sends to this process by what is left of it finds that
    // nobody is there (NULL: there is nothing left). Only close and region_close after that.
    void (*hang_up)(struct co_transport *transport);

    void (*close)(struct co_transport *transport);
};

#define CO_TRANSPORT_HOSTS_ASKED 8 // descriptors, too, while questions are open

// Head of every transport's own struct.
struct co_transport {
    const struct co_transport_ops *ops;
    size_t max_datagram_bytes; // head + payload + tail
    bool has_immediate;        // every datagram arrives with the immediate that it was sent with
    bool holds_back;           // its links make a sender wait, in place of dropping what is too much for them
    unsigned max_batch; // datagrams that one send takes with profit (segments of an offloaded send, or work requests
                        // of which only the last tells that it has left); of more it may leave the rest
    size_t receive_buffer_bytes; // what the kernel granted, as payload of full datagrams: small ones may fill as much
                                 // of it. Bounds the window. 0: no bound
    struct co_reads *reads;      // of neighbours' memory (reads.h), NULL: cannot be had; goes with the transport
};

#endif
