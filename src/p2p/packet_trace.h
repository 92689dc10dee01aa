// SPDX-License-Identifier: BSD-3-Clause
//
// CASTOFF_LOG=trace: a line for each packet that leaves or arrives. Whoever does not ask for it pays nothing: the trace
// stands between point-to-point and a channel only where it was asked for at the start.
#ifndef CASTOFF_P2P_PACKET_TRACE_H
#define CASTOFF_P2P_PACKET_TRACE_H

#include "p2p/channel/channel.h"

// What goes through this channel is written to the log until it is closed; NULL: nothing to do. Without memory nothing
// is traced, and the log says so.
void co_packet_trace(struct co_channel *channel);

#endif
