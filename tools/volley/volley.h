// SPDX-License-Identifier: BSD-3-Clause
//
// A volley: datagrams that one host sends to the multicast group of all, who count them and see how fast they come.
// `castoff info --check` finds by them which host is slow, or loses datagrams, in which direction. What a host does
// with a volley is in volley_host.h, what follows from many in volley_plan.h.
#ifndef CASTOFF_TOOLS_VOLLEY_H
#define CASTOFF_TOOLS_VOLLEY_H

#include <stddef.h>
#include <stdint.h>

enum { CO_VOLLEY_MOST = 600 }; // datagrams in one

struct co_volley {
    int number, from, count;
    size_t bytes;  // of a packet, with its headers
    int64_t kbits; // so many thousand bits a second; 0: as fast as they leave
};

// What one host has seen of it.
struct co_volley_seen {
    int sent;       // as far as it knows: up to the end of the volley, or to the last datagram that came
    int arrived;    // each once
    int overflowed; // came and found no room in the socket
    int64_t kbits;  // as they came; 0: too few for that
};

#endif
