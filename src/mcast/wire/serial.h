// SPDX-License-Identifier: BSD-3-Clause
//
// Serial number arithmetic (RFC 1982) for the 32-bit operation numbers and cumulative chunk counts, which wrap. Right
// as long as the numbers compared lie less than half the space apart; windows are far smaller.
#ifndef CASTOFF_MCAST_WIRE_SERIAL_H
#define CASTOFF_MCAST_WIRE_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

static inline bool co_serial_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline uint32_t co_serial_max(uint32_t a, uint32_t b)
{
    return co_serial_before(a, b) ? b : a;
}

static inline uint32_t co_serial_min(uint32_t a, uint32_t b)
{
    return co_serial_before(a, b) ? a : b;
}

#endif
