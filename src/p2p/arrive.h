// SPDX-License-Identifier: BSD-3-Clause
//
// Packets from peers. Lock held.
#ifndef CASTOFF_P2P_ARRIVE_H
#define CASTOFF_P2P_ARRIVE_H

#include "p2p/channel/channel.h"

bool co_p2p_on_packet(void *route, int place, const struct co_packet *packet, const unsigned char *payload);

#endif
