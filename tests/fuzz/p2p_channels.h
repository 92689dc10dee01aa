// SPDX-License-Identifier: BSD-3-Clause
//
// The channels of a rank under p2p_fuzz.c: one packet at a time comes, what goes is looked at and forgotten.
#ifndef CASTOFF_TESTS_FUZZ_P2P_CHANNELS_H
#define CASTOFF_TESTS_FUZZ_P2P_CHANNELS_H

#include "p2p/p2p_open.h"

enum { SELF, NEIGHBOUR, OTHER_HOST, PEERS, PAYLOAD_MOST = 2048, NUMBERS = 64, ENDS = 16 };

struct p2p_channels {
    bool has_room;
    uint64_t given_back[PEERS];
    _Atomic uint64_t gates[PEERS][2];
    uint64_t numbers[NUMBERS]; // that the rank has told
    unsigned number_count;
    struct co_channel_end pending[ENDS], ended; // under way; told next
    unsigned pending_count;
    bool has_ended;
    struct {
        struct co_packet packet;
        unsigned char *payload; // NULL: none
        int peer;
    } coming;
    struct co_channel channel[2]; // inside the node, to other hosts
};

extern struct p2p_channels channels;

void p2p_channels_open(void);
void must(bool holds);

#endif
