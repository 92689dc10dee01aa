// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of messages in pieces begin with: a world whose reads and clock are the test's.
#ifndef CASTOFF_TESTS_P2P_STREAMS_H
#define CASTOFF_TESTS_P2P_STREAMS_H

#include "p2p_letters.h"

enum { FIRST_FRAGMENT = 32 << 10, STREAM_MOST = 1 << 20, EAGER = 4096 };

extern int reads, read_error;       // so many, and what they say instead
extern uint64_t look_ns;            // passes with every look at the clock; 0 if nobody says so
extern void (*while_reading)(void); // NULL: nothing
extern bool tries_streams;          // for open_streams; false if nobody says so
extern bool is_crowded;             // likewise
extern size_t eager_most;           // likewise; EAGER

void open_streams(int size, size_t credit);
// Nothing is under way, but for sends of rank 0, where it has some.
void close_streams(bool has_sends);
// This rank alone, until nothing moves; and then for longer than its patience.
void streams_move(int rank);
void wait_in_vain(int rank);
// The clock moves on, and nothing else.
void pass_ns(uint64_t ns);
// So long, by a clock that stands still else.
void wait_for(int rank, uint64_t ns);
#define PATIENCE_NS 100000 // far more than what these messages' lengths add to it

#endif
