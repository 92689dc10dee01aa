// SPDX-License-Identifier: BSD-3-Clause
//
// The match-action table of a hop: <group address, QPN> to as many actions as the group has receivers, each what one of
// them expects in place of what the sender wrote. A rule lets through only writes of its sender, under its key, inside
// the registered length, packet after packet; all else is dropped and counted. Bounded; a rule that nobody renews ends.
// Pure, time is an argument. One thread. Looking up and judging are hot, the rest is not.
#ifndef CASTOFF_ONESIDED_RULE_TABLE_H
#define CASTOFF_ONESIDED_RULE_TABLE_H

#include "onesided/roce_packet.h"

#define CO_RULE_TABLE_RULES_MAX 4096
#define CO_RULE_TABLE_ACTIONS_MAX 65536 // of all rules together
#define CO_RULE_ACTIONS_MAX 1024        // of one rule

// What becomes of a packet that a rule matches; the counters of a rule have one place for each.
enum co_rule_verdict {
    CO_RULE_PASSED,
    CO_RULE_DAMAGED,  // wrong ICRC; found by the hop, not here
    CO_RULE_FOREIGN,  // another sender, or another key
    CO_RULE_OPCODE,   // no RDMA write of an unreliable connection
    CO_RULE_RANGE,    // beyond the registered length, or beyond what the message's first packet said
    CO_RULE_SEQUENCE, // does not continue a message: something before it was lost or dropped
    CO_RULE_VERDICTS
};

// "damaged" and so on, as status output has it.
const char *co_rule_verdict_name(enum co_rule_verdict verdict);

// What the coordinator says of a rule.
struct co_rule_config {
    uint64_t id;                          // of the coordinator's choice
    uint32_t group_ip, sender_ip;         // host order
    uint32_t qpn;                         // to which the sender writes
    uint32_t key;                         // RKEY that the sender names
    uint64_t bytes;                       // registered: the sender's addresses are 0 to bytes - 1
    uint32_t action_count;                // 1 to CO_RULE_ACTIONS_MAX
    const struct co_roce_target *targets; // of the caller, copied
};

struct co_rule_action {
    struct co_roce_target target;
    uint64_t packets, bytes; // sent to it; bytes of frames
};

struct co_rule {
    struct co_rule_config config; // targets: NULL, see actions
    struct co_rule_action *actions;
    uint64_t until_ns;     // end of its lease
    uint64_t message_left; // bytes that the message under way still has
    uint32_t next_psn;     // its next packet
    bool is_in_message;    // what comes may continue it
    uint64_t bytes_in;     // bytes of frames let through, once for all copies
    uint64_t packets[CO_RULE_VERDICTS];
};

struct co_rule_table;

// Room for so many rules and actions, at most the bounds above: -EINVAL; -ENOMEM.
int co_rule_table_open(struct co_rule_table **out, unsigned rules, unsigned actions);
void co_rule_table_close(struct co_rule_table *table);

// Installs a rule until now + lease, or changes the one of its id: counters of the actions that stay and the message
// under way go on. On failure nothing has changed and `why` says what is wrong: -EINVAL a config that makes no sense,
// -EEXIST another rule has this address and QPN, -ENOSPC the table is full, -ENOMEM.
int co_rule_table_install(struct co_rule_table *table, const struct co_rule_config *config, uint64_t now_ns,
                          uint64_t lease_ns, char *why, size_t why_room);

// Removes it; its last counters go to *counters if that is not NULL. -ENOENT.
int co_rule_table_remove(struct co_rule_table *table, uint64_t id, uint64_t counters[CO_RULE_VERDICTS]);

// All rules get a new lease.
void co_rule_table_renew(struct co_rule_table *table, uint64_t now_ns, uint64_t lease_ns);
// Removes those whose lease has ended; returns how many.
unsigned co_rule_table_expire(struct co_rule_table *table, uint64_t now_ns);

// NULL where nothing matches.
struct co_rule *co_rule_table_find(struct co_rule_table *table, uint32_t group_ip, uint32_t qpn);

// Judges a packet that the rule matches, moves the rule's registers, and counts it. Call it for packets whose ICRC
// holds; co_rule_count counts one that was judged elsewhere.
enum co_rule_verdict co_rule_judge(struct co_rule *rule, const struct co_roce *packet);
void co_rule_count(struct co_rule *rule, enum co_rule_verdict verdict);

unsigned co_rule_table_count(const struct co_rule_table *table);
unsigned co_rule_table_action_count(const struct co_rule_table *table);
// Rule i of co_rule_table_count, in no order; until the next change.
const struct co_rule *co_rule_table_rule(const struct co_rule_table *table, unsigned i);

#endif
