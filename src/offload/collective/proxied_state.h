// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of this room share: proxied_open.c has the world, proxied_teams.c teams, proxied_plans.c arguments and
// which of them are kept, proxied_calls.c calls, proxied_queue.c those on their way to the proxy. All but the flags of
// a call and of the world is under the world's lock.
#ifndef CASTOFF_OFFLOAD_COLLECTIVE_PROXIED_STATE_H
#define CASTOFF_OFFLOAD_COLLECTIVE_PROXIED_STATE_H

#include <pthread.h>

#include "base/hash_map.h"
#include "offload/api/offload_world.h"
#include "offload/offload_pattern.h"
#include "offload/collective/proxied_collective.h"

#define CO_PROXIED_PLANS 1024 // arguments that are kept, of so many blocks of unequal ones at most
#define CO_PROXIED_BLOCKS 65536
#define CO_PROXIED_OWN_BYTES 65536 // an own block up to that the rank copies itself, at start

// Of a ring list: its head, or inside of what is listed.
struct co_proxied_link {
    struct co_proxied_link *before, *after;
};

struct co_proxied_team {
    struct co_proxied_link listed;  // the first: of open teams, by their last call; then of doomed ones
    struct co_proxied_link waiting; // among the teams with calls that wait for room
    struct co_proxied_world *world;
    uint64_t id, begun; // numbers of calls that the proxy was told of
    uint32_t count, place;
    uint32_t uses; // plans and refused calls, and one while it is open
    bool is_told;  // the proxy has it open
    struct co_rank_team calls;
    struct co_proxied_call *first, *last; // that wait for room
    uint8_t members[];                    // encoded
};

// Of a call: what a plan is found by.
struct co_proxied_arguments {
    uint32_t kind; // of its pattern, enum co_offload_command_kind
    uint32_t root; // of a broadcast
    const void *send;
    void *receive;
    size_t bytes;
    const struct co_proxied_block *blocks; // NULL: equal ones
};

struct co_proxied_plan {
    struct co_proxied_link listed; // the first: among those that are kept, by their last call
    struct co_proxied_plan *next;  // of the same hash
    struct co_proxied_team *team;
    bool is_kept; // for a call with the same arguments; else it goes with its own
    bool is_out;  // its call has not ended
    uint64_t hash;
    struct co_offload_command pattern;
    struct co_proxied_block *blocks; // of unequal lengths, as they were given
    struct co_rank_group *group;
    struct co_rank_ranges ranges; // where the rank copies
    struct co_offload_blocks own; // that the rank copies itself, else of no bytes
};

struct co_proxied_call {
    struct co_proxied_link listed; // the first: while it is neither over nor waits for room
    struct co_proxied_call *next;  // behind it in its team, where it waits for room
    struct co_proxied_world *world;
    const struct co_rank_client *client;
    struct co_proxied_plan *plan; // NULL: refused
    struct co_proxied_team *team;
    uint32_t refused, root;  // of a refused one: what it was to be (offload_command.h)
    _Atomic uint32_t ticket; // CO_TICKETS: it waits for room
    // What became of it, when its ticket is another call's or the proxy has gone.
    _Atomic bool is_over;
    struct co_offload_completion completion;
};

struct co_proxied_world {
    pthread_mutex_t lock;
    struct castoff_offload_world *world;
    struct co_rank_connection *connection;
    struct co_rank_client *client;
    _Atomic bool is_lost, is_broken, is_crowded; // crowded: calls wait for room
    bool is_leaving;                             // the proxy is told of no end of teams any more
    bool has_changed;                            // something here since the last look at calls that wait
    uint64_t news;                               // of the proxy at that look
    uint64_t ended;                              // commands, when calls were last asked whether they are over
    uint64_t collected;                          // of them, whose result is here
    int descriptor;
    unsigned sleepers;
    struct co_proxied_link teams, calls, refused, kept; // open ones; begun and not over; refused, likewise; plans
    struct co_proxied_link waiting;                     // teams with calls that wait for room
    struct co_proxied_link doomed_plans, doomed_teams;  // for which there was no room to say so
    uint32_t kept_count;
    uint64_t kept_blocks;
    struct co_hash_map by_hash; // plans that are kept
    struct co_proxied_counts counts;
    char state[CO_OFFLOAD_WHY_BYTES];
};

static inline void co_proxied_link_init(struct co_proxied_link *link)
{
    link->before = link->after = link;
}

static inline void co_proxied_link_leave(struct co_proxied_link *link)
{
    link->before->after = link->after;
    link->after->before = link->before;
    co_proxied_link_init(link);
}

static inline void co_proxied_link_join_last(struct co_proxied_link *head, struct co_proxied_link *link)
{
    link->before = head->before;
    link->after = head;
    head->before->after = link;
    head->before = link;
}

static inline struct co_proxied_team *co_proxied_team_waiting(struct co_proxied_link *waiting)
{
    return (struct co_proxied_team *)((char *)waiting - offsetof(struct co_proxied_team, waiting));
}

// proxied_teams.c
// The proxy has it open from here on. -EAGAIN. -ENOSPC: too much is open, and nothing of that is idle.
int co_proxied_team_tell(struct co_proxied_team *team);
int co_proxied_team_make(struct co_proxied_team **out, struct co_proxied_world *world, uint64_t id,
                         const int *world_ranks, uint32_t count, uint32_t place); // -ENOMEM
void co_proxied_team_release(struct co_proxied_team *team);
// False: there is still no room.
bool co_proxied_teams_tidy(struct co_proxied_world *world);

// proxied_plans.c
// What is kept of such arguments, made if need be, and not out. -ENOMEM, -EINVAL.
int co_proxied_plan_find(struct co_proxied_plan **out, struct co_proxied_team *team,
                         const struct co_proxied_arguments *arguments);
// Its call is over, or has not begun.
void co_proxied_plan_return(struct co_proxied_plan *plan);
// All that are kept of a team, or of all (NULL).
void co_proxied_plans_drop(struct co_proxied_world *world, const struct co_proxied_team *team);
bool co_proxied_plans_tidy(struct co_proxied_world *world); // as of teams
// Those that are doomed still, when the connection is about to end.
void co_proxied_plans_abandon(struct co_proxied_world *world);

// proxied_queue.c
// Begun, behind those of its team that wait for room: 0, or another error than -EAGAIN.
int co_proxied_call_enter(struct co_proxied_call *call);
bool co_proxied_call_has_ended(const struct co_proxied_call *call); // without a lock: by its ticket alone
void co_proxied_call_collect(struct co_proxied_call *call);         // what became of it, once
// Gives calls that wait for room to the proxy, as far as there is some; refused ones that are over are gone. Cheap
// where there are none.
void co_proxied_calls_move(struct co_proxied_world *world);
// The same where something has changed since: cheap where all wait.
void co_proxied_calls_look(struct co_proxied_world *world);
// The proxy has gone: all are over, those that wait for room, too.
void co_proxied_calls_lose(struct co_proxied_world *world);

#endif
