// SPDX-License-Identifier: BSD-3-Clause
//
// How the first rank of a node starts its proxy, so that the program sees nothing of it: no child to wait for and no
// SIGCHLD (two clones, of which the first has no exit signal and only makes the second), no descriptor but the ones
// returned here. The proxy has a process group of its own, no environment, so that nothing is preloaded into it, no
// descriptor but its end of the connection and standard error, default signals, and `/` as its folder. A program that
// made itself the reaper of its descendants' orphans (PR_SET_CHILD_SUBREAPER) is the one that sees it end. Any thread;
// once.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_PROXY_START_H
#define CASTOFF_OFFLOAD_RANK_RANK_PROXY_START_H

#include "offload/offload_job.h"

// Path of the castoff command that belongs to this library: beside it, or where make install puts it. -ENOENT.
int co_rank_proxy_command_find(char *path, size_t room);

// Starts it, tells it its job, and hears what became of it, all before until_ns. *connection: to be closed when the
// ranks are connected; who closes it before ends the proxy. *process: a pidfd of the proxy, to be closed likewise, or
// -1 where the kernel has none. Other than 0: `why` has a sentence, and neither is open.
int co_rank_proxy_start(const char *command, const struct co_offload_job *job, const struct co_offload_job_rank *ranks,
                        uint64_t until_ns, struct co_offload_started *started, int *connection, int *process, char *why,
                        size_t why_room);
// Tells it where all proxies of the job are, and hears whether it has connections with all of them. As above.
int co_rank_proxy_connect(int connection, const struct co_offload_peer *peers, uint32_t proxies, uint64_t until_ns,
                          char *why, size_t why_room);
// Nothing became of the job: closes the connection, by which the proxy ends, and kills it if it does not within a
// second, for it may be stopped. Closes its pidfd, too; where that is -1 nobody is killed.
void co_rank_proxy_abandon(int connection, int process);

#endif
