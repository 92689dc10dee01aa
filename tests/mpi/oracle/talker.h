// SPDX-License-Identifier: BSD-3-Clause
// A thread that talks to the thread of the same number on another rank: what they say follows from a seed, so both know
// it; by which call each sends and receives it is chance. Each talker is used by its thread alone.
#ifndef CO_TEST_TALKER_H
#define CO_TEST_TALKER_H

#include "oracle/bundle.h"

#define CO_TALKER_MESSAGES 6
#define CO_TALKER_TAGS 16          // of each thread: a few of its messages, and from these on
#define CO_TALKER_TAG_DISTINCT 4   // one for each message
#define CO_TALKER_TAG_GO 14        // the receives are there
#define CO_TALKER_TAG_NEVER 15     // nobody sends it
#define CO_TALKER_BUFFER (4 << 20) // bytes to attach for buffered sends

struct co_talker_message {
    int tag, number; // the number tells messages of a thread apart
    size_t bytes;
};

struct co_talker {
    int number, peer;
    MPI_Comm own, shared; // by itself, and with the other threads
    uint64_t plan, mine;  // random states: the same on both sides, and this side's alone
    int planned;
    // Of the step under way.
    MPI_Comm comm;
    bool may_any_tag;
    int count;
    struct co_talker_message messages[CO_TALKER_MESSAGES];
    struct co_bundle bundle;
};

enum co_talker_mode { CO_TALKER_STANDARD, CO_TALKER_SYNCHRONOUS, CO_TALKER_BUFFERED, CO_TALKER_READY };

void co_talker_open(struct co_talker *talker, uint64_t seed, int number, int peer);
unsigned co_talker_chance(struct co_talker *talker, unsigned limit);
// The communicator and the messages of a step; the same on both sides.
void co_talker_plan(struct co_talker *talker);
int co_talker_tag(const struct co_talker *talker, int tag);

// With memory for it, filled, or with room for as much as comes or for more. The bundle's last one.
struct co_bundle_entry *co_talker_add_send(struct co_talker *talker, const struct co_talker_message *message);
struct co_bundle_entry *co_talker_add_receive(struct co_talker *talker, const struct co_talker_message *message,
                                              int source);
MPI_Request *co_talker_request(struct co_talker *talker); // the last one's
void co_talker_forget(struct co_talker *talker);          // it is over

int co_talker_any_source(struct co_talker *talker);
int co_talker_any_tag(struct co_talker *talker, const struct co_talker_message *message);

// By any call. `is_expected`: its receive is there.
void co_talker_send(struct co_talker *talker, const struct co_talker_message *message, bool is_expected);
void co_talker_start_send(struct co_talker *talker, const struct co_talker_message *message, int to);
void co_talker_make_send(struct co_talker *talker, const struct co_talker_message *message); // persistent, not started
// By any call, in the order of the messages, so that a wildcard can match no other.
void co_talker_receive(struct co_talker *talker, const struct co_talker_message *message);
void co_talker_post(struct co_talker *talker, const struct co_talker_message *message, bool by_tag);
// A receive that nothing is sent for.
void co_talker_cancel_for_nothing(struct co_talker *talker);

#endif
