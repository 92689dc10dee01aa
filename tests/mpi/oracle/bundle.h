// SPDX-License-Identifier: BSD-3-Clause
// Requests of one thread with the messages that they send or receive, completed together by a completing call that
// chance chooses, each judged as it completes: index, handle, status, content. Any thread, each bundle by one at a
// time.
#ifndef CO_TEST_BUNDLE_H
#define CO_TEST_BUNDLE_H

#include "oracle/parcel.h"

#define CO_BUNDLE_MOST 24

struct co_bundle_entry {
    struct co_parcel parcel;
    uint64_t seed;   // of the bytes
    size_t bytes;    // of the message
    int source, tag; // of a message that is received
    bool receives, is_persistent, is_active;
};

struct co_bundle {
    int count;
    MPI_Request requests[CO_BUNDLE_MOST];
    struct co_bundle_entry entries[CO_BUNDLE_MOST];
    uint64_t *random;
    int wrong; // what did not hold; the first of them is told on standard error
};

// Room for one more, whose request is to be put in requests[count - 1] by the caller.
struct co_bundle_entry *co_bundle_add(struct co_bundle *bundle);

// Counts and tells what does not hold.
void co_bundle_expect(struct co_bundle *bundle, bool holds, const char *what, long first, long second);

// Judges a message that has been received, with the status that came with it, NULL: none.
void co_bundle_judge(struct co_bundle *bundle, const struct co_bundle_entry *entry, const MPI_Status *status);

// Completes all that are active. Persistent requests stay.
void co_bundle_complete(struct co_bundle *bundle);
// Frees what is there; nothing is active.
void co_bundle_clear(struct co_bundle *bundle);

#endif
