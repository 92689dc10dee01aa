// SPDX-License-Identifier: BSD-3-Clause
//
// What point-to-point knows of each peer: its channel, what waits for room in it, credit, and what streams from it.
#ifndef CASTOFF_P2P_PEER_H
#define CASTOFF_P2P_PEER_H

#include "p2p/channel/channel.h"
#include "p2p/queue.h"

struct co_p2p_peer {
    struct co_channel *channel; // to it; NULL: ourselves
    int number;                 // its own there
    bool is_remote;             // on another host
    uint32_t eager_most;
    struct co_p2p_queue answers;  // they never wait for what else has to wait
    struct co_p2p_queue urgent;   // data that somebody waits for
    struct co_p2p_queue messages; // in the order in which they must arrive
    bool is_waiting;              // one of them holds something
    bool messages_are_next;       // for room
    bool is_gone;
    bool is_awaited;   // while those are counted that somebody waits for
    bool is_broken;    // its channel is, and it has not been given up yet
    bool lacks_credit; // since the last message that went
    int exchanges;     // 0, or RTS to it before it has to show again that both send at once
    int absences;      // likewise, that it was away while the ring to it was full
    uint64_t full_ns;  // when pieces last found that ring full and have not gone on since, 0: they have
    uint8_t wishes_known, wishes_pieces; // of sizes, a bit each: what it has told of which way (stream_trials.h)
    uint64_t charged;                    // credit taken so far
    uint64_t given_back;                 // of it, when it was last asked for
    // What streams from it, in the order in which it was asked for.
    struct co_p2p_receive *first_stream, **last_stream;
    uint64_t pieces, pieces_seen, seen_ns; // that have come, and when it was seen that there were so many
    uint64_t read_operation; // the sender's, of the last one that was read while it had stopped; 0: it goes on
    bool is_still_stopped;   // likewise, when the next one was to be read
    // The first fragment behind its last RTS: bytes that are still to come, and whose they are; neither: nobody's.
    size_t fragment_left;
    struct co_p2p_message *fragment_message;
    struct co_p2p_receive *fragment_receive;
    struct co_p2p_incoming *incoming; // what is learned of the way of its messages, NULL: there was none
};

#endif
