// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank and its proxy say to each other: commands of 64 bytes, the operations of a recorded group, teams and the
// patterns of their calls, which are kept and called as groups are (offload_pattern.h), and completions of 64 bytes.
// Layout and validation, in one place (docs/wire-format.md has the drawing). A proxy decodes from a copy of its own: a
// rank may write into its ring at any moment. Numbers are little-endian and of fixed width, so that a proxy may sit on
// another machine. Pure; any thread; hot.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_COMMAND_H
#define CASTOFF_OFFLOAD_OFFLOAD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_OFFLOAD_COMMAND_BYTES 64
#define CO_OFFLOAD_COMPLETION_BYTES 64
#define CO_OFFLOAD_OPERATION_BYTES 40
#define CO_OFFLOAD_OPERATIONS_MAX 65536 // of a group
// Of all groups that a proxy keeps for a rank, with those that calls under way still need, but for one of each team.
#define CO_OFFLOAD_OPERATIONS_KEPT (4 * CO_OFFLOAD_OPERATIONS_MAX)
#define CO_OFFLOAD_MEMBERS_MAX (1 << 20)  // of a team, if a definition has room for it
#define CO_OFFLOAD_TEAMS_MAX 65536        // that a rank may have open,
#define CO_OFFLOAD_MEMBERS_KEPT (1 << 22) // with so many members together
// Calls that a rank may have under way, beside one of each team: that one has always room, so a team's calls go on in
// their order whatever others wait for.
#define CO_OFFLOAD_CALLS_MAX 1024
#define CO_OFFLOAD_ENDS_A_MEMBER 3                               // as which each call of a team counts, whatever it is
#define CO_TICKETS (CO_OFFLOAD_CALLS_MAX + CO_OFFLOAD_TEAMS_MAX) // a call's number while it is under way

#define CO_OFFLOAD_BEGUN_MAX ((uint64_t)1 << 62) // numbers of calls do not run over

// What a message may have: addresses of user space, and room for sums.
#define CO_OFFLOAD_BYTES_MAX ((uint64_t)1 << 47)

enum co_offload_command_kind {
    CO_OFFLOAD_COMMAND_GROUP = 1, // here are the operations of a group
    CO_OFFLOAD_COMMAND_CALL,      // run it; may be said as often as one likes
    CO_OFFLOAD_COMMAND_SEND,      // one basic operation
    CO_OFFLOAD_COMMAND_RECEIVE,
    CO_OFFLOAD_COMMAND_FORGET, // the group; calls under way go on
    CO_OFFLOAD_COMMAND_BYE,    // nothing more will come
    CO_OFFLOAD_COMMAND_TEAM_OPEN,
    CO_OFFLOAD_COMMAND_TEAM_CLOSE, // its patterns are forgotten, and its calls over
    CO_OFFLOAD_COMMAND_ALLTOALL,   // a group of this number: blocks of equal length, one behind the other
    CO_OFFLOAD_COMMAND_ALLTOALLV,  // likewise, each as its definition says
    CO_OFFLOAD_COMMAND_REFUSE,     // the next call of the team cannot be made: the others hear so
    CO_OFFLOAD_COMMAND_BCAST,      // a group as well: one message, from a root to all
    CO_OFFLOAD_COMMAND_ALLGATHER,  // likewise: one from each member to all, of equal length, one behind the other
    CO_OFFLOAD_COMMAND_ALLGATHERV, // likewise, each as its definition says
    CO_OFFLOAD_COMMAND_END
};

// One place in a group. FORWARD receives and passes on what has come.
enum co_offload_operation_kind {
    CO_OFFLOAD_OPERATION_SEND = 1,
    CO_OFFLOAD_OPERATION_RECEIVE,
    CO_OFFLOAD_OPERATION_FORWARD,
    CO_OFFLOAD_OPERATION_BARRIER, // what follows begins when all before it, in this group, is complete here
    CO_OFFLOAD_OPERATION_END
};

struct co_offload_operation {
    uint32_t kind;
    uint32_t to, to_tag;     // SEND, FORWARD
    uint32_t from, from_tag; // RECEIVE, FORWARD
    uint64_t address, bytes; // all but BARRIER
};

struct co_offload_command {
    uint32_t kind;
    uint32_t ticket;                       // CALL, SEND, RECEIVE: below CO_TICKETS, of none that is under way; REFUSE
    uint64_t group;                        // GROUP, CALL, FORGET, patterns: its number
    uint64_t begun;                        // TEAM_OPEN: numbers that the rank's calls of it had, all of them over
    uint32_t operations;                   // GROUP: so many; TEAM_OPEN, ALLTOALLV, ALLGATHERV: members,
    uint64_t definition;                   // all of them at this place of the byte area
    uint64_t team;                         // TEAM_OPEN, TEAM_CLOSE, REFUSE, patterns
    uint32_t root;                         // BCAST, or where one is refused: its place in the team
    uint32_t refused;                      // REFUSE: BCAST, ALLGATHER, or 0: an all-to-all
    bool has_own;                          // patterns but BCAST: the proxy moves the rank's own block, too
    uint64_t send, receive, bytes;         // equal blocks, BCAST: addresses of both buffers, bytes of a block
    struct co_offload_operation operation; // SEND, RECEIVE
};

// `state` is stored last, by a release: a rank reads the rest only after it.
struct co_offload_completion {
    uint64_t state; // CO_OFFLOAD_COMPLETION_DONE; the rank clears it before it takes the ticket again
    int32_t error;  // 0, or the first of the call's: -EMSGSIZE, -ECONNRESET, -EFAULT, ...
    uint32_t with;  // of an error: 1 more than the rank with whom that operation was; 0: it was with none
    uint64_t bytes; // received by this call
};

#define CO_OFFLOAD_COMPLETION_DONE 1

// Of its operations, members or blocks in the byte area.
size_t co_offload_command_definition_bytes(const struct co_offload_command *command);

// A call of a team, which is kept and called as a group.
bool co_offload_command_is_pattern(uint32_t kind);
// Sends and receives of a pattern, or of a refused one, in a team of so many: no more than these.
uint32_t co_offload_command_ends(const struct co_offload_command *command, uint32_t members);

void co_offload_command_encode(uint8_t out[CO_OFFLOAD_COMMAND_BYTES], const struct co_offload_command *command);
// `ranks` of the job: peers are below. -EPROTO: no such command, bit for bit.
int co_offload_command_decode(struct co_offload_command *out, const uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES],
                              uint32_t ranks);

void co_offload_operation_encode(uint8_t out[CO_OFFLOAD_OPERATION_BYTES], const struct co_offload_operation *operation);
int co_offload_operation_decode(struct co_offload_operation *out, const uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES],
                                uint32_t ranks);

void co_offload_completion_encode(uint8_t out[CO_OFFLOAD_COMPLETION_BYTES],
                                  const struct co_offload_completion *completion);
int co_offload_completion_decode(struct co_offload_completion *out, const uint8_t bytes[CO_OFFLOAD_COMPLETION_BYTES]);

#endif
