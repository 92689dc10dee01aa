// SPDX-License-Identifier: BSD-3-Clause
// A list of events that all ranks of a program draw from one seed: messages, of which sending and receiving have places
// of their own, and collectives, on communicators that are made and freed between the lists. Single-threaded.
#ifndef CO_TEST_SCRIPT_H
#define CO_TEST_SCRIPT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_SCRIPT_GROUPS 6
#define CO_SCRIPT_RANKS 16
#define CO_SCRIPT_MESSAGES 40
#define CO_SCRIPT_COLLECTIVES 16
#define CO_SCRIPT_EVENTS (2 * CO_SCRIPT_MESSAGES + CO_SCRIPT_COLLECTIVES)
#define CO_SCRIPT_TAGS 3       // 0 and up; others are free for the program
#define CO_SCRIPT_BYTES 600000 // no message has more

// A communicator as all ranks know it, whether they are in it or not. Group 0 is MPI_COMM_WORLD.
struct co_script_group {
    MPI_Comm comm; // MPI_COMM_NULL: not a member
    int size;      // 0: there is none
    int members[CO_SCRIPT_RANKS];
    int rank; // mine, -1: none
    bool is_freed;
    bool is_wild[CO_SCRIPT_RANKS]; // this rank receives from any source with any tag
};

struct co_script_message {
    int group, source, destination, tag; // ranks of the group
    size_t bytes;
    uint64_t seed;
    int sent_at, received_at; // places in the list
    bool is_wild;
};

enum co_script_kind {
    CO_SCRIPT_SEND,
    CO_SCRIPT_RECEIVE,
    CO_SCRIPT_BARRIER, // the first collective
    CO_SCRIPT_BCAST,
    CO_SCRIPT_ALLGATHER,
    CO_SCRIPT_ALLGATHERV,
    CO_SCRIPT_ALLTOALL,
    CO_SCRIPT_RING,   // a Sendrecv around, with a tag of its own; nobody of the group is wild
    CO_SCRIPT_IBCAST, // from here on they give requests
    CO_SCRIPT_IALLGATHER,
    CO_SCRIPT_IALLGATHERV,
    CO_SCRIPT_IALLTOALL,
    CO_SCRIPT_IALLREDUCE,
    CO_SCRIPT_IBARRIER,
    CO_SCRIPT_BCAST_INIT,
    CO_SCRIPT_ALLGATHER_INIT,
    CO_SCRIPT_ALLGATHERV_INIT,
    CO_SCRIPT_KINDS
};

struct co_script_event {
    enum co_script_kind kind;
    int index; // of the message, or of the collective's group
    int root;
    size_t bytes;
    uint64_t seed;
};

struct co_script {
    struct co_script_group groups[CO_SCRIPT_GROUPS];
    struct co_script_message messages[CO_SCRIPT_MESSAGES];
    struct co_script_event events[CO_SCRIPT_EVENTS];
    int message_count, event_count;
    uint64_t random;
};

// After co_test_begin.
void co_script_begin(struct co_script *script, uint64_t seed);

// The next list.
void co_script_draw(struct co_script *script);

// Whether a call that waits for its match cannot wait for ever here: all that it waits for stands before it in the
// list.
bool co_script_send_may_block(const struct co_script *script, const struct co_script_message *message);
bool co_script_receive_may_block(const struct co_script *script, const struct co_script_message *message);

// The message that a receive took, which could have taken `model`, came from `source`, and before which so many others
// that could have taken it, too, were matched with messages of this source. NULL: there is none.
const struct co_script_message *co_script_expected(const struct co_script *script,
                                                   const struct co_script_message *model, int source, int before);

// Whether a receive that may take one may take the other.
bool co_script_same_key(const struct co_script_message *a, const struct co_script_message *b);

// Frees some communicators: messages that are pending may still use them, and their size stays until
// co_script_make_groups, when nothing is pending. Those with a pending collective stay: Open MPI 4.1.4 crashes in its
// progress when such a communicator has been freed.
void co_script_free_groups(struct co_script *script);
void co_script_make_groups(struct co_script *script);
void co_script_end(struct co_script *script);

#endif
