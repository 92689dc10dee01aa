// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram in words, for the log (CASTOFF_LOG=trace): what wire.h decodes, on one line. Cold.
#ifndef CASTOFF_MCAST_WIRE_WIRE_DESCRIBE_H
#define CASTOFF_MCAST_WIRE_WIRE_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#define CO_WIRE_TEXT_BYTES 480

// `bytes`: head, and payload or body, without the tag. Any bytes are fine; what does not decode is "no datagram of
// castoff". Ends with 0; what does not fit is cut off.
void co_wire_describe(char text[CO_WIRE_TEXT_BYTES], const uint8_t *data, size_t bytes);

#endif
