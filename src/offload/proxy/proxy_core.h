// SPDX-License-Identifier: BSD-3-Clause
//
// The core of a proxy: commands of its node's ranks and records of other proxies go in, records and completions come
// out. It knows no socket, no clock, no MPI and no memory but its own; windows and carrier are tables of functions.
// Nothing in it waits: what cannot go on is left, and gone on with when that changes which it needs. So one proxy
// serves many ranks, and two of them may wait for each other.
//
// No byte is written into a receive before that receive has begun: READY of its proxy is what lets a sender's proxy
// send, and a group that is called again is no different. One thread; hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_CORE_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_CORE_H

#include "offload/carrier.h"
#include "offload/offload_command.h"
#include "offload/rank_window.h"

struct co_proxy;

struct co_proxy_config {
    int self, proxies;        // this one, of so many
    int ranks;                // of the job,
    const int *proxy_of_rank; // each with its proxy; copied
    uint32_t piece_bytes;     // of payload in a record, at most CO_OFFLOAD_RECORD_PAYLOAD_MAX
    uint32_t groups_max;      // that a rank may have defined at a time
    // Sends and receives that a rank may have under way, and as many that failed before their other end was heard of.
    // Other proxies keep what is said of both until it is called. All proxies have the same one.
    uint32_t ends_max;
    uint32_t sources;      // members to which a rank's all-to-all sends long blocks at a time; 0: to all
    uint64_t hash_secret;  // random, and of this process alone: other proxies and ranks choose keys of its tables
    uint64_t first_number; // of messages with a tag; all proxies have the same one. 0, but for tests
};

struct co_proxy_output {
    void *context;
    // The call is over, and all that it received is in the rank's memory: the rank may be told, and the ticket is free.
    // Called by co_proxy_progress; it calls nothing of the proxy.
    void (*complete)(void *context, int rank, uint32_t ticket, const struct co_offload_completion *completion);
};

struct co_proxy_counts {
    uint64_t commands, calls, cached_calls; // cached: of a group that was called before
    uint64_t operations;                    // told and called
    uint64_t control_records, data_records; // sent, to other proxies
    uint64_t bytes_sent, bytes_received;    // of payload, all ways
    uint64_t strays;                        // pieces of messages that have ended here
};

int co_proxy_open(struct co_proxy **out, const struct co_proxy_config *config, struct co_carrier *carrier,
                  const struct co_proxy_output *output); // -EINVAL, -ENOMEM
void co_proxy_close(struct co_proxy *proxy);

// A rank of this proxy's has come, with its memory. It may come once.
int co_proxy_rank_join(struct co_proxy *proxy, int rank, struct co_rank_window *window); // -EINVAL
// Its connection is over. Its calls end without a word, and what others have with it ends with an error. Where it had
// said BYE and all its calls were over, they hear so behind its last bytes. The window is not used any more.
void co_proxy_rank_lost(struct co_proxy *proxy, int rank);
// Whether it has to be hung up, though what it commands makes sense: others here keep too many words of it.
bool co_proxy_rank_is_condemned(const struct co_proxy *proxy, int rank);
// Bytes of its calls that have come or gone.
uint64_t co_proxy_rank_moved(const struct co_proxy *proxy, int rank);
// Calls that have not ended.
uint32_t co_proxy_rank_calls(const struct co_proxy *proxy, int rank);

// One command of a rank; `definition`: of GROUP, its operations, in memory that the rank cannot write. Other than 0
// (-EPROTO: it makes no sense; -ENOSPC: more than a rank may have; -ENOMEM) the rank's connection has to end, nobody
// else's: co_proxy_rank_lost.
int co_proxy_command(struct co_proxy *proxy, int rank, const struct co_offload_command *command,
                     const uint8_t *definition, size_t definition_bytes);

// One record of another proxy. Other than 0 (-EPROTO, -ENOMEM) that proxy is lost: co_proxy_peer_lost.
int co_proxy_take(struct co_proxy *proxy, int peer, enum co_carrier_connection connection, const uint8_t *record,
                  size_t bytes);
// All its ranks are gone.
void co_proxy_peer_lost(struct co_proxy *proxy, int peer);

// One turn: calls that may go on do, each peer with room gets a piece, and what there is to say is said. True: there is
// more that could be done at once. To be called after any of the above, and when a carrier has room again.
bool co_proxy_progress(struct co_proxy *proxy);

const struct co_proxy_counts *co_proxy_counts(const struct co_proxy *proxy);
// Nothing is under way, and nothing that others said waits for a rank. Sequences and groups may be kept.
bool co_proxy_is_idle(const struct co_proxy *proxy);

#endif
