// SPDX-License-Identifier: BSD-3-Clause
//
// Sleeps on descriptors with a timer in nanoseconds.
#ifndef CASTOFF_BASE_POLL_H
#define CASTOFF_BASE_POLL_H

#include <poll.h>
#include <stdint.h>

// As ppoll(2), no signal mask; most_ns UINT64_MAX: no timer. Returns how many are ready, 0, or -1 with errno.
int co_poll(struct pollfd *descriptors, nfds_t count, uint64_t most_ns);

#endif
