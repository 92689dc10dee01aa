// SPDX-License-Identifier: BSD-3-Clause
//
// What ranks tell each other at the start about their parts. Private to src/engine.
#ifndef CASTOFF_ENGINE_START_JOB_FACTS_H
#define CASTOFF_ENGINE_START_JOB_FACTS_H

#include <stdint.h>

#include "transport/udp/udp.h"
#include "transport/verbs.h"

// What rank 0 tells all others first. The tag is random and shows in names and addresses.
struct co_job_offer {
    uint64_t tag;
    int status;
    uint32_t addresses[CO_UDP_CANDIDATES_MAX]; // of rank 0's host, for the choice of a network
    int32_t address_count;
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
