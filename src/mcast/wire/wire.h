// SPDX-License-Identifier: BSD-3-Clause
//
// Layout of everything that crosses the network; the only place that knows it (docs/wire-format.md is its prose).
// Little-endian. A datagram is head, payload or body, tag (auth.h). Decoding validates; what does not decode is
// counted and dropped by the caller. Pure, hot.
//
//  chunk       0        1        2        3        4              8
//            +--------+--------+-----------------+--------------+---------------+
//            |ver|kind| how    | source member   | team id, low | operation     |
//            +--------+--------+-----------------+--------------+---------------+
//           12               16                        22               24
//            +----------------+------------------------+----------------+--------
//            | PSN            | block bytes (46), way  | chunk bytes    | payload
//            +----------------+------------------------+----------------+--------
//  control     0        1        2        3        4              8
//            +--------+--------+-----------------+--------------+---------------+
//            |ver|kind| type   | source member   | team id, low | operation     |
//            +--------+--------+-----------------+--------------+---------------+
//           12                        20         22               24
//            +-------------------------+----------+----------------+-------------
//            | sequence of the sender  | body     | entries        | body
//            +-------------------------+----------+----------------+-------------
#ifndef CASTOFF_MCAST_WIRE_WIRE_H
#define CASTOFF_MCAST_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/auth/auth.h"
#include "mcast/wire/agreed_ways.h"

#define CO_WIRE_VERSION 3
#define CO_WIRE_HEAD_BYTES 24
#define CO_WIRE_ANNOUNCED_CHUNKS 8 // blocks from this length on end with CO_CONTROL_END_OF_BLOCK
#define CO_WIRE_CREDIT_SHIFT_MAX 32
#define CO_CONTROL_MAX 1200 // body bytes of one control message
#define CO_WIRE_BLOCK_BYTES_MAX ((UINT64_C(1) << 46) - 1)

enum co_wire_kind {
    CO_WIRE_CHUNK = 1,
    CO_WIRE_CONTROL = 2,
    CO_WIRE_CONTRIBUTION = 3 // a chunk of a member's block on its way to the collector of a small allgather
};

enum co_control_type {
    CO_CONTROL_ACK = 1,     // what the sender has: handshake to the left neighbour, credit to senders
    CO_CONTROL_ACK_REQUEST, // tell me your progress (operation: the source whose credit is wanted, or all ones)
    CO_CONTROL_NACK,        // send me these ranges again
    CO_CONTROL_TOKEN,       // your turn in the chain
    CO_CONTROL_PROBE,       // do you hear the group (team 0, source is a world rank, operation the subgroup)
    CO_CONTROL_PROBE_REPLY,
    CO_CONTROL_PROBE_DONE,
    CO_CONTROL_END_OF_BLOCK,  // the source has sent the whole block of this operation
    CO_CONTROL_ABORT,         // the team has lost a member: give up
    CO_CONTROL_NACK_DEFERRED, // what you asked for is not all here, and comes unasked when repaired; or how much has
                              // been sent
    CO_CONTROL_READ_OFFER,    // read what you asked for out of my memory
    CO_CONTROL_CONTRIBUTION_REQUEST, // the collector waits for what you give to this operation
    CO_CONTROL_SKIPPED,              // I am the root of no such operation: that collective went another way
    CO_CONTROL_TYPE_END
};

struct co_chunk {
    uint16_t source;      // member index of the block's owner
    uint16_t chunk_bytes; // payload of every chunk but the last
    uint32_t team;        // low half of the team id
    uint32_t operation;
    uint32_t psn; // position in the block, in chunks
    uint64_t block_bytes;
    uint8_t way;          // enum co_way: which one later allgathers go, in the block of who says it
    bool is_repair;       // sent again on request
    bool is_contribution; // to the collector alone, and no credit is asked for
    uint8_t credit_shift; // of a first transmission: report every 2^(it - 1) chunks of the source; 0: as usual
    uint8_t label;        // of a repair: that of the request that it answers at once, 0: of none
};

struct co_control {
    enum co_control_type type;
    uint16_t source;
    uint16_t entries; // in the body
    uint32_t team;
    uint32_t operation;
    uint64_t sequence; // of the sending rank, over all its control messages: nonce and replay check
};

// Bodies.
struct co_ack_body {      // followed by `entries` of co_credit_entry
    uint32_t done_before; // every operation with a lower number is complete here
    uint32_t done_mask;   // bit i: done_before + 1 + i is complete too
    uint32_t lost;        // chunks this member knew to be lost so far, cumulative
    uint32_t echo;        // low half of the sequence of the request for an ACK answered, 0 none
};
struct co_credit_entry {
    uint16_t source;
    uint16_t gaps;     // chunks among those before the newest that all of the subtree has heard, and not there yet
    uint32_t received; // chunks of that source, cumulative over operations, that the whole subtree has
};
enum co_nack_why {
    CO_NACK_LOST = 0,  // later chunks have come, or the end was announced
    CO_NACK_GUESS = 1, // there was silence: the chunks may still be on their way, or may not have been sent
    CO_NACK_DEAF = 2   // the source's multicast does not come here: send them as soon as they exist
};
struct co_nack_body { // followed by `entries` of co_nack_range; of NACK_DEFERRED by one at most: what is known to be
                      // sent
    uint16_t source;
    uint8_t why;   // enum co_nack_why
    uint8_t label; // that repairs shall bear which are sent at once; 0: none
    bool can_read; // the answer may be READ_OFFER
};
struct co_nack_range {
    uint32_t first, count; // chunks; count > 0
};
struct co_read_offer_body { // followed by `entries` of co_read_offer_chunk
    uint16_t source;
    uint8_t way;   // of the chunks
    uint8_t label; // of the NACK; the chunks bear it, as if they were sent
    uint32_t key;
    uint64_t address; // of the block's first byte, in the sender's process; only these chunks are sure to be lent
    uint64_t block_bytes;
};
struct co_read_offer_chunk {
    uint32_t psn;
    uint8_t tag[CO_AUTH_TAG_MAX]; // of the repaired chunk; as many bytes as a tag has, then 0
};

