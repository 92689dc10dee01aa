// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that one rank and its proxy share: a ring of commands, completions by ticket, and an area for definitions
// of groups. One writer for each word. The rank's side believes the proxy, the proxy's side nothing: it keeps its own
// index, checks the rank's, and copies what it takes before it looks at it, for a rank may write anything at any
// moment. A side that wants to sleep says so and looks once more; who has something new looks for that afterwards, and
// rings (an eventfd, the callers' business). Offsets, no pointers: the two map it where they like. Hot; each side one
// thread at a time.
#ifndef CASTOFF_OFFLOAD_SEGMENT_H
#define CASTOFF_OFFLOAD_SEGMENT_H

#include <stdalign.h>
#include <stdbool.h>

#include "base/atomics.h"
#include "offload/offload_command.h"

#define CO_SEGMENT_MAGIC UINT64_C(0x33796c66706f6163) // "capofly3": of version 3
#define CO_SEGMENT_COMMANDS 1024                      // a power of 2
#define CO_SEGMENT_AREA_BYTES (4 * 1024 * 1024)       // the largest group; pages that are not used cost nothing
#define CO_SEGMENT_DEFINITIONS 64                     // in the area at a time

struct co_segment_memory {
    uint64_t magic;
    // The rank's words.
    alignas(CO_LINE_PAIR) _Atomic uint64_t given; // commands so far
    _Atomic uint32_t rank_sleeps;
    // The proxy's.
    alignas(CO_LINE_PAIR) _Atomic uint64_t taken;
    _Atomic uint32_t proxy_sleeps;
    _Atomic uint64_t heartbeat; // counts its turns
    _Atomic uint64_t moved;     // and bytes of this rank that have come or gone
    _Atomic uint64_t ended;     // and calls that are over
    alignas(CO_LINE_PAIR) uint8_t commands[CO_SEGMENT_COMMANDS][CO_OFFLOAD_COMMAND_BYTES];
    uint8_t area[CO_SEGMENT_AREA_BYTES];
    // The first eight bytes of a completion are stored last, by a release.
    alignas(CO_LINE_PAIR) uint8_t completions[CO_TICKETS][CO_OFFLOAD_COMPLETION_BYTES];
};

_Static_assert(sizeof(_Atomic uint64_t) == 8 && CO_OFFLOAD_COMPLETION_BYTES % 8 == 0, "states are aligned");

// The rank's side.
struct co_segment_rank {
    struct co_segment_memory *memory;
    uint64_t given;
    struct {
        uint64_t command;                  // its number,
        uint32_t end;                      // and where the definition ends
    } definitions[CO_SEGMENT_DEFINITIONS]; // that the proxy may still have to read, oldest first
    uint32_t definition_first, definition_count;
    uint32_t area_from, area_to; // what they use of the area; from == to: nothing, if there is none
};

// The proxy's side.
struct co_segment_proxy {
    struct co_segment_memory *memory;
    uint64_t taken, ended;
};

// Of memory that is zero.
void co_segment_rank_open(struct co_segment_rank *rank, struct co_segment_memory *memory);
// A command, and for GROUP its operations, as they are encoded: the command's `definition` is filled in. 0; -EAGAIN: no
// room until the proxy has taken some; -ENOSPC: there will never be. *rings: the proxy sleeps, and has to be rung.
int co_segment_give(struct co_segment_rank *rank, struct co_offload_command *command, const uint8_t *definition,
                    size_t definition_bytes, bool *rings);
// Whether the call is over: one load. What it received is visible then.
bool co_segment_is_done(const struct co_segment_rank *rank, uint32_t ticket);
// Of a call that is over, whose ticket is then free.
struct co_offload_completion co_segment_collect(struct co_segment_rank *rank, uint32_t ticket);
// True: that call is not over, and the proxy will ring at the end of the next one that is. False: awake, look.
bool co_segment_rank_sleeps(struct co_segment_rank *rank, uint32_t ticket);
// The same without a look: who says so looks at all that he waits for, behind a fence.
void co_segment_rank_may_sleep(struct co_segment_rank *rank);
void co_segment_rank_wakes(struct co_segment_rank *rank);

// So much has moved; for comparing alone.
uint64_t co_segment_moved(const struct co_segment_rank *rank);
// Likewise: another number once there is more room, since a command was taken or a call is over; such a call is seen
// to be over then.
uint64_t co_segment_news(const struct co_segment_rank *rank);
// Of these, commands that are over.
uint64_t co_segment_ended(const struct co_segment_rank *rank);

// -EPROTO: another version.
int co_segment_proxy_open(struct co_segment_proxy *proxy, struct co_segment_memory *memory);
// The next command, copied: 1; 0: none; -EPROTO: the rank's index makes no sense.
int co_segment_take(struct co_segment_proxy *proxy, uint8_t command[CO_OFFLOAD_COMMAND_BYTES]);
// Where it stands in the area, copied. -EPROTO: not inside.
int co_segment_read(const struct co_segment_proxy *proxy, uint64_t place, uint8_t *into, size_t bytes);
// The command that was taken last, and its definition, are not needed any more.
void co_segment_taken(struct co_segment_proxy *proxy);
// The call is over; all that it received is in the rank's memory. True: the rank sleeps, and has to be rung.
bool co_segment_complete(struct co_segment_proxy *proxy, uint32_t ticket,
                         const struct co_offload_completion *completion);
// True: there is no command, and the rank will ring. False: awake, look.
bool co_segment_proxy_sleeps(struct co_segment_proxy *proxy);
void co_segment_proxy_wakes(struct co_segment_proxy *proxy);

#endif
