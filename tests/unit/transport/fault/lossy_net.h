// SPDX-License-Identifier: BSD-3-Clause
//
// A sender with a fault injector and a receiver without, unless it is given one, on the loopback hub: rank 0 sends
// numbered datagrams to rank 1, which is also in group 3. For lossy_test.c.
#ifndef CASTOFF_TESTS_LOSSY_NET_H
#define CASTOFF_TESTS_LOSSY_NET_H

#include "transport/loopback/loopback.h"
#include "transport/fault/lossy.h"

#define LOSSY_DATAGRAM_BYTES 100
#define LOSSY_SEEN_MAX 20000

struct lossy_net {
    struct co_loopback_hub *hub;
    struct co_transport *sender, *receiver;
};

// What arrived, by the number that each datagram carries in its first bytes.
struct lossy_seen {
    unsigned count, damaged, shortened;
    unsigned with_immediate; // that came with theirs
    uint32_t numbers[LOSSY_SEEN_MAX];
};

extern struct lossy_seen lossy_seen;
extern const struct co_destination lossy_to_peer, lossy_to_group;

struct lossy_net lossy_net_open(const char *plan_text, struct co_loopback_config config);
void lossy_net_close(struct lossy_net *net);

// Sends datagrams number first ... first + count - 1 in batches of 16 and returns how many were taken.
unsigned lossy_net_send(struct lossy_net *net, struct co_destination to, enum co_fault_kind kind, uint32_t first,
                        unsigned count);
// Lets the sender send what it held and is due.
void lossy_net_poll_sender(struct lossy_net *net);
// Moves the clock to what the sender waits for, until nothing is held any more.
void lossy_net_let_time_pass(struct lossy_net *net);
// What arrives is mistreated, too, at the receiver, which has rank 1.
void lossy_net_mistreat_receiver(struct lossy_net *net, const char *plan_text);
// Takes what has arrived into lossy_seen; returns how much.
unsigned lossy_net_receive(struct lossy_net *net);
bool lossy_net_saw(uint32_t number);

#endif
