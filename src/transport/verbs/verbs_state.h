// SPDX-License-Identifier: BSD-3-Clause
//
// What the verbs_*.c files share. One queue pair for each group receives, one more receives what is for this rank alone
// and sends everything; two completion queues. All memory is registered once. Two reliable connections read neighbours'
// memory.
#ifndef CASTOFF_TRANSPORT_VERBS_STATE_H
#define CASTOFF_TRANSPORT_VERBS_STATE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/descriptors.h"
#include "transport/reads.h"
#include "transport/registration_cache.h"
#include "transport/verbs.h"
#include "transport/verbs/verbs_completions.h"
#include "transport/verbs/verbs_queue_pair_states.h"

#define CO_VERBS_GRH 40                          // bytes in front of what a datagram queue pair receives
#define CO_VERBS_BATCH 32                        // work requests or completions at once
#define CO_VERBS_SEND_SLOTS 256                  // datagrams that have yet to leave
#define CO_VERBS_PIECES 3                        // of a datagram: head, payload, tail
#define CO_VERBS_READS 128                       // under way or to be delivered
#define CO_VERBS_RC_DATAGRAMS 32                 // small datagrams under way to a neighbour, and as many from it
#define CO_VERBS_RC_DATAGRAM_BYTES 256           // of one at most
#define CO_VERBS_RC_DATAGRAM (UINT64_C(1) << 63) // bit of a work request's number: of a datagram, not of a read
#define CO_VERBS_LOANS 64                        // pieces of memory that neighbours may read

// Failed: to be stopped; stopped: to be started anew (verbs_health.c).
enum co_verbs_ring_state { CO_VERBS_RING_RUNS, CO_VERBS_RING_FAILED, CO_VERBS_RING_STOPPED };

// A queue pair and the slots that it receives into, each a datagram behind its GRH.
struct co_verbs_ring {
    struct ibv_qp *queue_pair;
    enum co_verbs_ring_state state;
    uint8_t *slots;
    struct co_receive *receives; // one for each slot
    unsigned count;
    struct co_receive_queue queue; // of those to be given back to the queue pair
};

// A completion as it is polled, and as the datapath kernel reads it.
union co_verbs_completion {
    struct ibv_wc polled;
    struct co_completion read;
};

struct co_verbs_group {
    struct rdma_cm_id *id;  // of the membership
    struct ibv_ah *to;      // NULL: not joined yet
    struct ibv_ah_attr way; // that it was made of
    union ibv_gid gid;
    uint16_t lid;
    uint32_t queue_pair, key;
    bool is_attached;
};

struct co_verbs_peer {
    struct co_verbs_address address;
    struct ibv_ah *to;    // made when it is first sent to
    unsigned unreachable; // times that it could not be made
};

struct co_loan {
    struct ibv_mr *region; // NULL: the device has gone
    bool is_taken;
};

// Counted from the beginning, modulo 2^32.
struct co_verbs_rc_datagrams {
    uint8_t *memory; // slots to send from, then those to receive into
    uint32_t sent, left, peer_took;
    uint32_t taken, told; // of those received: their slots are free again, and the other side knows
    uint64_t sent_ns[CO_VERBS_RC_DATAGRAMS];
};

// A reliable connection to a neighbour on the ring of nodes.
struct co_verbs_rc {
    struct ibv_qp *queue_pair;
    uint32_t first_number; // packet sequence number
    int peer;              // world rank; -1: none
    const char *bad_news;  // of the device: it has failed; NULL: none
    bool is_up;
    struct co_verbs_rc_datagrams datagrams;
};

struct co_verbs_heard { // a datagram to be delivered
    struct co_verbs_rc *rc;
    unsigned slot;
    uint32_t bytes;
};

struct co_verbs_read {
    uint64_t number; // 0: the slot is free
    uint64_t started_ns;
    struct co_verbs_rc *rc;
    bool has_ended;           // well, and waits to be delivered
    size_t bytes, read_bytes; // of the datagram that it makes; of them, read
};

