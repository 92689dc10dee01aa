// SPDX-License-Identifier: BSD-3-Clause
//
// Connections between several ranks in one process and one thread, for the channel over them: packets and reads move
// when the rank that they go to polls. It aborts where the rules are broken: a packet given back twice, memory read
// that is not exported, a payload left behind at the end.
#ifndef CASTOFF_TESTS_FAKE_RC_H
#define CASTOFF_TESTS_FAKE_RC_H

#include <stdbool.h>

#include "p2p/channel/rc.h"

enum { FAKE_RC = 4, FAKE_RC_PACKETS = 8, FAKE_PACKET_BYTES = 8192 };

struct fake_rc_net {
    int size;
    unsigned refuses_export[FAKE_RC], refuses_reading[FAKE_RC]; // so many times, as if no more could be locked
    unsigned polls_to_connect;                                  // of a pair, since the first attempt
    bool holds_reads[FAKE_RC];                                  // they begin and do not end
    unsigned reads, exported, packets, queries;                 // so far
    bool is_dead[FAKE_RC];                                      // who asks about it finds its connection broken
    bool (*has_room)(void);                                     // NULL: always
};

extern struct fake_rc_net fake_rc_net;

void fake_rc_open(int size);
void fake_rc_close(void);
struct co_rc *fake_rc(int rank);
void fake_rc_upset(int rank, unsigned how); // any mix of the above
void fake_rc_calm(void);                    // nobody refuses or holds anything
void fake_rc_break(int rank, int peer);     // both find out when they poll
bool fake_rc_has_let_go(int rank);

#endif
