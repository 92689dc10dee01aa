// SPDX-License-Identifier: BSD-3-Clause
//
// What the links_*.c files share. One queue pair for each peer that was ever sent to or has sent, one shared receive
// queue whose places are the frames that arrive, one completion queue, and a datagram queue pair, the door.
#ifndef CASTOFF_P2P_CHANNEL_LINKS_STATE_H
#define CASTOFF_P2P_CHANNEL_LINKS_STATE_H

#include <infiniband/verbs.h>

#include "base/hash_map.h"
#include "p2p/channel/links.h"
#include "transport/verbs/verbs_queue_pair.h"

#define CO_LINKS_GRH 40        // bytes in front of what the door receives
#define CO_LINKS_DOOR_SLOTS 64 // invitations that may wait
#define CO_LINKS_READS 32      // under way
#define CO_LINKS_READ_PARTS 4  // of one read at a time
#define CO_LINKS_REGIONS 64    // lent or being read into
#define CO_LINKS_BATCH 16      // completions at once
#define CO_LINKS_PART ((size_t)1 << 20)

// What two doors say to each other.
struct co_invitation {
    uint64_t job;
    uint32_t version, rank;
    uint32_t queue_pair, first_number; // of the sender, for this pair
    uint32_t mtu;                      // enum ibv_mtu
    uint8_t reads;                     // that the sender answers at a time
    uint8_t has_yours;                 // the sender is connected to the receiver's queue pair
    uint8_t is_ready;                  // and knows that the receiver is connected to its own: no answer is wanted
    uint8_t zero[5];
};

enum co_link_state { CO_LINK_NONE, CO_LINK_INVITES, CO_LINK_CONNECTED, CO_LINK_READY, CO_LINK_BROKEN };

struct co_link {
    struct co_link_address address;
    enum co_link_state state;
    struct ibv_qp *queue_pair;
    struct ibv_ah *door;          // the peer's
    uint64_t invite_ns, pause_ns; // when to invite again, and how long after that
    uint32_t first_number;
    unsigned frames, parts; // under way
    bool is_wanted;         // somebody has tried to send
    bool is_told;           // that it is lost
};

// A frame to send, known by its place.
struct co_link_frame {
    int peer;         // -1: free
    uint32_t attempt; // makes completions of an earlier use known
};

struct co_link_read {
    void *owner;
    int peer; // -1: free
    uint32_t attempt;
    unsigned char *buffer;
    size_t bytes, asked, done;
    unsigned parts; // under way
    uint64_t from;
    uint32_t key;
    struct ibv_mr *region;
    int result;
};

struct co_links_all {
    struct co_links links; // first: callers get a pointer to it
    struct co_links_config config;
    struct ibv_context *context; // NULL: the device was taken away
    struct ibv_pd *domain;
    struct ibv_cq *done;
    struct ibv_srq *places;
    struct ibv_mr *region; // frames and the door's slots
    unsigned char *memory;
    size_t memory_bytes, frame_stride;
    enum ibv_mtu mtu;
    uint8_t reads_most; // at a time of one queue pair, both ways
    size_t part_bytes;  // of one READ
    struct co_link *peers;
    struct co_hash_map by_queue_pair;
    struct co_link_frame *frames;       // [config.frames], to send
    uint16_t *free_frames;              // [config.frames]
    unsigned free_frame_count, waiting; // waiting: peers that are invited
    struct co_link_read reads[CO_LINKS_READS];
    unsigned reads_out; // not told yet
    struct ibv_mr *lent[CO_LINKS_REGIONS];
    struct ibv_qp *door;
    struct ibv_cq *door_done;
    unsigned polls;
    int lost; // peers that nobody has been told of
};

static inline struct co_links_all *co_links_of(struct co_links *links)
{
    return (struct co_links_all *)links;
}

static inline unsigned char *co_links_frame_in(const struct co_links_all *all, unsigned number)
{
    return all->memory + number * all->frame_stride;
}

static inline unsigned char *co_links_frame_out(const struct co_links_all *all, unsigned number)
{
    return all->memory + ((size_t)all->config.frames + number) * all->frame_stride;
}

static inline unsigned char *co_links_door_slot(const struct co_links_all *all, unsigned number)
{
    return all->memory + 2 * (size_t)all->config.frames * all->frame_stride +
           (size_t)number * (CO_LINKS_GRH + sizeof(struct co_invitation));
}

// links_door.c
int co_links_door_open(struct co_links_all *all); // 0 or -errno
int co_links_door_fill(struct co_links_all *all, unsigned slot);
void co_links_door_close(struct co_links_all *all);
void co_links_door_look(struct co_links_all *all);      // hears invitations, and repeats those that were not answered
void co_links_want(struct co_links_all *all, int peer); // begins, unless it has begun
void co_links_met(struct co_links_all *all, int peer);  // the peer has sent on its connection: it is connected
void co_links_lose(struct co_links_all *all, int peer, const char *why);
void co_links_drop(struct co_links_all *all, int peer); // queue pair, frames and reads; nothing is told

// links_open.c
void co_links_lose_all(struct co_links_all *all, const char *why);

// links_move.c
bool co_links_send(struct co_links *links, int peer, const void *head, size_t head_bytes, const void *first,
                   size_t first_bytes, const void *second, size_t second_bytes);
int co_links_poll(struct co_links *links, struct co_link_event *events, int most);
int co_links_post_frame(struct co_links_all *all, unsigned number); // gives a place back to the receive queue

// links_read.c
int co_links_lend(struct co_links *links, const void *data, size_t bytes, struct co_link_key *key);
void co_links_take_back(struct co_links *links, const struct co_link_key *key);
int co_links_read(struct co_links *links, int peer, void *buffer, size_t bytes, const struct co_link_key *from,
                  void *owner);
void co_links_read_part_done(struct co_links_all *all, const struct ibv_wc *done);
void co_links_reads_push(struct co_links_all *all);                       // parts for which there was no room
void co_links_reads_drop(struct co_links_all *all, int peer, bool tells); // the peer has no queue pair any more
void co_links_reads_let_go(struct co_links_all *all);                     // registered buffers
int co_links_reads_ended(struct co_links_all *all, struct co_link_event *events, int most);

// What a work request is known by: its kind, the attempt, the place.
#define CO_LINK_ATTEMPTS UINT32_C(0x3fffffff)
enum co_link_work { CO_LINK_WORK_FRAME_IN, CO_LINK_WORK_FRAME_OUT, CO_LINK_WORK_READ };

static inline uint64_t co_link_id(enum co_link_work kind, uint32_t attempt, unsigned place)
{
    return (uint64_t)kind << 62 | (uint64_t)(attempt & CO_LINK_ATTEMPTS) << 32 | place;
}

static inline enum co_link_work co_link_work_of(uint64_t id)
{
    return (enum co_link_work)(id >> 62);
}

static inline unsigned co_link_place_of(uint64_t id)
{
    return (unsigned)(id & UINT32_MAX);
}

// False: of an earlier use of the same place.
static inline bool co_link_is_attempt(uint64_t id, uint32_t attempt)
{
    return ((id >> 32) & CO_LINK_ATTEMPTS) == (attempt & CO_LINK_ATTEMPTS);
}

#endif