struct co_verbs_reads {
    struct co_reads reads; // first: ops get a pointer to it
    struct co_verbs *verbs;
    struct ibv_cq *done;
    struct ibv_mr *region; // the slots
    uint8_t *memory;
    size_t memory_bytes, slot_bytes;
    uint8_t at_once; // that the device does of one connection
    struct co_verbs_rc rc[CO_VERBS_NEIGHBOURS];
    uint64_t started;
    struct co_verbs_read slots[CO_VERBS_READS];
    uint16_t free_slots[CO_VERBS_READS], ended[CO_VERBS_READS]; // ended: to be delivered
    unsigned free_count, ended_count;
    struct co_verbs_heard heard[CO_VERBS_NEIGHBOURS * CO_VERBS_RC_DATAGRAMS];
    unsigned heard_count;
    struct co_loan loans[CO_VERBS_LOANS];
};

struct co_verbs {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_verbs_config config;
    char device[64];
    struct rdma_event_channel *events;
    struct ibv_context *context;
    uint8_t port, gid_index;
    uint16_t lid;
    union ibv_gid gid;
    size_t mtu; // bytes of a datagram
    struct ibv_pd *domain;
    struct ibv_comp_channel *bell;
    struct ibv_cq *received, *sent;
    struct ibv_mr *region; // all slots
    uint8_t *memory;
    size_t memory_bytes, slot_bytes;                     // one slot: GRH and datagram
    struct co_verbs_ring rings[CO_VERBS_GROUPS_MAX + 1]; // of the groups, then our own
    struct co_receive *receives;                         // of all rings
    struct co_verbs_group groups[CO_VERBS_GROUPS_MAX];
    unsigned group_count;
    uint8_t *send_slots;
    uint64_t sent_slots, left_slots; // numbers: taken so far, of them free again
    uint64_t awaited_slots;          // that somebody waits for: a region is busy till then
    struct co_registration_cache *registrations;
    struct co_verbs_reads reads;
    struct co_verbs_peer *peers; // by world rank, after connect
    int peer_count;
    // Completions that came while somebody was about to sleep, for the next poll; then `woken` is readable.
    union co_verbs_completion early[CO_VERBS_BATCH];
    int early_count;
    struct co_descriptor_kept woken;
    bool is_awake;    // woken is readable
    bool is_armed[3]; // received, sent, read: it rings the bell
    int broken;       // 0, or -errno for good
    bool has_let_go;  // of the device, after that
    bool is_lost;     // the program has closed our descriptors: nothing is done to the device any more
    // Bad days (verbs_health.c).
    unsigned polls, failed_rings; // rings that do not run
    bool is_failing;              // ... or the port is down: noted, and seen to from retry_ns on
    uint64_t failing_since_ns, revived_ns, wait_ns, retry_ns;
    uint64_t down_since_ns;                   // of the port, 0: it is active; as failing_since_ns without absences
    uint64_t looked_ns;                       // the last look
    uint64_t said_of_sends, said_of_receives; // bits: statuses that were named
};

static inline struct co_verbs_ring *co_verbs_own_ring(struct co_verbs *verbs)
{
    return &verbs->rings[verbs->group_count];
}

static inline void co_verbs_read_free(struct co_verbs_reads *all, unsigned slot)
{
    all->slots[slot].number = 0;
    all->free_slots[all->free_count++] = (uint16_t)slot;
}

// verbs_device.c: from the interface's address to an open device; 0 or -errno with the reason.
int co_verbs_device_open(struct co_verbs *verbs, char *why, size_t why_room);
void co_verbs_device_close(struct co_verbs *verbs);
// 0: our address is where it was in the device's table. 1: it has moved, and ways that were made with it are no good
// any more. -EADDRNOTAVAIL: it is not there.
int co_verbs_device_find_address(struct co_verbs *verbs);
int co_verbs_device_list(char *text, size_t room);

// verbs_groups.c: joins all groups, each queue pair attached to its own.
int co_verbs_groups_join(struct co_verbs *verbs, char *why, size_t why_room);
void co_verbs_groups_leave(struct co_verbs *verbs);
// Anew, of those that were made with another address of ours. 0 or -errno: some are still to be made.
int co_verbs_groups_find_ways(struct co_verbs *verbs);

