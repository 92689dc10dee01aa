// SPDX-License-Identifier: BSD-3-Clause
//
// Three ranks with the channel between hosts, over a native MPI that the test plays. Packets say who sent them and
// which of his they are; what arrives is checked and written down.
#ifndef CASTOFF_TESTS_NATIVE_RIG_H
#define CASTOFF_TESTS_NATIVE_RIG_H

#include "p2p/channel/native_channel.h"
#include "fake_native.h"

enum { SIZE = 3, EAGER = 1000, PACKETS = 16, MANY = 500, LARGE = 100000, TRANSFERS = 32, ROUNDS = 40 };

struct native_heard {
    int from[MANY * SIZE], tag[MANY * SIZE], count;
    bool takes_nothing;
};

extern struct co_channel *channels[SIZE];
extern struct native_heard heard[SIZE];

void open_with(size_t credit, size_t bytes_most);
int open_channels(void **state);
int close_channels(void **state); // looks whether native has nothing of ours left
unsigned char byte_of(int from, int tag, size_t at);
bool say(int from, int to, int tag); // false: no room
void take(int rank);                 // what has arrived
void move(int rank);
void settle(void);
void check_order(int rank, int from, int count); // tags of each sender count up from 0

#endif
