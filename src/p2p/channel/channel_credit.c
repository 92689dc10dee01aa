// SPDX-License-Identifier: BSD-3-Clause
//
// Totals travel, not differences: a packet that says more makes one that said less needless.
#include "p2p/channel/channel_credit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int co_channel_credits_open(struct co_channel_credits *credits, int size, size_t credit)
{
    struct co_channel_credit *peers = calloc((size_t)size, sizeof *peers);
    *credits = (struct co_channel_credits){.peers = peers, .size = size, .step_bytes = credit / 8};
    return peers == NULL ? -ENOMEM : 0;
}

void co_channel_credits_close(struct co_channel_credits *credits)
{
    free(credits->peers);
    credits->peers = NULL;
}

static bool credit_tell(struct co_channel_credit *state, struct co_channel *channel, int peer)
{
    struct co_packet_credit credit = {state->owed};
    struct co_packet packet = {.kind = CO_PACKET_CREDIT, .bytes = sizeof credit};
    if (!channel->ops->send(channel, peer, &packet, &credit, sizeof credit, NULL, 0)) {
        return false;
    }
    state->told = credit.given_back;
    return true;
}

void co_channel_credits_give_back(struct co_channel_credits *credits, struct co_channel *channel, int peer,
                                  size_t bytes)
{
    struct co_channel_credit *state = &credits->peers[peer];
    state->owed += bytes;
    if (state->owed - state->told >= credits->step_bytes && !state->wants_to_tell &&
        !credit_tell(state, channel, peer)) {
        state->wants_to_tell = true;
        credits->telling++;
    }
}

void co_channel_credits_tell_waiting(struct co_channel_credits *credits, struct co_channel *channel)
{
    for (int peer = 0; peer < credits->size && credits->telling > 0; peer++) {
        struct co_channel_credit *state = &credits->peers[peer];
        if (state->wants_to_tell && credit_tell(state, channel, peer)) {
            state->wants_to_tell = false;
            credits->telling--;
        }
    }
}

void co_channel_credits_hear(struct co_channel_credits *credits, int peer, const struct co_packet *packet,
                             const unsigned char *payload)
{
    struct co_packet_credit credit;
    if (packet->bytes == sizeof credit) {
        memcpy(&credit, payload, sizeof credit);
        credits->peers[peer].given_back = credit.given_back;
    }
}