// verbs_rings.c: memory, queue pairs, and what they receive into.
int co_verbs_rings_open(struct co_verbs *verbs, char *why, size_t why_room);
void co_verbs_rings_close_queues(struct co_verbs *verbs); // first
void co_verbs_rings_close(struct co_verbs *verbs);
int co_verbs_ring_give_back(struct co_verbs_ring *ring);
int co_verbs_ring_start(struct co_verbs *verbs, struct co_verbs_ring *ring); // a new one, or one that was stopped
void co_verbs_ring_stop(struct co_verbs *verbs, struct co_verbs_ring *ring); // forgets what it has yet to do

// verbs_send.c
int co_verbs_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                  unsigned count);
void co_verbs_reap(struct co_verbs *verbs); // slots of what has left are free again

// verbs_regions.c
int co_verbs_regions_open(struct co_verbs *verbs);
int co_verbs_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                         bool may_write);
bool co_verbs_region_is_busy(const struct co_transport *transport, const struct co_region *region);
void co_verbs_region_close(struct co_transport *transport, struct co_region *region);
bool co_verbs_region_holds(const struct co_region *region, const void *payload, size_t bytes);
// What the device knows it by; it is busy until datagram number `last` has left.
uint32_t co_verbs_region_use(const struct co_region *region, uint64_t last);

// verbs_receive.c
int co_verbs_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg);
int co_verbs_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write);

// verbs_reads.c
extern const struct co_reads_ops co_verbs_reads_ops;
bool co_verbs_reads_reap(struct co_verbs *verbs); // true: some, or datagrams, are to be delivered
unsigned co_verbs_reads_deliver(struct co_verbs *verbs, co_deliver_fn deliver, void *arg); // how many
uint64_t co_verbs_reads_due_ns(const struct co_verbs *verbs); // when to look for those that last too long, 0: none
void co_verbs_reads_poll(struct co_verbs *verbs, uint64_t now_ns);

// verbs_rc_datagrams.c
int co_verbs_rc_datagrams_open(struct co_verbs *verbs, struct co_verbs_rc *rc, uint8_t *memory); // 0 or -errno
// False: it cannot go this way.
bool co_verbs_rc_datagram_send(struct co_verbs *verbs, int peer, const struct co_tx_datagram *datagram);
void co_verbs_rc_datagram_take(struct co_verbs *verbs, const struct ibv_wc *done);
unsigned co_verbs_rc_datagrams_deliver(struct co_verbs *verbs, co_deliver_fn deliver, void *arg); // how many

// verbs_rc_open.c. Where they cannot be had, which is warned of, nobody is told any.
void co_verbs_rc_open(struct co_verbs *verbs, struct co_verbs_address *mine);
void co_verbs_rc_close(struct co_verbs *verbs);
void co_verbs_rc_connect(struct co_verbs *verbs, const int neighbours[CO_VERBS_NEIGHBOURS]);

// verbs_rc.c
struct co_verbs_rc *co_verbs_rc_of(struct co_verbs *verbs, const struct ibv_qp *queue_pair); // NULL: of none
struct co_verbs_rc *co_verbs_rc_to(struct co_verbs_reads *all, int peer);                    // NULL: there is none
bool co_verbs_rc_is_used(const struct co_verbs_reads *all);
void co_verbs_rc_fail(struct co_verbs *verbs, struct co_verbs_rc *rc, const char *why);
void co_verbs_rc_describe(const struct co_verbs *verbs, char *text, size_t room); // what is appended

// verbs_failures.c: a completion with an error, of "a send" and the like; `said` has the bits of what was named before.
void co_verbs_failed(struct co_verbs *verbs, struct co_verbs_ring *ring, const struct ibv_wc *completion,
                     const char *what, uint64_t *said);
void co_verbs_ring_fail(struct co_verbs *verbs, struct co_verbs_ring *ring);
bool co_verbs_is_own(struct co_verbs *verbs); // false, and broken: the program has closed our descriptors
void co_verbs_break(struct co_verbs *verbs, int error, const char *why); // for good

// verbs_health.c
// Hears the device now and then, at once with must_look, and sets up what has failed; is_drained: no completion waits.
void co_verbs_health_progress(struct co_verbs *verbs, bool must_look, bool is_drained);
uint64_t co_verbs_health_due_ns(const struct co_verbs *verbs); // 0: whenever something happens

#endif
