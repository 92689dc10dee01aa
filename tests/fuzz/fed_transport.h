// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram transport without a network for fuzz targets: it swallows what is sent, after reading it as a kernel
// would, and delivers the datagrams that it was fed, up to four together.
#ifndef CASTOFF_TESTS_FUZZ_FED_TRANSPORT_H
#define CASTOFF_TESTS_FUZZ_FED_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define FED_DATAGRAM_MAX 1472
#define FED_TOGETHER 4

struct fed_transport {
    struct co_transport transport;
    uint8_t datagram[FED_DATAGRAM_MAX];
    size_t bytes;
    bool has_datagram;
    struct co_arrival gathered[FED_TOGETHER];
    unsigned count;
    unsigned refuse; // that many sends find the queue full
    int dead;        // the next to be told of, -1: nobody
    unsigned peers;
};

void fed_transport_open(struct fed_transport *fed, unsigned peers);

#endif
