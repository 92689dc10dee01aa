// SPDX-License-Identifier: BSD-3-Clause
//
// How members on one node come to one step and go one way. Private to src/engine/decide.
#ifndef CASTOFF_ENGINE_DECIDE_TEAM_AGREE_H
#define CASTOFF_ENGINE_DECIDE_TEAM_AGREE_H

#include <stdbool.h>
#include <stdint.h>

struct co_adapt_word;
struct co_team;

// A blocking collective of a team on one node, by the member that all wait for or may wait for in it: the root, or the
// first one.
struct co_agree_call {
    uint64_t number; // among the team's
    int leader;
    const char *name;
};

// Gives ours, and all members' words as one to all of them: CO_TEAM_AGREED. CO_TEAM_NOT_AGREED: the leader was not to
// wait longer than until `until_ns` for somebody; nobody has heard anything. Else -errno.
enum { CO_TEAM_NOT_AGREED, CO_TEAM_AGREED };
int co_team_agree(struct co_team *team, const struct co_agree_call *call, const struct co_adapt_word *mine,
                  struct co_adapt_word *all, uint64_t until_ns);

// Whether the leader takes the call: 1, 0 or -errno. `takes`: what we should do ourselves.
int co_team_follow(struct co_team *team, const struct co_agree_call *call, bool takes);

#endif
