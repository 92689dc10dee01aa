// SPDX-License-Identifier: BSD-3-Clause
//
// What ranks tell each other at the start about their parts. Private to src/engine.
#ifndef CASTOFF_ENGINE_START_JOB_FACTS_H
#define CASTOFF_ENGINE_START_JOB_FACTS_H

#include <stdint.h>

#include "base/auth/auth.h"
#include "engine/start/cpu_quota.h"
#include "transport/udp/udp.h"
#include "transport/verbs.h"

#define CO_CORE_WORDS 16 // of a cpu_set_t

// What rank 0 offers. The tag is random and shows in names and addresses.
struct co_job_offer {
    uint64_t tag;
    int status;
    uint32_t addresses[CO_UDP_CANDIDATES_MAX]; // of rank 0's host, for the choice of a network
    int32_t address_count;
};

// What each rank tells all others first, before it opens anything.
struct co_first_words {
    uint64_t tune_hash; // 0: it has no table
    uint64_t cores[CO_CORE_WORDS];
    struct co_cores_quota quota;           // of its processor time
    uint32_t below_hundredths;             // who reads adds up here what is under one limit,
    uint32_t node_hundredths;              // and here limits of a node; 0: it is under none
    struct co_job_offer offer;             // rank 0's counts
    int32_t status, native_status;         // of its bootstrap
    int32_t node_first, node_size;         // likewise
    int32_t node_met;                      // who reads counts ranks here
    int32_t session;                       // of its process, as its own host numbers them
    uint8_t public_key[CO_AUTH_KEY_BYTES]; // of this exchange alone; zeros: none
};

// What each rank tells all others once its parts are open.
struct co_rank_facts {
    struct co_udp_address address;
    int32_t udp_status;
    int32_t shm_status, single_copy, message_status, native_channel_status;
    int32_t lacks_aes;
    uint64_t datagram_bytes, receive_buffer_bytes; // of UDP
    struct co_verbs_address verbs_address;
    int32_t verbs_status;
    uint32_t verbs_datagram_bytes, verbs_receive_bytes;
    uint32_t connect_qp;
    int32_t rc_status;
};

#endif
