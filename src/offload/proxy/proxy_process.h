// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy as a process: its socket, its ranks' connections, segments and windows, and the service that moves their
// messages. Each turn does what there is to do and says how long may be slept then; asleep it takes no time, and a rank
// that has something wakes it by a byte on its connection. It is over when its last rank has gone, or none has come.
// A rank is gone when its connection or its process ends, for a forked child may hold the one open. Time is an
// argument; one thread; hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_PROCESS_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_PROCESS_H

#include <stdbool.h>

#include "offload/carrier.h"
#include "offload/offload_job.h"

struct co_proxy_process;

struct co_proxy_process_config {
    const struct co_offload_job *job;
    const struct co_offload_job_rank *ranks; // of the job
    uint64_t patience_ns;                    // for the first rank, and for who connects and says nothing
    int starter; // its connection: if that ends before the first rank has come, none will; the process closes it. -1
};

// Listens, under a name that is written to `name`. -EINVAL, -ENOMEM, -EMFILE, ...
int co_proxy_process_open(struct co_proxy_process **out, const struct co_proxy_process_config *config, uint64_t now_ns,
                          char name[CO_LOCAL_NAME_MAX]);
// Connects with the other proxies, by a listener of co_carrier_tcp_listen, which is taken; a job of one node has none:
// NULL, -1. Waits, for patience_ns at most. Then ranks are served. On an error `why` is a sentence.
int co_proxy_process_begin(struct co_proxy_process *process, const struct co_offload_peer *peers, int listener,
                           char why[CO_OFFLOAD_CONNECTED_WHY]);
void co_proxy_process_close(struct co_proxy_process *process);

// How long may be slept: 0: there is more to do now; UINT64_MAX: until something comes.
uint64_t co_proxy_process_turn(struct co_proxy_process *process, uint64_t now_ns);
void co_proxy_process_sleep(struct co_proxy_process *process, uint64_t most_ns);
bool co_proxy_process_is_over(const struct co_proxy_process *process, uint64_t now_ns);

#endif
