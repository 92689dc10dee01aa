// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of the core share. A call is one run of a group, or of one basic operation; each of its sends and
// receives is an end, for the message has another end at the other rank's proxy. proxy_core.c calls the parts:
// proxy_executor.c goes through a call's operations, or proxy_patterns.c through those of a team, proxy_transfer.c
// moves bytes, all by proxy_ends.c, where ends meet; proxy_teams.c has whose calls have begun.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_STATE_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_STATE_H

#include "base/hash_map.h"
#include "offload/offload_record.h"
#include "offload/proxy/proxy_core.h"
#include "offload/proxy/proxy_table.h"
#include "offload/proxy/proxy_trees.h"

#define CO_PROXY_BEYOND_MAX (UINT64_C(256) << 20) // of what ranks have no room for and others may

// Of a ring list: its head, or inside of what is listed.
struct co_proxy_link {
    struct co_proxy_link *before, *after;
};

enum co_proxy_end_state {
    CO_PROXY_END_CALLED, // has its number, and its operation has not begun
    CO_PROXY_END_OPEN,
    CO_PROXY_END_OVER
};

// Long blocks of an all-to-all for ranks of other proxies go a few at a time, nearest first: so a rank gets few at a
// time, too, and the switch port before it holds what they send. A send has a turn only while it can move, so whoever
// is late keeps none; it gives it on when it is over, and to a nearer one that can move since. Else who calls first
// would keep an order of its own to the end, and in orders that are turned against each other two send to one and
// nobody to another, all the time.
enum co_proxy_turn { CO_PROXY_TURN_ALWAYS, CO_PROXY_TURN_NONE, CO_PROXY_TURN_WANTED, CO_PROXY_TURN_TAKEN };

struct co_proxy_end {
    struct co_proxy_node node; // the first: in `sends` or `receives` until it is over
    struct co_proxy_link
        outgoing; // of a send that could move, in its peer's list; of one that waits for a member's call
    struct co_proxy_call *call;
    struct co_proxy_end *twin;    // of a FORWARD: its receive's first send, its sends' receive
    struct co_proxy_end *sibling; // of its send: another one, or NULL
    uint32_t place;               // of a team: of the other member
    struct co_rank_window_loan loan;
    uint8_t *beyond;         // of a team's FORWARD: what has come for which the rank has no room; NULL: nothing
    uint64_t address, bytes; // receive: room; send: length, unknown of a FORWARD until its first piece has come
    uint64_t moved;          // so much has come, or gone
    uint64_t whole;          // receive: of the message, since its first piece
    enum co_proxy_end_state state;
    enum co_proxy_turn turn;
    bool is_send, has_loan, has_begun;         // begun: a piece has come or gone
    bool is_ready, is_failed, is_length_known; // what the other end has said; of a send
};

// What was said of a message that its rank here has not called yet.
struct co_proxy_mark {
    struct co_proxy_node node; // the first
    bool is_ready, is_failed;
};

// Messages of one direction, pair, tag and space: the number of the next.
struct co_proxy_sequence {
    struct co_proxy_node node; // the first; its key has number 0
    uint64_t next;
};

// A member of a team that a rank here has open: how many of its calls it has begun.
struct co_proxy_called {
    struct co_proxy_node node;    // the first; `from` is the rank, and the tag the team
    uint64_t count;               // as far as it was heard
    uint32_t uses;                // teams of ranks here
    uint64_t opening;             // the last of these
    struct co_proxy_link waiting; // sends to it of calls that it has not begun
};

struct co_proxy_team {
    uint64_t id;
    uint32_t uses;       // patterns, and one while it is open
    uint64_t next;       // the rank's next call
    uint32_t call_count; // under way; all but one of them count as ends
    uint32_t peer_count;
    uint32_t *peers;                // proxies of members
    uint32_t count, place;          // of the rank itself
    struct co_proxy_layout *layout; // since it was first needed
    struct co_proxy_called *members[];
};

