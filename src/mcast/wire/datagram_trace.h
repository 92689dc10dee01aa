// SPDX-License-Identifier: BSD-3-Clause
//
// CASTOFF_LOG=trace: a line for each datagram that leaves or arrives. Whoever does not ask for it pays nothing: the
// trace stands between the protocol and its transport only where it was asked for at the start.
#ifndef CASTOFF_MCAST_WIRE_DATAGRAM_TRACE_H
#define CASTOFF_MCAST_WIRE_DATAGRAM_TRACE_H

#include <stddef.h>

#include "transport/transport.h"

// From now on what this transport sends and delivers is written to the log, until it is closed. All arrives by poll
// then, one datagram at a time, in staging: no lanes, no landing. Twice is once. Without memory nothing is traced, and
// the log says so.
void co_datagram_trace(struct co_transport *transport, size_t tag_bytes);

#endif
