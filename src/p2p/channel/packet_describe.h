// SPDX-License-Identifier: BSD-3-Clause
//
// A packet in words, for the log (CASTOFF_LOG=trace): what packet.h lays down, on one line. Cold.
#ifndef CASTOFF_P2P_CHANNEL_PACKET_DESCRIBE_H
#define CASTOFF_P2P_CHANNEL_PACKET_DESCRIBE_H

#include <stddef.h>

#include "p2p/channel/packet.h"

#define CO_PACKET_TEXT_BYTES 240

// `payload`: the first bytes of it, `payload_bytes` of them; any are fine. Ends with 0; what does not fit is cut off.
void co_packet_describe(char text[CO_PACKET_TEXT_BYTES], const struct co_packet *packet, const void *payload,
                        size_t payload_bytes);

#endif