struct co_proxy_group {
    uint32_t uses; // calls under way, and one while it is defined
    uint32_t ends; // of all its operations
    bool was_called;
    uint32_t count;                           // of operations, or what counts as such of a pattern
    struct co_proxy_team *team;               // of a pattern
    bool has_own;                             // likewise: the rank's own block, too
    uint32_t trees;                           // likewise: messages from one to all, 0: from each to each
    uint32_t root;                            // of the only tree, or CO_PROXY_NOBODY: of each tree another one
    uint64_t send, receive, block_bytes;      // of equal blocks, or of the only one
    struct co_offload_blocks *blocks;         // of unequal ones, by place
    struct co_offload_operation operations[]; // none of a pattern
};

struct co_proxy_call {
    struct co_proxy_link runnable; // in `proxy->runnable` while it might go on
    bool is_runnable;
    int rank;
    uint32_t ticket;
    struct co_proxy_group *group; // NULL: basic
    struct co_offload_operation basic;
    const struct co_offload_operation *operations;
    uint32_t count, position; // operations; the next one
    uint32_t end_count, end_position;
    uint32_t open; // ends that are open: a BARRIER waits for 0
    int error;     // the first
    uint32_t with; // of that, as in a completion
    uint64_t bytes;
    uint64_t number;                                // of a team's call: the first one of its messages
    uint32_t turns_taken, turns_wanted, turns_last; // last: none behind that end has one
    struct co_proxy_end ends[];
};

struct co_proxy_rank {
    bool is_here, is_leaving, is_gone; // of all ranks only is_gone
    bool has_said_too_much;            // of what others here have not called: it has to go
    struct co_rank_window *window;
    struct co_proxy_call **calls; // by ticket, below ticket_end
    uint32_t ticket_end, call_count;
    uint32_t end_count;    // of calls under way, as co_proxy_call_begin counts them
    uint64_t moved;        // bytes of its calls
    uint32_t failed_count; // ends that failed before their other end was heard of: it may keep a mark of each
    uint32_t sequence_count;
    uint32_t operation_count;  // of its groups, forgotten ones that calls still need among them
    size_t mark_count;         // of all ranks: marks of what was said of it
    struct co_hash_map groups; // by number
    struct co_hash_map teams;  // by id
    uint32_t member_count;     // of its teams, closed ones that calls still need among them
};

struct co_proxy_control { // something to say to a peer
    enum co_offload_record_kind kind;
    struct co_offload_key key;
};

struct co_proxy_peer {
    bool is_lost;
    size_t left_said;                  // it has been told of so many of `left`
    struct co_proxy_link outgoing;     // sends that could move, in turn
    struct co_proxy_control *controls; // to say in this turn; there is room for two of each end
    size_t control_count, control_room;
    size_t end_count; // of messages from or to it that are not over
    uint64_t opening; // the last team with members there,
    bool has_to_ask;  // of which some are new here
};

struct co_proxy {
    struct co_proxy_config config;
    struct co_proxy_output output;
    struct co_carrier *carrier;
    int *proxy_of_rank;
    struct co_proxy_rank *ranks;
    struct co_proxy_peer *peers;
    uint32_t *left; // ranks of ours that said BYE, and have ended, in this order
    size_t left_count;
    struct co_proxy_link runnable;
    struct co_proxy_table sends, receives;                   // ends of ranks here, and marks for them
    struct co_proxy_table send_sequences, receive_sequences; // by messages of ranks here
    struct co_proxy_table called;                            // members of teams that ranks here have open
    uint64_t openings;                                       // of teams
    uint64_t beyond_bytes;                                   // in memory of this proxy, all ends together
    struct co_proxy_counts counts;
    uint8_t *record; // CO_OFFLOAD_RECORD_BYTES_MAX, to send
};

static inline void co_proxy_link_init(struct co_proxy_link *link)
{
    link->before = link->after = link;
}

static inline bool co_proxy_link_is_alone(const struct co_proxy_link *link)
{
    return link->after == link;
}

// Out of its list, if it is in one.
static inline void co_proxy_link_leave(struct co_proxy_link *link)
{
    link->before->after = link->after;
    link->after->before = link->before;
    co_proxy_link_init(link);
}

