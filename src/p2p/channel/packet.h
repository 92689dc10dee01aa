// SPDX-License-Identifier: BSD-3-Clause
//
// What one rank says to another about messages between them: a fixed head and a payload. The kinds are those of any
// two-sided protocol: eager messages, and rendezvous by request to send, clear to send, data, finished. Numbers only;
// both ranks run on one node, or the channel moves the bytes as they are between equal machines.
#ifndef CASTOFF_P2P_CHANNEL_PACKET_H
#define CASTOFF_P2P_CHANNEL_PACKET_H

#include <stdint.h>

enum co_packet_kind {
    CO_PACKET_BROKEN = 0, // none: what the ring of this peer holds cannot be a packet, and is the last of it
    CO_PACKET_EAGER = 1,  // the message itself
    CO_PACKET_EAGER_SYNC, // struct co_packet_handle, then the message; wants an ACK when it is matched
    CO_PACKET_RTS,        // struct co_packet_rts: a message that waits at its sender
    CO_PACKET_ACK,        // struct co_packet_handle: an eager message is matched
    CO_PACKET_CTS,        // struct co_packet_cts: a receive wants the bytes of an RTS
    CO_PACKET_FIRST,      // the next bytes of the last RTS that has a first fragment
    CO_PACKET_DATA,       // the next bytes for the receive whose handle stands in place of the communicator
    CO_PACKET_FIN,        // struct co_packet_handle: the receiver has read what it was offered
    CO_PACKET_READING,    // struct co_packet_handle: the receiver still reads what it was offered, a sign of life
    CO_PACKET_CREDIT      // struct co_packet_credit: between channels, where no memory is shared
};

struct co_packet {
    uint64_t context;    // id of the communicator; DATA: co_handles_add of the receiver
    int32_t source, tag; // rank of the sender in it; of answers: which path next, or 0 (stream_trials.h)
    uint32_t bytes;      // of the payload
    enum co_packet_kind kind;
};

struct co_packet_handle {
    uint64_t operation; // co_handles_add of the rank that is told
};

struct co_packet_rts {
    uint64_t operation;      // of the sender
    uint64_t bytes;          // of the message
    uint64_t address;        // in the sender's process
    uint32_t first_fragment; // bytes that follow unasked, 0: none
    uint32_t is_in_pieces;   // 1: so the rest comes when it is asked for, and is read only where it does not come
};

struct co_packet_cts {
    uint64_t operation; // of the sender
    uint64_t receive;   // of the receiver, for the head of DATA
    uint64_t bytes;     // wanted, from the first on; those that come early are not sent again
    uint64_t number;    // under which they are to be transferred, 0: as DATA
};

struct co_packet_credit {
    uint64_t given_back; // in total
};

#endif
