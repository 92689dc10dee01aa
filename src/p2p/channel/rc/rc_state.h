// SPDX-License-Identifier: BSD-3-Clause
//
// What the rc_*.c files share. One queue pair for each peer that was ever sent to or has sent, one shared receive
// queue whose places are the packets that arrive, one completion queue, and a datagram queue pair for connection
// requests.
#ifndef CASTOFF_P2P_CHANNEL_RC_RC_STATE_H
#define CASTOFF_P2P_CHANNEL_RC_RC_STATE_H

#include <infiniband/verbs.h>

#include "base/hash_map.h"
#include "p2p/channel/rc.h"
#include "transport/verbs/verbs_queue_pair_states.h"

#define CO_RC_GRH 40           // bytes in front of a datagram
#define CO_RC_CONNECT_SLOTS 64 // connection requests that may wait
#define CO_RC_READS 32         // under way
#define CO_RC_READ_PARTS 4     // of one read at a time
#define CO_RC_REGIONS 64       // exported or being read into
#define CO_RC_QUERIES 16       // whether a peer is there, under way
#define CO_RC_BATCH 16         // completions at once
#define CO_RC_PART ((size_t)1 << 20)

// What two ranks say to each other.
struct co_rc_connection_request {
    uint64_t job;
    uint32_t version, rank;
    uint32_t queue_pair, first_number; // of the sender, for this pair
    uint32_t mtu;                      // enum ibv_mtu
    uint8_t reads;                     // that the sender answers at a time
    uint8_t has_yours;                 // the sender is connected to the receiver's queue pair
    uint8_t is_ready;                  // and knows that the receiver is connected to its own: no answer is wanted
    uint8_t zero[5];
};

enum co_rc_state { CO_RC_NONE, CO_RC_CONNECTING, CO_RC_CONNECTED, CO_RC_READY, CO_RC_BROKEN };

struct co_rc_connection {
    struct co_rc_address address;
    enum co_rc_state state;
    struct ibv_qp *queue_pair;
    struct ibv_ah *address_handle; // the peer's
    uint64_t request_ns, pause_ns; // when to ask again, and how long after that
    uint32_t first_number;
    unsigned packets, parts; // under way
    bool is_wanted;          // somebody has tried to send
    bool is_told;            // that it is lost
    bool is_queried;         // whether it is there
};

// A packet to send, known by its place.
struct co_rc_packet {
    int peer;         // -1: free
    uint32_t attempt; // makes completions of an earlier use known
};

struct co_rc_reading {
    void *owner;
    int peer; // -1: free
    uint32_t attempt;
    unsigned char *buffer;
    size_t bytes, requested, done;
    unsigned parts; // under way
    uint64_t from;
    uint32_t key;
    struct ibv_mr *region;
    int result;
};

struct co_rc_all {
    struct co_rc rc; // first: callers get a pointer to it
    struct co_rc_config config;
    struct ibv_context *context; // NULL: the device was taken away
    struct ibv_pd *domain;
    struct ibv_cq *done;
    struct ibv_srq *places;
    struct ibv_mr *region; // packets and the slots of connection requests
    unsigned char *memory;
    size_t memory_bytes, packet_stride;
    enum ibv_mtu mtu;
    uint8_t reads_most; // at a time of one queue pair, both ways
    size_t part_bytes;  // of one READ
    struct co_rc_connection *peers;
    struct co_hash_map by_queue_pair;
    struct co_rc_packet *packets;        // [config.packets], to send
    uint16_t *free_packets;              // [config.packets]
    unsigned free_packet_count, waiting; // waiting: peers that are asked to connect
    struct co_rc_reading reads[CO_RC_READS];
    unsigned reads_out; // not told yet
    unsigned queries;   // under way
    struct ibv_mr *exported[CO_RC_REGIONS];
    struct ibv_qp *connect_qp;
    struct ibv_cq *connect_done;
    unsigned polls;
    int lost; // peers that nobody has been told of
};