static inline void co_proxy_link_join_last(struct co_proxy_link *head, struct co_proxy_link *link)
{
    link->before = head->before;
    link->after = head;
    head->before->after = link;
    head->before = link;
}

static inline struct co_proxy_peer *co_proxy_peer_of(struct co_proxy *proxy, uint32_t rank)
{
    return &proxy->peers[proxy->proxy_of_rank[rank]];
}

static inline bool co_proxy_rank_is_ours(const struct co_proxy *proxy, uint32_t rank)
{
    return rank < (uint32_t)proxy->config.ranks && proxy->proxy_of_rank[rank] == proxy->config.self;
}

static inline struct co_proxy_end *co_proxy_end_of(struct co_proxy_link *outgoing)
{
    return (struct co_proxy_end *)((char *)outgoing - offsetof(struct co_proxy_end, outgoing));
}

// The rank at the other end.
static inline uint32_t co_proxy_end_other(const struct co_proxy_end *end)
{
    return end->is_send ? end->node.key.to : end->node.key.from;
}

// What our rank at an end of a team's message has done of its call.
enum co_proxy_team_knows { CO_PROXY_TEAM_NOT_OPEN, CO_PROXY_TEAM_TO_CALL, CO_PROXY_TEAM_CALLED };

static inline enum co_proxy_team_knows co_proxy_team_knows(const struct co_proxy *proxy, uint32_t rank,
                                                           const struct co_offload_key *key)
{
    const struct co_proxy_rank *ours = &proxy->ranks[rank];
    const struct co_proxy_team *team = ours->is_here ? co_hash_map_get(&ours->teams, key->tag) : NULL;
    return team == NULL                ? CO_PROXY_TEAM_NOT_OPEN
           : key->number >= team->next ? CO_PROXY_TEAM_TO_CALL
                                       : CO_PROXY_TEAM_CALLED;
}

// proxy_control.c
int co_proxy_control_reserve(struct co_proxy_peer *peer); // two more, beside two of each end. -ENOMEM
void co_proxy_control_queue(struct co_proxy_peer *peer, enum co_offload_record_kind kind,
                            const struct co_offload_key *key);
void co_proxy_control_send(struct co_proxy *proxy, int peer); // to another proxy

// proxy_ends.c
// Takes the message's number. -ENOMEM, -ENOSPC.
int co_proxy_end_call(struct co_proxy *proxy, struct co_proxy_end *end, const struct co_offload_operation *operation);
// The same in two steps, of one that has its key with a number, and address and bytes: room (-ENOMEM), and into its
// table, with what was said of it before.
int co_proxy_end_reserve(struct co_proxy *proxy, const struct co_proxy_end *end);
void co_proxy_end_enter(struct co_proxy *proxy, struct co_proxy_end *end);
// Its operation begins: state is OPEN, and the call counts it.
void co_proxy_end_open(struct co_proxy *proxy, struct co_proxy_end *end);
// It is over. is_told: the other end has to hear that nothing will come, or be taken.
void co_proxy_end_finish(struct co_proxy *proxy, struct co_proxy_end *end, int error, bool is_told);
// The same for one that never began.
void co_proxy_end_abandon(struct co_proxy *proxy, struct co_proxy_end *end);
// Nobody is told, and nothing of the call is looked at: the rank is gone.
void co_proxy_end_drop(struct co_proxy *proxy, struct co_proxy_end *end);
// Into its peer's list, if it can move.
void co_proxy_end_queue(struct co_proxy *proxy, struct co_proxy_end *end);
// What the other end's proxy says of a message. -EPROTO, -ENOMEM.
int co_proxy_ends_hear(struct co_proxy *proxy, int peer, enum co_offload_record_kind kind,
                       const struct co_offload_key *key);
void co_proxy_mark_remove(struct co_proxy *proxy, struct co_proxy_table *table, struct co_proxy_node *node);
// Of a message of which a piece comes: its open receive. 0: *out, NULL where it is over; or -EPROTO.
int co_proxy_ends_find(struct co_proxy *proxy, int peer, const struct co_offload_key *key, struct co_proxy_end **out);
void co_proxy_ends_close(struct co_proxy *proxy);

