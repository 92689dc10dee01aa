// SPDX-License-Identifier: BSD-3-Clause
//
// What the rank that starts a proxy tells it, and what it is answered: layout and validation, in one place. It goes
// over a socket that both have from the beginning and nobody else has, so a key is in no argument and no environment.
// Little-endian, of fixed width. Pure; any thread; set-up.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_JOB_H
#define CASTOFF_OFFLOAD_OFFLOAD_JOB_H

#include <stdbool.h>

#include "offload/local_socket.h"
#include "offload/offload_hello.h"

#define CO_OFFLOAD_CORE_BYTES 128 // a bit a core, as in a cpu_set_t
#define CO_OFFLOAD_PLACE_BYTES 64 // with its end
#define CO_OFFLOAD_JOB_BYTES 420
#define CO_OFFLOAD_JOB_RANK_BYTES 8 // behind it, for each rank of the job
#define CO_OFFLOAD_JOB_RANKS_MAX (1 << 20)
#define CO_OFFLOAD_STARTED_BYTES 88
#define CO_OFFLOAD_PEER_BYTES (2 * CO_OFFLOAD_PLACE_BYTES) // of each proxy, where there are several
#define CO_OFFLOAD_CONNECTED_BYTES 272
#define CO_OFFLOAD_CONNECTED_WHY 256

struct co_offload_job {
    uint32_t self, proxies; // this one, of so many
    uint32_t ranks;         // of the job
    uint32_t lend;          // enum co_offload_lend
    uint32_t groups_max, ends_max;
    uint32_t sources;       // members to which a rank's all-to-all sends long blocks at a time; 0: to all
    uint64_t staging_bytes; // for messages of all ranks, where they are staged
    uint8_t key[CO_OFFLOAD_KEY_BYTES];
    uint32_t auth;                             // enum co_auth_form, of bytes between proxies
    uint64_t deadline_ns;                      // a proxy that is silent for so long, while others wait, is lost
    uint64_t first_number;                     // of messages and calls; 0, but for tests
    char place[CO_OFFLOAD_PLACE_BYTES];        // address where it listens for other proxies; "": there are none
    bool has_cores;                            // it binds itself to `cores`;
    uint8_t cores[CO_OFFLOAD_CORE_BYTES];      // else to those that are not of its ranks, if there are any
    uint8_t rank_cores[CO_OFFLOAD_CORE_BYTES]; // of all its ranks together
};

struct co_offload_job_rank {
    uint32_t proxy;   // that serves it
    uint32_t process; // of a rank of this proxy's; else 0
};

struct co_offload_started {
    uint32_t error;               // an errno: it cannot serve, and ends. 0: it does
    uint32_t process;             // its own number
    uint16_t port;                // at its place; 0: there are no others
    uint32_t cores;               // that it has bound itself to; 0: to none
    char name[CO_LOCAL_NAME_MAX]; // of its socket
};

// How others find a proxy.
struct co_offload_peer {
    char host[CO_OFFLOAD_PLACE_BYTES]; // its name, for messages
    char place[CO_OFFLOAD_PLACE_BYTES];
};

// When a proxy has connections with all others.
struct co_offload_connected {
    uint32_t error; // an errno, and why
    char why[CO_OFFLOAD_CONNECTED_WHY];
};

void co_offload_job_encode(uint8_t out[CO_OFFLOAD_JOB_BYTES], const struct co_offload_job *job);
// -EPROTO: no such job, bit for bit.
int co_offload_job_decode(struct co_offload_job *out, const uint8_t bytes[CO_OFFLOAD_JOB_BYTES]);

void co_offload_job_rank_encode(uint8_t out[CO_OFFLOAD_JOB_RANK_BYTES], const struct co_offload_job_rank *rank);
int co_offload_job_rank_decode(struct co_offload_job_rank *out, const uint8_t bytes[CO_OFFLOAD_JOB_RANK_BYTES],
                               const struct co_offload_job *job);

void co_offload_started_encode(uint8_t out[CO_OFFLOAD_STARTED_BYTES], const struct co_offload_started *started);
int co_offload_started_decode(struct co_offload_started *out, const uint8_t bytes[CO_OFFLOAD_STARTED_BYTES]);

void co_offload_peer_encode(uint8_t out[CO_OFFLOAD_PEER_BYTES], const struct co_offload_peer *peer);
int co_offload_peer_decode(struct co_offload_peer *out, const uint8_t bytes[CO_OFFLOAD_PEER_BYTES]);

void co_offload_connected_encode(uint8_t out[CO_OFFLOAD_CONNECTED_BYTES], const struct co_offload_connected *connected);
int co_offload_connected_decode(struct co_offload_connected *out, const uint8_t bytes[CO_OFFLOAD_CONNECTED_BYTES]);

#endif
