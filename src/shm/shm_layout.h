// SPDX-License-Identifier: BSD-3-Clause
//
// The one place that knows how a node's shared segment looks. Offsets and plain words only: every process maps it
// somewhere else. Read by all files of this folder; sizes are computed from values that all ranks share.
//
//   segment   header | process[size] | entry[entries] | loan[loans] | area[entries] | staging[loans]
//   area      lane[count]                                                       one team; its entry has its number
//   lane      control (4 line pairs) | lines | mail | bulk                      one member; the rings he writes
//   slot      word (8 bytes) | ... payload                                      number and length of an operation
//   bulk      slot[slots] | head[slots]                                         payload back to back; whose it is
//
// Each part of the segment starts on a page, and so does an area; lanes stand one behind the other. A ring's slots are
// numbered by ticks that only grow; tick t lives in slot t mod slots. The slots of the bulk ring have no words: a
// counter in the control says how many are written, and a word beside it where the slots are, in the lane or in a part
// of the node's staging that was lent. What an operation writes there is its stream; the head of its first slot says
// which one it is.
#ifndef CASTOFF_SHM_LAYOUT_H
#define CASTOFF_SHM_LAYOUT_H

#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "shm/shm.h"
#include "shm/shm_measure.h"

#define CO_SHM_MAGIC UINT64_C(0x63617374646f6666)
#define CO_SHM_VERSION 15
#define CO_SHM_PAGE 4096
#define CO_SHM_FRAGMENT ((size_t)512)         // a slot of the bulk ring
#define CO_SHM_PIECE_LEAST ((size_t)16 << 10) // of a large block, which several ranks copy by pieces
#define CO_SHM_ENTRIES_MAX 4096

#define CO_SHM_CALL_BITS 2    // of an operation's number, below the count: which call it is
#define CO_SHM_LENGTH_BITS 12 // of a slot's word, below the number
#define CO_SHM_INTRODUCTION (((size_t)1 << CO_SHM_LENGTH_BITS) - 1) // in place of a length
#define CO_SHM_NOTHING ((UINT64_C(1) << 40) - 2)                    // likewise, of a block without bytes
#define CO_SHM_STREAM_BITS 40                                       // of the length, below the word of the operation
#define CO_SHM_STREAM_MASK ((UINT64_C(1) << CO_SHM_STREAM_BITS) - 1)
#define CO_SHM_HEADS_HERE 4

// Of a team's bytes so many are left for what each member keeps on its own heap (engine/collective/team.c).
#define CO_SHM_MEMBER_HEAP ((size_t)960)

struct co_shm_header {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    uint64_t team_bytes;
    uint64_t area_bytes;
    uint32_t loans;
    uint32_t entries;
    uint32_t warm_count; // guarded by lock, as all below
    uint32_t warm_first; // of the areas that nobody has, and whose pages stay, plus one; 0: there is none
    uint64_t taken_areas[CO_SHM_ENTRIES_MAX / 64]; // a bit each, the warm ones' too; their entries' likewise
    struct co_shm_measured measured;               // the first rank's, before a barrier
    pthread_mutex_t lock; // process-shared and robust; guards the directory, never held during an operation
};

// Of a stream, beside its first slot. Stays as long as that.
struct co_shm_head {
    uint64_t stream; // co_shm_stream_of its operation
    uint64_t bytes;  // of the block, as told
};

// Written by its process before the barrier of co_shm_node_open, constant afterwards.
struct co_shm_process {
    alignas(CO_LINE_PAIR) uint64_t pid;
    uint64_t pid_namespace; // pids of another namespace say nothing
    uint64_t probe_address; // of a word in that process
    uint64_t probe_value;   // what the word holds
    uint64_t started;       // when, in clock ticks since the start of the machine; 0: no /proc to tell
};

// One team. Guarded by the header's lock but for the atomic ones.
struct co_shm_entry {
    uint64_t key;             // 0: free
    _Atomic uint64_t let_go;  // the last broadcast that its giver here has let go another way; 0: none
    _Atomic uint32_t touched; // pages of lanes in use; when not 0 some page of the area is there
    _Atomic uint16_t broken;  // errno with which some member gave up, 0: none
    uint16_t count;
    uint16_t joined;
    uint16_t left;
    uint16_t first; // of the teams whose keys belong here, plus one; 0: there is none
    uint16_t next;  // of the teams that belong where this one does, likewise; or of the warm areas
};

// One part of the node's staging: who has it. Free, in use by an operation, or kept by a team for its next one, which
// everybody may take over whose bytes are needed more, once all members of that team are done with them.
struct co_shm_loan {
    alignas(CO_CACHE_LINE) _Atomic uint64_t word; // see shm_loan.c
    _Atomic uint64_t end;                         // bulk tick after the last one written there
};

// What a member says in an agreement (shm_agree.c).
struct co_shm_words {
    _Atomic uint64_t number; // of the program's call
    uint64_t words[CO_SHM_AGREE_WORDS];
};

