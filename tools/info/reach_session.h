// SPDX-License-Identifier: BSD-3-Clause
//
// The session of `castoff info --check` with a process on each host (reach_host.c): words go to all of them, and each
// answers by a line. The program on the first host leads it and carries both (bench/hosts/reach.c); the command follows
// the same lines. No clock is compared: it goes on when all have answered, and ends when round after round nobody hears
// more. Pure: lines in, words out.
#ifndef CASTOFF_TOOLS_INFO_REACH_SESSION_H
#define CASTOFF_TOOLS_INFO_REACH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "host_facts.h"
#include "reach.h"

enum { CO_REACH_ADDRESSES_MAX = 16 }; // of the first host that are looked at

// `words` end with their line.
typedef void (*co_reach_say_fn)(void *arg, const char *words);

struct co_reach_session {
    // The caller's.
    struct co_host_facts *facts; // room for CO_REACH_HOSTS_MAX; filled by rank
    co_reach_say_fn say;
    void *arg;
    uint64_t tag, nonce;  // random: which group, and what makes datagrams the session's
    size_t largest_bytes; // of a packet of castoff's, by the settings
    // What came of it.
    struct co_reach_table table; // the caller releases it
    bool is_over;
    char why[160]; // it cannot go on: why not
    // How far it is.
    int stage, answered, phase, idle_rounds, fresh;
    bool has_answered[CO_REACH_HOSTS_MAX];
    uint32_t addresses[CO_REACH_ADDRESSES_MAX], near_ip;
    int address_count, ways[CO_REACH_ADDRESSES_MAX]; // to each of them, the worst of any host
    char own_ways[CO_REACH_HOSTS_MAX][CO_REACH_ADDRESSES_MAX + 1];
};

// A line of some host's output, without its end. What is no answer that is waited for is passed over.
void co_reach_session_line(struct co_reach_session *session, const char *line);

// How many hosts have yet to answer; -1: no one has said how many there are.
int co_reach_session_missing(const struct co_reach_session *session);

#endif
