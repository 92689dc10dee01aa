// SPDX-License-Identifier: BSD-3-Clause
//
// Connections between several ranks in one process and one thread, for the channel over them: frames and reads move
// when the rank that they go to polls. It aborts where the rules are broken: a frame given back twice, memory read that
// is not lent, a body left behind at the end.
#ifndef CASTOFF_TESTS_FAKE_LINKS_H
#define CASTOFF_TESTS_FAKE_LINKS_H

#include <stdbool.h>

#include "p2p/channel/rc.h"

enum { FAKE_LINKS = 4, FAKE_LINK_FRAMES = 8, FAKE_FRAME_BYTES = 8192 };

struct fake_links_net {
    int size;
    unsigned refuses_lending[FAKE_LINKS], refuses_reading[FAKE_LINKS]; // so many times, as if no more could be locked
    unsigned polls_to_connect;                                         // of a pair, since the first attempt
    bool holds_reads[FAKE_LINKS];                                      // they begin and do not end
    unsigned reads, lent, frames;                                      // so far
    bool (*has_room)(void);                                            // NULL: always
};

extern struct fake_links_net fake_links_net;

void fake_links_open(int size);
void fake_links_close(void);
struct co_rc *fake_links(int rank);
void fake_links_upset(int rank, unsigned how); // any mix of the above
void fake_links_calm(void);                    // nobody refuses or holds anything
void fake_links_break(int rank, int peer);     // both find out when they poll
bool fake_links_has_let_go(int rank);

#endif
