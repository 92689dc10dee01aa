// SPDX-License-Identifier: BSD-3-Clause
//
// What a transport delivers: one datagram. A header of its own, because the datapath kernel (mcast/receive/datapath.h)
// is compiled where there is no libc. Hot; any thread.
#ifndef CASTOFF_TRANSPORT_ARRIVAL_H
#define CASTOFF_TRANSPORT_ARRIVAL_H

#include <stddef.h>
#include <stdint.h>

// A datagram that has come.
struct co_arrival {
    const uint8_t *data;
    size_t bytes;
    uint32_t immediate; // that came with it, if one did
};

#endif