// proxy_purge.c
// All that has to do with that rank ends.
void co_proxy_ends_gone(struct co_proxy *proxy, uint32_t rank);
// What was said of messages of that team below that number, which that rank of ours will not call any more: late words,
// that came while it had the team closed.
void co_proxy_marks_purge(struct co_proxy *proxy, uint32_t rank, uint64_t team, uint64_t below);

// proxy_executor.c
int co_proxy_call_begin(struct co_proxy *proxy, int rank, uint32_t ticket, struct co_proxy_group *group,
                        const struct co_offload_operation *basic);
// As far as it goes. True: it is over.
bool co_proxy_call_advance(struct co_proxy *proxy, struct co_proxy_call *call);
void co_proxy_call_free(struct co_proxy *proxy, struct co_proxy_call *call);
void co_proxy_call_drop(struct co_proxy *proxy, struct co_proxy_call *call);

// proxy_groups.c
int co_proxy_group_define(struct co_proxy *proxy, struct co_proxy_rank *rank, const struct co_offload_command *command,
                          const uint8_t *definition, size_t bytes);
struct co_proxy_group *co_proxy_group_find(const struct co_proxy_rank *rank, uint64_t number);
int co_proxy_group_forget(struct co_proxy *proxy, struct co_proxy_rank *rank, uint64_t number);
void co_proxy_group_release(struct co_proxy *proxy, struct co_proxy_rank *rank, struct co_proxy_group *group);
void co_proxy_groups_close(struct co_proxy *proxy, struct co_proxy_rank *rank);

// proxy_teams.c
int co_proxy_team_open(struct co_proxy *proxy, int rank, const struct co_offload_command *command,
                       const uint8_t *definition, size_t bytes);
int co_proxy_team_close(struct co_proxy *proxy, struct co_proxy_rank *rank, uint64_t id);
void co_proxy_team_release(struct co_proxy *proxy, struct co_proxy_rank *rank, struct co_proxy_team *team);
void co_proxy_teams_close(struct co_proxy *proxy, struct co_proxy_rank *rank);
// Of a send: whether it has to wait for its member's call; else it is ready.
bool co_proxy_team_wait(struct co_proxy_team *team, struct co_proxy_end *end);
// The rank has begun so many calls, and their receives are open: it is said to these proxies, but not to this one.
void co_proxy_team_called(struct co_proxy *proxy, const struct co_proxy_team *team, uint64_t count,
                          const uint32_t *peers, uint32_t peer_count);
int co_proxy_team_lay_out(struct co_proxy *proxy, struct co_proxy_team *team); // once: -ENOMEM
// CALLED and ASK of another proxy. -EPROTO, -ENOMEM.
int co_proxy_teams_hear(struct co_proxy *proxy, int peer, enum co_offload_record_kind kind,
                        const struct co_offload_key *key);

// proxy_patterns.c
int co_proxy_pattern_define(struct co_proxy *proxy, struct co_proxy_rank *rank,
                            const struct co_offload_command *command, const uint8_t *definition, size_t bytes);
// The one that is refused, without bytes, which its maker releases. -EPROTO, -ENOMEM.
int co_proxy_pattern_make_empty(struct co_proxy *proxy, struct co_proxy_rank *rank,
                                const struct co_offload_command *refusal, struct co_proxy_group **out);
// All messages of the call get their number. -ENOMEM.
int co_proxy_pattern_call(struct co_proxy *proxy, struct co_proxy_call *call);
// All of them begin.
void co_proxy_pattern_open(struct co_proxy *proxy, struct co_proxy_call *call);

// proxy_transfer.c
// The next piece of a send, from the window into proxy->record: bytes of the record, 0 where the send has failed.
size_t co_proxy_piece_out(struct co_proxy *proxy, struct co_proxy_end *end);
// That record is on its way.
void co_proxy_piece_sent(struct co_proxy *proxy, struct co_proxy_end *end, size_t record_bytes);
int co_proxy_piece_in(struct co_proxy *proxy, int peer, const struct co_offload_record *record);

#endif
