// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's doorbell at its proxy: an eventfd that both have, for a write to it wakes sooner than a byte on a socket
// does. Edge-triggered, so each write wakes and the proxy reads nothing. The proxy's one thread.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_BELL_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_BELL_H

#include <stdint.h>

// In that epoll, by that name. -1: there is none to be had, and the rank rings by its socket.
int co_proxy_bell_open(int epoll, uint64_t name);
// -1 is allowed.
void co_proxy_bell_close(int bell, int epoll);

#endif
