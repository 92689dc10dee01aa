// SPDX-License-Identifier: BSD-3-Clause
//
// What ends the operations of a team that cannot go on. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_TEAM_FAILURE_H
#define CASTOFF_ENGINE_PROGRESS_TEAM_FAILURE_H

struct co_team;

// The team can do nothing more: this process's later calls fail, and so do the operations of all other members. Lock
// held, or the team has no group.
void co_team_break(struct co_team *team, int error);
// What ends an operation in shared memory that does not come to its end: 0 or -errno.
int co_team_failure(const struct co_team *team);

#endif
