// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. An operation: its blocks, and what may be done with its bytes (operation.c). By the holder of
// the endpoint; hot.
#ifndef CASTOFF_MCAST_STATE_OPERATION_H
#define CASTOFF_MCAST_STATE_OPERATION_H

#include "mcast/mcast.h"
#include "mcast/receive/receive_block.h"
#include "mcast/send/send_turns.h"
#include "mcast/state/group.h"

// One operation of a group. In the group's list from its start until nobody can ask for its bytes.
struct co_mcast_op {
    struct co_mcast_group *group;
    struct co_mcast_op *next;
    uint32_t number;
    int root;                 // bcast; -1 allgather
    int state;                // 0 under way, 1 done, -errno: what the user sees
    uint8_t *buffer;          // the user's, or the kept copy
    struct co_region *region; // the own block for the transport; NULL: it has no use for one, or copies
    size_t bytes;             // of all blocks
    bool is_scattered;        // they do not stand one behind the other
    int senders;              // members that send
    int block_count;          // 1, or one for each member
    struct co_receive_block *blocks;
    int blocks_missing;
    uint32_t next_psn, send_chunks; // own block
    uint64_t last_sent_ns;          // of its chunks
    // Of an allgather: chunks of the other blocks that are on their way, and how many of these have arrived.
    uint64_t begun_chunks, arrived_chunks;
    uint64_t heard_ns; // the last first transmission of any of them, 0: none
    struct co_send_turns turns;
    bool passes_all; // the right neighbour is deaf: what it wants is passed on even if it came by multicast
    bool may_send, is_kept, is_released, right_has_it;
    bool owes_end;        // all of the own block has left, but the queue had no room for the word that says so
    uint32_t end_at;      // of the chunks that have left in all, then
    unsigned ends;        // times that this has been said, 0: there is no need to, or it has yet to leave
    uint64_t end_said_ns; // last
    bool is_sending;      // a part of the own block is with the sending thread: the buffer stays ours
    int failure;          // came up while the buffer was being read; the state once it is not
    size_t bitmap_bytes;  // of its blocks, and of what is wanted
    // Repair by reading: rdma_repair_read.c, rdma_repair_offer.c.
    struct co_op_export *exports; // of the buffer, to the right neighbour
    uint64_t last_read;           // number of the last read of the left neighbour's memory
    bool awaits_reads;            // it has yet to end, which counts as a missing block
    // Of a bcast whose root gave another length than we: operation_length.c.
    uint8_t *whole;         // takes it, where the user has no room
    uint64_t *resized_bits; // of the block; NULL: they are beside it
    uint64_t **wanted;      // for each block, chunks that the right neighbour asked for before we had them; NULL: none
    uint64_t last_event_ns;
    // An allgather by way of a collector (the root then); NULL and 0 otherwise.
    struct co_receive_block *parts; // at the collector, by member: their blocks
    int parts_missing;
    uint64_t contribution_due_ns; // when to send ours again, at the collector to ask who is late; 0: no more
    uint64_t contribution_ns;     // when ours left first; at the collector: when any came last, 0: nothing yet
    unsigned contributions;       // sent so far; at the collector: times that it asked since then
    uint32_t contributed;         // chunks of the one that is being sent; at the collector: member to ask next
    // An allgather that may go either way (agreed_ways.h). Enum co_way.
    bool is_either_way, awaits_way; // which has yet to be heard in it
    uint8_t way_called;             // by this member, if it is the one that says so
    uint8_t way_said;               // in the chunks that all members hear
    uint64_t timed_ns;              // when it began, where it is timed; 0: it is not
};

static inline bool co_operation_has_to_send(const struct co_mcast_op *op)
{
    return op->state == 0 && op->next_psn < op->send_chunks;
}

// The oldest that is more than kept for the neighbour: whoever asks what is missing, or due, may begin there.
static inline struct co_mcast_op *co_operations_unfinished(const struct co_mcast_group *group)
{
    return group->last_kept == NULL ? group->oldest : group->last_kept->next;
}

// Nobody will ask for its bytes any more.
static inline void co_operation_right_has_it(struct co_mcast_op *op)
{
    op->right_has_it = true;
    op->group->last_kept = NULL; // it may be freed
}

struct co_mcast_op *co_operation_find(struct co_mcast_group *group, uint32_t number); // NULL: not begun, or over
// Its bytes may be read: it has not failed, and the buffer is not the program's again, which it is from its release on
// unless a copy is kept. A released operation is there until its group is moved.
bool co_operation_has_bytes(const struct co_mcast_op *op);
struct co_receive_block *co_operation_block(struct co_mcast_op *op, int source); // NULL: that one sends none
int co_operation_source(const struct co_mcast_op *op, int block);
// An operation that has begun here, and may be over, in which this member sends nothing, by the arguments of our own
// call. False where that is forgotten.
bool co_operation_has_nothing_of(struct co_mcast_group *group, uint32_t number, int source);
int co_operation_senders(const struct co_mcast_op *op); // at a time
// Whose chunks say which way later ones go: the collector's, which has heard it, or those of who says so.
int co_operation_speaker(const struct co_mcast_op *op);
uint8_t co_operation_way_said(const struct co_mcast_op *op, int source); // in the chunks of that one's block
// In a chunk of that one's block; the first time counts.
void co_operation_hear_way(struct co_mcast_op *op, int source, uint8_t way);
// More of another member's block is known to have left: for the turns. All of one that is complete, or has all left,
// however short: it is in nobody's way.
void co_operation_show(struct co_mcast_op *op, struct co_receive_block *block);
void co_operation_all_sent(struct co_mcast_op *op, struct co_receive_block *block); // its source says so
int co_operation_predecessor(const struct co_mcast_op *op); // in the chain, with bytes to send; -1: none
int co_operation_successor(const struct co_mcast_op *op);   // in the chain; -1: none
// A long block is left to the sending thread, where there is one.
bool co_operation_is_for_sender(const struct co_mcast_op *op);
// Whose own block is the next to leave, if that is for the sending thread; NULL: nobody's.
struct co_mcast_op *co_operation_for_sender(struct co_mcast_group *group);
void co_operation_count_bitmap(struct co_mcast_op *op, size_t bytes); // more of it, until it is freed

#endif
