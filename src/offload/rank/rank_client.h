// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's side of a proxy: groups are recorded, calls are given, and looking whether one is over is one load. A
// group's operations are told to the proxy at its first call and when the proxy has forgotten it since: it keeps as
// many as `groups_max`, those that were called last, if they have no more than CO_OFFLOAD_OPERATIONS_KEPT operations.
// Nothing here waits: where there is no room (-EAGAIN) the caller does something else, and comes again. No descriptors:
// who owns this rings and sleeps. One thread at a time; hot.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_CLIENT_H
#define CASTOFF_OFFLOAD_RANK_RANK_CLIENT_H

#include "offload/segment.h"

struct co_rank_client;
struct co_rank_group;

// Of a team: its members, and how many of its calls are under way. One of them has always room, whatever else is under
// way; the others count, each as three times the members whatever it is. Zero but for `members` at first, and the
// caller's.
struct co_rank_team {
    uint32_t members, call_count;
};

struct co_rank_client_config {
    uint32_t ranks;      // of the job
    uint32_t groups_max; // as the proxy's
    uint32_t ends_max;   // likewise
    void *context;
    void (*ring)(void *context); // the proxy sleeps
};

// Of memory that is zero. -EINVAL, -ENOMEM.
int co_rank_client_open(struct co_rank_client **out, struct co_segment_memory *memory,
                        const struct co_rank_client_config *config);
// Groups are freed before.
void co_rank_client_close(struct co_rank_client *client);

// Teams, whose members agree on the id. `members`: ranks, encoded (offload_pattern.h). -EAGAIN; -ENOSPC: too many are
// open. A team is closed behind its patterns and calls, and may be opened again: `begun` calls of it were made so far.
int co_rank_client_open_team(struct co_rank_client *client, uint64_t team, const uint8_t *members, uint32_t count,
                             uint64_t begun);
int co_rank_client_close_team(struct co_rank_client *client, uint64_t team, uint32_t count); // -EAGAIN
// The team's next call cannot be made: a REFUSE, but for the ticket, which is as of any call. -EAGAIN.
int co_rank_client_refuse(struct co_rank_client *client, const struct co_offload_command *refusal,
                          struct co_rank_team *team, uint32_t *ticket);

// A group that is a pattern, such as ALLTOALL, with team, buffers and the like, of a team of so many members;
// `definition` of one that has any is read at once. -ENOMEM, -EINVAL. From then on as other groups; nothing is
// recorded.
int co_rank_group_pattern(struct co_rank_client *client, const struct co_offload_command *pattern,
                          const uint8_t *definition, uint32_t members, struct co_rank_group **out);

// Its calls are that team's from here on, which stays where it is until the last of them is collected.
void co_rank_group_join(struct co_rank_group *group, struct co_rank_team *team);

// The proxy forgets all groups of that team, none of whose calls is under way: each is told again when it is called.
// -EAGAIN: not all of them yet.
int co_rank_groups_forget(struct co_rank_client *client, const struct co_rank_team *team);

// An empty group; operations are recorded behind each other until the first call. -ENOMEM, -EINVAL (a peer that is
// none, a range that is none), -ENOSPC (too many), -EBUSY (it was called, even if that was -EAGAIN).
int co_rank_group_start(struct co_rank_client *client, struct co_rank_group **out);
int co_rank_group_record(struct co_rank_group *group, const struct co_offload_operation *operation);
// Runs it once more: *ticket is asked for its end. -EAGAIN; -EBUSY: its last call is not over. -ENOSPC: it has more
// than ends_max sends and receives, and is of no team, or of the rank's calls so far and this one so many tags differ.
// -ENOMEM.
int co_rank_group_call(struct co_rank_group *group, uint32_t *ticket);
// Its last call has been collected: else -EBUSY. -EAGAIN: FORGET has no room.
int co_rank_group_free(struct co_rank_group *group);
// The same where the connection is about to end, and the proxy forgets all that it knows.
void co_rank_group_abandon(struct co_rank_group *group);

// One basic operation, SEND or RECEIVE. -EINVAL, -EAGAIN, -ENOSPC (a tag too many), -ENOMEM.
int co_rank_client_start(struct co_rank_client *client, const struct co_offload_operation *operation, uint32_t *ticket);
int co_rank_client_bye(struct co_rank_client *client); // -EAGAIN

// Whether the call is over: one load.
bool co_rank_client_is_done(const struct co_rank_client *client, uint32_t ticket);
// Of a call that is over: what became of it. The ticket names another call from here on. Of any other ticket: -EINVAL,
// and nothing changes.
struct co_offload_completion co_rank_client_collect(struct co_rank_client *client, uint32_t ticket);

// The proxy has gone: calls that are not over are as if collected, and groups can be freed. The others can be collected
// still; nothing more is to be called.
void co_rank_client_lost(struct co_rank_client *client);

// For who wants to sleep: segment.h.
struct co_segment_rank *co_rank_client_segment(struct co_rank_client *client);

struct co_rank_client_counts {
    uint64_t commands, definitions, cached_calls;
};
const struct co_rank_client_counts *co_rank_client_counts(const struct co_rank_client *client);

#endif
