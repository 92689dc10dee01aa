// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of single messages begin and end with: a world, a payload that is sent, and the place where it arrives.
#ifndef CASTOFF_TESTS_P2P_LETTERS_H
#define CASTOFF_TESTS_P2P_LETTERS_H

#include "p2p_world.h"

enum { LARGE = 9 << 20 }; // more than is read at once

extern struct p2p_world world;
extern unsigned char sent[LARGE], received[LARGE]; // 0xee where nothing has arrived

// The payload, the same in all worlds, and nothing received.
void lay_out_payload(void);
void open_world(int size, size_t eager_most, size_t credit, bool may_read);
struct co_p2p_send send_of(int from, int to, int tag, size_t bytes);
struct co_p2p_receive receive_at(int rank, size_t room);
// Done, with these words in its result, the right bytes, and not one more.
void check_received(const struct co_p2p_receive *receive, int source, int tag, size_t bytes);

#endif
