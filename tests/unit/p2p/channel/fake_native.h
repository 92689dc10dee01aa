// SPDX-License-Identifier: BSD-3-Clause
//
// A native MPI that the test plays, for the channel between hosts: several ranks in one process and one thread. Bytes
// move when some rank moves it, unless the test holds them back. It aborts where MPI's rules are broken: a slot that is
// used twice, a truncated receive, an operation that nobody has ended.
#ifndef CASTOFF_TESTS_FAKE_NATIVE_H
#define CASTOFF_TESTS_FAKE_NATIVE_H

#include <stdbool.h>

#include "p2p/channel/native.h"

enum { FAKE_RANKS = 4 };

struct fake_net {
    int size;
    size_t buffered;             // messages of so many bytes are done when they are sent; default: all but large ones
    size_t bytes_most;           // of one operation
    bool is_slow[FAKE_RANKS];    // as senders: what they have sent is matched, but does not complete
    bool is_stopped[FAKE_RANKS]; // as receivers: nothing reaches them
    bool refuses[FAKE_RANKS];    // sends to them fail at once
    bool breaks[FAKE_RANKS];     // ... fail later
    bool breaks_receives[FAKE_RANKS]; // what they receive fails
    void (*on_move)(int rank);        // from inside its progress, as from the native loop
    unsigned cancelled, abandoned;    // requests, so far
};

extern struct fake_net fake_net;

void fake_net_open(int size);
void fake_net_close(void);
const struct co_native *fake_native(int rank);
unsigned fake_net_receives(int rank); // posted and not matched
unsigned fake_net_sends(int rank);    // that are not over

#endif
