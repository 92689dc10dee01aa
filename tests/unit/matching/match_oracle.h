// SPDX-License-Identifier: BSD-3-Clause
//
// What MPI demands of a matcher, as plainly as it can be said: two lists, searched from the front. Receives and
// messages are numbers that the test gives.
#ifndef CASTOFF_TESTS_MATCH_ORACLE_H
#define CASTOFF_TESTS_MATCH_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ORACLE_MAX = 4096, ORACLE_NONE = -1 };

struct oracle_entry {
    int id;
    int32_t source, tag;
};

struct oracle {
    struct oracle_entry receives[ORACLE_MAX], messages[ORACLE_MAX];
    int receive_count, message_count;
};

// The message it takes, or ORACLE_NONE: it waits.
int oracle_post(struct oracle *oracle, int id, int32_t source, int32_t tag);
// The receive that takes it, or ORACLE_NONE: it waits.
int oracle_arrive(struct oracle *oracle, int id, int32_t source, int32_t tag);
int oracle_probe(const struct oracle *oracle, int32_t source, int32_t tag);
int oracle_take(struct oracle *oracle, int32_t source, int32_t tag);
// Ids of messages grow with their arrival.
int oracle_put_back(struct oracle *oracle, int id, int32_t source, int32_t tag);
bool oracle_cancel(struct oracle *oracle, int id);

#endif
