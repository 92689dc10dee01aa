// SPDX-License-Identifier: BSD-3-Clause
//
// A few endpoints of one kind of transport on one network, and what tests do with them. The contract
// (transport_contract.c) runs on rigs that transport_test.c describes.
#ifndef CASTOFF_TESTS_TRANSPORT_RIG_H
#define CASTOFF_TESTS_TRANSPORT_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/loopback/loopback.h"
#include "transport/transport.h"

#define RIG_WAIT_MS 10000
#define RIG_INBOX_MAX 4096
#define RIG_BATCH_MAX 64
#define RIG_ENDS 3
#define RIG_LENT_MAX 128

// What a batch is sent from, while the transport may still read it.
struct rig_lent {
    uint8_t *bytes; // NULL: free
    size_t room;
    unsigned end;
    struct co_region *region;
};

struct transport_rig {
    const char *name;
    // Opens ends[0 ... RIG_ENDS - 1] as world ranks, all connected; none has joined a group. False: not possible here.
    bool (*open)(struct transport_rig *rig);
    bool is_virtual;       // time is the hub's, no descriptors
    bool like_verbs;       // loopback with the manners of verbs
    unsigned budget_slack; // datagrams by which poll may exceed its budget
    const char *fault;     // plan of a lossy transport around each end, or NULL
    unsigned mtu;          // udp
    bool plain;            // udp without offload
    struct co_loopback_hub *hub;
    struct co_transport *ends[RIG_ENDS];
    struct rig_lent lent[RIG_LENT_MAX];
};

// Fixtures of a test, whose initial state is the rig.
int rig_set_up(void **state);
int rig_take_down(void **state);

struct co_destination rig_group(unsigned index);
struct co_destination rig_peer(unsigned rank);
void rig_join(struct transport_rig *rig, unsigned at, unsigned index);

// What was received: numbers and sizes; contents are judged on arrival.
struct rig_inbox {
    unsigned count, wrong;
    uint32_t numbers[RIG_INBOX_MAX], immediates[RIG_INBOX_MAX];
    size_t sizes[RIG_INBOX_MAX];
};
extern struct rig_inbox rig_inbox;
bool rig_received(uint32_t number);

// Adds to the inbox.
int rig_poll(struct transport_rig *rig, unsigned at, unsigned budget);
// Lets time pass until the end may have something to do. False: nothing can come any more.
bool rig_wait(struct transport_rig *rig, unsigned at);
// Receives until `count` datagrams are in the inbox; it starts empty.
void rig_receive(struct transport_rig *rig, unsigned at, unsigned count);

// The bytes of datagram `number`, and what it carries beside them.
void rig_fill(uint8_t *bytes, uint32_t number, size_t size);
uint32_t rig_immediate(uint32_t number);

// Sends datagrams first ... first + count - 1 of `size` bytes, the last of `last_size`, cut into three pieces.
int rig_send(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t first, unsigned count,
             size_t size, size_t last_size);
// All of them, in as many calls as it takes.
void rig_send_all(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t first, unsigned count,
                  size_t size);
// Frees what the transport reads no more, or all of it: then what has yet to leave is lost.
void rig_take_back(struct transport_rig *rig, bool by_force);
// One small datagram that must be accepted.
void rig_send_one(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t number);

#endif
