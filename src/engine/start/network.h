// SPDX-License-Identifier: BSD-3-Clause
//
// The network side of the start, for transports.c only, and what ranks tell each other about their parts. Collective
// where it says so; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_H
#define CASTOFF_ENGINE_START_NETWORK_H

#include "engine/engine_state.h"
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

// shared_network.c. Rank 0 writes its addresses to what it broadcasts; afterwards all ranks together (collective) find
// the first of them to which all other hosts have a way, better without routers: network byte order, 0: none.
void co_shared_network_offer(struct co_job_offer *offer);
uint32_t co_shared_network_find(const struct co_engine *engine, const struct co_job_offer *offer);
// The choice, from the worst way (enum co_udp_way) of any host to each address: an index, -1 for none.
int co_shared_network_pick(const int *ways, int count);

// job_key.c. Collective: rank 0 draws the key of the job, and every rank gets it sealed for a key pair that it made for
// this only, so that who listens to the MPI below learns nothing. 0, or -errno on ranks that did not get it. The key is
// the caller's to wipe.
int co_job_key_share(struct co_engine *engine, uint8_t key[CO_AUTH_KEY_BYTES]);

// Collective: opens keys and sockets of this rank; the reason of a failure goes to engine->network.
int co_network_open(struct co_engine *engine, const struct co_job_offer *offer, struct co_udp_address *mine);

// Collective: connects, probes, agrees. Sets engine->has_multicast, or engine->network says why not.
void co_network_connect(struct co_engine *engine, struct co_rank_facts *facts);

// network_probe.c. Collective: do all nodes hear the multicast? The same answer everywhere, 0 or -errno;
// engine->network names those that do not.
int co_network_probe(struct co_engine *engine);

// network_verbs.c. After co_network_open, by this rank alone: tries the device of the same interface.
void co_network_open_verbs(struct co_engine *engine, const struct co_job_offer *offer, struct co_rank_facts *mine);
// By all that was told, so with the same answer everywhere: verbs takes the place of UDP where every rank has it. 0, or
// -errno: it was to, and cannot.
int co_network_choose_verbs(struct co_engine *engine, struct co_rank_facts *facts);
// On the ring of nodes the rank of the same place on the next node, in a direction (1, -1), that has one; -1: none.
int co_network_neighbour(const int *node_of_rank, const int *place_of_rank, int ranks, int nodes, int rank,
                         int direction);

// messages_verbs.c. Connections for messages between hosts on the same device: by this rank alone, after
// co_network_open_verbs.
void co_network_open_rc(struct co_engine *engine, struct co_rank_facts *mine);
// Once the network is agreed: they take the place of the MPI below on all ranks, or on none.
void co_network_choose_rc(struct co_engine *engine, const struct co_rank_facts *facts);

// Undoes whatever is open.
void co_network_close(struct co_engine *engine);

void co_network_say(struct co_engine *engine, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A rank's part of what its node may spend on staging. The first one speaks for the node in most communicators; the
// others do in those that it is no member of.
static inline size_t co_network_staging_bytes(size_t node_bytes, int node_rank, int node_size)
{
    if (node_size == 1) {
        return node_bytes;
    }
    return node_rank == 0 ? node_bytes / 2 : node_bytes / 2 / (size_t)(node_size - 1);
}

#endif
