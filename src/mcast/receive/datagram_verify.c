// SPDX-License-Identifier: BSD-3-Clause
//
// Is a datagram what it says? Its team is found, our own are dropped, the tag is verified, and control messages are
// taken once and from who may send them. Whatever fails is counted by cause and dropped: foreign bytes cost time,
// nothing else. What is done with the rest is mcast_receive.c's. Hot.
#include "mcast/receive/datagram_verify.h"

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/receive/placement.h"
#include "mcast/send/allgather_schedule.h"

static bool is_verified_by_lane(const struct co_lane_datagram *datagram, uint64_t team_id, int rank,
                                enum co_auth_domain domain)
{
    return datagram != NULL && datagram->is_verified && domain == CO_AUTH_CHUNK && datagram->team_id == team_id &&
           datagram->rank == rank;
}

// The tag covers the full team id, so of several teams that share the low half only the right one verifies. Nothing is
// opened before that.
static struct co_mcast_seed *verified_seed(struct co_mcast *mcast, uint32_t team, int source,
                                           enum co_auth_domain domain, const uint8_t nonce[CO_AUTH_NONCE_BYTES],
                                           const struct co_lane_datagram *by_lane, const uint8_t *data, size_t bytes)
{
    bool is_member = false, is_own = false;
    for (struct co_mcast_seed *seed = co_seed_find(mcast, team); seed != NULL; seed = seed->next_alike) {
        if (source >= (int)seed->count) {
            continue;
        }
        int rank = co_seed_rank(seed, source);
        if (rank == mcast->config.world_rank) {
            is_own = true; // or another's, in a team that shares the low half
            continue;
        }
        is_member = true;
        if (is_verified_by_lane(by_lane, seed->team_id, rank, domain) ||
            co_auth_verify(mcast->config.auth, domain, rank, seed->team_id, nonce, data, bytes)) {
            return seed;
        }
    }
    co_counter_add(is_own ? CO_COUNT_DROP_OWN : is_member ? CO_COUNT_DROP_FORGED : CO_COUNT_DROP_FOREIGN, 1);
    return NULL;
}

struct co_mcast_group *co_datagram_verify_chunk(struct co_mcast *mcast, const struct co_chunk *chunk,
                                                const struct co_lane_datagram *by_lane, const uint8_t *data,
                                                size_t bytes)
{
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_nonce(nonce, chunk);
    struct co_mcast_seed *seed =
        verified_seed(mcast, chunk->team, chunk->source, co_chunk_domain(chunk), nonce, by_lane, data, bytes);
    if (seed != NULL && mcast->unheard_bytes > 0 && co_chunk_domain(chunk) == CO_AUTH_CHUNK) {
        co_placement_heard(mcast);
    }
    return seed == NULL ? NULL : co_seed_group(mcast, seed);
}

static bool is_probe(enum co_control_type type)
{
    return type == CO_CONTROL_PROBE || type == CO_CONTROL_PROBE_REPLY || type == CO_CONTROL_PROBE_DONE;
}

// Probe messages belong to no team: team 0, the source is a world rank.
static bool verified_probe(struct co_mcast *mcast, const struct co_control *control,
                           const uint8_t nonce[CO_AUTH_NONCE_BYTES], const uint8_t *data, size_t bytes)
{
    if (control->team != 0 || control->source >= mcast->config.world_size) {
        co_counter_add(CO_COUNT_DROP_FOREIGN, 1);
        return false;
    }
    if (control->source == mcast->config.world_rank) {
        co_counter_add(CO_COUNT_DROP_OWN, 1);
        return false;
    }
    if (!co_auth_verify(mcast->config.auth, CO_AUTH_CONTROL, control->source, 0, nonce, data, bytes)) {
        co_counter_add(CO_COUNT_DROP_FORGED, 1);
        return false;
    }
    return true;
}

static bool is_first_time(struct co_mcast *mcast, int rank, uint64_t sequence)
{
    if (co_replay_window_accept(&mcast->peers[rank].replay, sequence)) {
        return true;
    }
    co_counter_add(CO_COUNT_DROP_REPLAYED, 1);
    return false;
}

bool co_datagram_verify_control(struct co_mcast *mcast, struct co_verified_control *verified, const uint8_t *data,
                                size_t bytes)
{
    struct co_control *control = &verified->control;
    if (co_wire_control_decode(control, data, bytes) < 0) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return false;
    }
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_control_nonce(nonce, control, (unsigned)mcast->config.world_rank);
    verified->seed = NULL;
    verified->rank = control->source;
    if (is_probe(control->type)) {
        if (!verified_probe(mcast, control, nonce, data, bytes)) {
            return false;
        }
    } else {
        verified->seed =
            verified_seed(mcast, control->team, control->source, CO_AUTH_CONTROL, nonce, NULL, data, bytes);
        if (verified->seed == NULL) {
            return false;
        }
        verified->rank = co_seed_rank(verified->seed, control->source);
    }
    return is_first_time(mcast, verified->rank, control->sequence);
}

// Only the right neighbour asks for blocks of others, and only who was asked has deferred anything; a turn is handed on
// along the chain. The rest says something of its sender alone, or is anybody's to say.
bool co_datagram_is_rightful(const struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    int from = control->source, chains = co_chain_count(group->count, group->mcast->config.chains);
    switch (control->type) {
    case CO_CONTROL_NACK:
        co_wire_nack_decode(&nack, body);
        return from == group->right || nack.source == group->self;
    case CO_CONTROL_NACK_DEFERRED:
        co_wire_nack_decode(&nack, body);
        return from == group->left || nack.source == from;
    case CO_CONTROL_READ_OFFER:
        return from == group->left;
    case CO_CONTROL_TOKEN:
        return from == co_chain_predecessor(group->self, group->count, chains);
    default:
        return true;
    }
}