static inline struct co_rc_all *co_rc_of(struct co_rc *rc)
{
    return (struct co_rc_all *)rc;
}

static inline unsigned char *co_rc_packet_in(const struct co_rc_all *all, unsigned number)
{
    return all->memory + number * all->packet_stride;
}

static inline unsigned char *co_rc_packet_out(const struct co_rc_all *all, unsigned number)
{
    return all->memory + ((size_t)all->config.packets + number) * all->packet_stride;
}

static inline unsigned char *co_rc_connect_slot(const struct co_rc_all *all, unsigned number)
{
    return all->memory + 2 * (size_t)all->config.packets * all->packet_stride +
           (size_t)number * (CO_RC_GRH + sizeof(struct co_rc_connection_request));
}

// rc_connect.c
int co_rc_connect_open(struct co_rc_all *all); // 0 or -errno
void co_rc_connect_close(struct co_rc_all *all);
void co_rc_connect_poll(struct co_rc_all *all); // hears connection requests, and repeats those that were not answered
void co_rc_connect(struct co_rc_all *all, int peer);   // begins, unless it has begun
void co_rc_connected(struct co_rc_all *all, int peer); // the peer has sent on its connection: it is connected
void co_rc_abort(struct co_rc_all *all, int peer, const char *why);
void co_rc_abort_all(struct co_rc_all *all, const char *why);
void co_rc_drop(struct co_rc_all *all, int peer); // queue pair, packets and reads; nothing is told

// rc_packets.c
bool co_rc_send(struct co_rc *rc, int peer, const void *head, size_t head_bytes, const void *first, size_t first_bytes,
                const void *second, size_t second_bytes);
int co_rc_poll(struct co_rc *rc, struct co_rc_event *events, int most);
void co_rc_query(struct co_rc *rc, int peer);
int co_rc_packet_post(struct co_rc_all *all, unsigned number); // gives a place back to the receive queue

// rc_read.c
int co_rc_region_export(struct co_rc *rc, const void *data, size_t bytes, struct co_rc_key *key);
void co_rc_region_release(struct co_rc *rc, const struct co_rc_key *key);
int co_rc_read(struct co_rc *rc, int peer, void *buffer, size_t bytes, const struct co_rc_key *from, void *owner);
int co_rc_read_part_done(struct co_rc_all *all, const struct ibv_wc *done); // the peer that is lost by it; -1: none
void co_rc_reads_push(struct co_rc_all *all);                               // parts for which there was no room
void co_rc_reads_drop(struct co_rc_all *all, int peer, bool tells);         // the peer has no queue pair any more
void co_rc_reads_let_go(struct co_rc_all *all);                             // registered buffers
int co_rc_reads_ended(struct co_rc_all *all, struct co_rc_event *events, int most);

// What a work request is known by: its kind, the attempt, the place.
#define CO_RC_ATTEMPTS UINT32_C(0x3fffffff)
enum co_rc_work { CO_RC_WORK_PACKET_IN, CO_RC_WORK_PACKET_OUT, CO_RC_WORK_READ, CO_RC_WORK_QUERY };

static inline uint64_t co_rc_id(enum co_rc_work kind, uint32_t attempt, unsigned place)
{
    return (uint64_t)kind << 62 | (uint64_t)(attempt & CO_RC_ATTEMPTS) << 32 | place;
}

static inline enum co_rc_work co_rc_work_of(uint64_t id)
{
    return (enum co_rc_work)(id >> 62);
}

static inline unsigned co_rc_place_of(uint64_t id)
{
    return (unsigned)(id & UINT32_MAX);
}

// False: of an earlier use of the same place.
static inline bool co_rc_is_attempt(uint64_t id, uint32_t attempt)
{
    return ((id >> 32) & CO_RC_ATTEMPTS) == (attempt & CO_RC_ATTEMPTS);
}

#endif