// What its tag is made for.
static inline enum co_auth_domain co_chunk_domain(const struct co_chunk *chunk)
{
    return chunk->is_contribution ? CO_AUTH_CONTRIBUTION : chunk->is_repair ? CO_AUTH_REPAIR : CO_AUTH_CHUNK;
}

// Label of the group's request with that number: none is 0, and the last 64 differ.
#define CO_WIRE_NACK_LABELS 64U
static inline uint8_t co_wire_nack_label(uint32_t number)
{
    return (uint8_t)(CO_WIRE_NACK_LABELS | (number & (CO_WIRE_NACK_LABELS - 1)));
}
static inline bool co_wire_is_nack_label(uint8_t label)
{
    return label >= CO_WIRE_NACK_LABELS && label < 2 * CO_WIRE_NACK_LABELS;
}

static inline uint32_t co_wire_chunk_count(uint64_t block_bytes, uint32_t chunk_bytes)
{
    return (uint32_t)((block_bytes + chunk_bytes - 1) / chunk_bytes);
}

// Kind by the first byte, or -EPROTO: other version, unknown kind, too short.
int co_wire_kind(const uint8_t *data, size_t bytes);

// Of a chunk's head.
static inline bool co_wire_is_repair(const uint8_t *head)
{
    return head[1] & 1;
}

// A chunk's head stands before a contribution too.
void co_wire_chunk_encode(uint8_t head[CO_WIRE_HEAD_BYTES], const struct co_chunk *chunk);
// `bytes`: head and payload without the tag. The payload's size must be the one that PSN and block size demand. 0 or
// -EPROTO.
int co_wire_chunk_decode(struct co_chunk *chunk, const uint8_t *data, size_t bytes);

// Whether a head, of bytes that may be anybody's, is that of this PSN of the block of which `other` is a chunk's head;
// both are first transmissions. Says as much as decoding it would, but for the size of the datagram.
bool co_wire_is_first_of(const uint8_t *head, const uint8_t *other, uint32_t psn);

void co_wire_control_encode(uint8_t head[CO_WIRE_HEAD_BYTES], const struct co_control *control, size_t body_bytes);
// `bytes`: head and body without the tag. Body and entries must agree with the type. 0 or -EPROTO.
int co_wire_control_decode(struct co_control *control, const uint8_t *data, size_t bytes);

// The nonce of a tag. No two different heads of one source and domain share one: of a chunk it tells the second byte of
// the head, operation and PSN; of a control message the sequence.
void co_wire_chunk_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], const struct co_chunk *chunk);
// Of a chunk's head as it stands there.
static inline void co_wire_head_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], const uint8_t head[CO_WIRE_HEAD_BYTES])
{
    memset(nonce, 0, 4);
    nonce[0] = head[1];
    memcpy(nonce + 4, head + 8, 8);
}
// To the group, with no entries, or to one peer, with one.
static inline bool co_wire_may_be_for_all(enum co_control_type type)
{
    return type == CO_CONTROL_PROBE || type == CO_CONTROL_END_OF_BLOCK;
}
// Names the receiver, a world rank, so that nobody else takes the message. What is for all who hear it names nobody.
void co_wire_control_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], const struct co_control *control, unsigned receiver);

// Bodies, encoded in place (`to` has room) and decoded from a body that co_wire_control_decode accepted.
size_t co_wire_ack_encode(uint8_t *to, const struct co_ack_body *body, const struct co_credit_entry *entries,
                          unsigned count);
void co_wire_ack_decode(struct co_ack_body *body, const uint8_t *from);
void co_wire_credit_decode(struct co_credit_entry *entry, const uint8_t *from, unsigned index);
size_t co_wire_nack_encode(uint8_t *to, const struct co_nack_body *body, const struct co_nack_range *ranges,
                           unsigned count);
void co_wire_nack_decode(struct co_nack_body *body, const uint8_t *from);
void co_wire_range_decode(struct co_nack_range *range, const uint8_t *from, unsigned index);

// Body bytes of READ_OFFER with so many entries.
size_t co_wire_read_offer_bytes(unsigned entries);
// The entries are put behind the body one by one, in any order.
void co_wire_read_offer_encode(uint8_t *to, const struct co_read_offer_body *body);
void co_wire_read_offer_chunk_encode(uint8_t *to, const struct co_read_offer_chunk *chunk, unsigned index);
void co_wire_read_offer_decode(struct co_read_offer_body *body, const uint8_t *from);
void co_wire_read_offer_chunk_decode(struct co_read_offer_chunk *chunk, const uint8_t *from, unsigned index);

#endif