// Head of a lane. Every pair of lines has one writer at a time, named beside it.
struct co_shm_control {
    // The member: ticks of each ring that it is done with, reading and writing. Published late on purpose.
    alignas(CO_LINE_PAIR) _Atomic uint64_t consumed[3];
    // The member: the operation that it has come to, told at each stream, and when it waits long (shm_lengths.c).
    _Atomic uint64_t come_to;
    // The member, where ranks follow a leader: the number of its last such call, and the ways of those up to it.
    alignas(CO_CACHE_LINE) _Atomic uint64_t way;
    // The member: how long its last two calls that are tried have taken (base/copy_trials.h).
    _Atomic uint64_t took_ns[2];
    // The member, as a reader of large broadcasts: its last one, and when it came to it and had all
    // (shm_bcast_trials.c).
    _Atomic uint64_t bcast_began, bcast_ended;
    // The member, in large operations: how many are finished, and a request for bytes it cannot copy itself. In
    // streams, which are no large operations: bulk ticks it has written, and where their slots are: offset from the
    // start of the segment, with the logarithm of their number in the low bits.
    alignas(CO_LINE_PAIR) _Atomic uint64_t finished;
    _Atomic uint64_t request;        // number << 16 | member asked
    _Atomic uint64_t request_offset; // looked at once: the other process may write them at any time
    _Atomic uint64_t request_bytes;
    _Atomic uint64_t written;
    _Atomic uint64_t memory;
    // The member: bit for each ring whose pages exist; number, and bytes of a block, of its last stream; the heads of a
    // bulk ring that has no more slots than these.
    _Atomic uint64_t touched;
    _Atomic uint64_t last_stream;
    struct co_shm_head heads[CO_SHM_HEADS_HERE];
    // The member and the centre of a star, by compare-and-swap: pieces not yet taken, or closed. The member alone:
    // pieces that it took and is done with.
    alignas(CO_LINE_PAIR) _Atomic uint64_t claim;
    _Atomic uint64_t copied;
    // The member: what it tells the leader of an agreement.
    alignas(CO_CACHE_LINE) struct co_shm_words ballot;
    // The peer: pieces it copied for this member, and requests it answered.
    alignas(CO_LINE_PAIR) _Atomic uint64_t helped;
    _Atomic uint64_t reply;
    // The member, as leader: its last answer, and the call of its last ruling.
    alignas(CO_CACHE_LINE) struct co_shm_words answer;
    _Atomic uint64_t ruled;
};

_Static_assert(sizeof(_Atomic uint64_t) == 8, "atomic words are plain words");
_Static_assert(sizeof(struct co_shm_header) <= CO_SHM_PAGE, "the header fits its page");
_Static_assert(sizeof(struct co_shm_process) == CO_LINE_PAIR, "one pair of lines for each process");
_Static_assert(sizeof(struct co_shm_entry) == 32, "two entries on a line");
_Static_assert(offsetof(struct co_shm_control, finished) == 1 * CO_LINE_PAIR, "own pair of lines");
_Static_assert(offsetof(struct co_shm_control, claim) == 2 * CO_LINE_PAIR, "own pair of lines");
_Static_assert(offsetof(struct co_shm_control, helped) == 3 * CO_LINE_PAIR, "own pair of lines");
_Static_assert(sizeof(struct co_shm_control) == 4 * CO_LINE_PAIR, "four pairs of lines");
_Static_assert(offsetof(struct co_shm_control, last_stream) < CO_LINE_PAIR + CO_CACHE_LINE, "beside written");
_Static_assert(sizeof(struct co_shm_loan) == CO_CACHE_LINE, "one line for each loan");

enum co_shm_ring { CO_SHM_LINES, CO_SHM_MAIL, CO_SHM_BULK, CO_SHM_RINGS };

struct co_shm_ring_shape {
    uint64_t mask;    // slots - 1; slots is a power of two
    uint32_t quantum; // consumed is published every so many ticks; a power of two, at most half of the slots
    uint32_t stride;  // from slot to slot
    uint32_t head;    // payload starts here
    uint32_t payload; // bytes that fit
    size_t offset;    // from the start of the lane
    size_t bytes;     // all of it from there
};

struct co_shm_shape {
    struct co_shm_ring_shape ring[CO_SHM_RINGS];
    size_t heads; // of the bulk ring, from the start of the lane
    size_t lane_bytes;
    size_t area_bytes;
};

struct co_shm_plan {
    size_t process_offset, entry_offset, loan_offset, area_offset, area_bytes, staging_offset, bytes;
    uint32_t entries, loans, warm_most;
};

// Eight members fit into 64 KiB. A lane is not made smaller than theirs.
#define CO_SHM_LANE_MIN ((size_t)7168)

// The area of a team of `count` members with team_bytes to spend, entry and heap included. More is used when that is
// too little for so many.
void co_shm_shape_compute(struct co_shm_shape *shape, int count, size_t team_bytes);

#define CO_SHM_ENTRIES_GOOD 256 // as many communicators at a time as most programs ever have
#define CO_SHM_ENTRIES_MIN 16

#define CO_SHM_TEAM_SMALL ((size_t)64 << 10) // team_bytes below which entries are spared instead

// What is lent at a time: as far as a writer is let ahead of its readers. Measured on two cores: they follow at full
// speed, and with more ranks than cores each turn of a rank moves enough to be worth the switch.
#define CO_SHM_LOAN_BYTES ((size_t)256 << 10)
#define CO_SHM_LOAN_SLOTS (CO_SHM_LOAN_BYTES / CO_SHM_FRAGMENT)
#define CO_SHM_LOAN_ROOM (CO_SHM_LOAN_BYTES + CO_SHM_LOAN_SLOTS * sizeof(struct co_shm_head)) // whole pages
#define CO_SHM_LOANS_MAX 4096

// The segment of a node with `size` ranks, at most `entries` teams at a time and staging_bytes to lend.
void co_shm_plan_compute(struct co_shm_plan *plan, int size, size_t team_bytes, size_t staging_bytes, size_t entries);

#endif
