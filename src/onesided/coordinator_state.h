// SPDX-License-Identifier: BSD-3-Clause
//
// What the coordinator's files share: clients, groups, members, and what each hop has for a group.
#ifndef CASTOFF_ONESIDED_COORDINATOR_STATE_H
#define CASTOFF_ONESIDED_COORDINATOR_STATE_H

#include "onesided/coordinator.h"

struct group;

struct client {
    bool is_there;
    uint8_t role; // enum co_coordination_role; 0 until it has logged in
    char place[64], name[CO_COORDINATION_NAME_MAX];
    uint64_t since_ns, heard_ns;
    struct co_coordination_login hop;          // of a hop,
    struct co_coordination_hop_report *report; // and what it said last, NULL before
    struct group *group;                       // of a sender or member
};

enum member_state { MEMBER_JOINED, MEMBER_READY, MEMBER_LEAVING, MEMBER_LOST };

struct member {
    unsigned client;
    enum member_state state;
    unsigned hop; // the one that led to it when the hops were told last
    struct co_coordination_open open;
    uint32_t round, missing; // what it said last
};

enum group_state {
    GROUP_GATHERING,  // members come; the sender may
    GROUP_SETTING_UP, // members connect their queue pairs
    GROUP_INSTALLING, // hops take the rules
    GROUP_OPEN,       // the sender writes
    GROUP_ENDING      // rules go; nobody is answered before they have
};

// A hop's side of a group.
struct part {
    unsigned hop;     // client
    uint32_t request; // the last one that it has not answered; 0: none
    uint64_t asked_ns;
    bool has_rule; // or may have
};

struct group {
    char name[CO_COORDINATION_NAME_MAX];
    uint64_t id;
    uint32_t ip, qpn, key, mtu;
    enum group_state state;
    uint64_t since_ns;
    uint64_t deadline_ns;           // of those who gather or set up
    bool has_sender, sender_closes; // closes: it waits for DONE
    unsigned sender;
    struct co_coordination_open sender_open;
    struct member *members;
    unsigned member_count, member_room;
    struct part parts[CO_COORDINATOR_HOPS];
    unsigned part_count;
    // A hop that was lost with a rule of ours: until then it may still have it. One entry, the latest, says enough.
    uint64_t limbo_until_ns;
    uint8_t end_reason;
    char end_text[CO_COORDINATION_TEXT_MAX];
};

struct co_coordinator {
    struct co_coordinator_config config;
    struct co_coordinator_output output;
    struct client clients[CO_COORDINATOR_CLIENTS];
    struct group *groups[CO_COORDINATOR_GROUPS];
    unsigned group_count;
    uint64_t next_id;
    uint32_t next_request;
    uint64_t groups_opened, groups_failed;
    unsigned strangers; // that were to be logged in the second that ends then
    uint64_t strangers_until_ns;
    struct co_coordination_message message; // to send: too large for the stack
};

// What an end is told of the group: the address that it writes to, or is written from.
static inline struct co_coordination_setup co_coordinator_setup(const struct group *group, uint32_t ip)
{
    return (struct co_coordination_setup){.ip = ip,
                                          .psn = group->sender_open.end.psn,
                                          .qpn = group->qpn,
                                          .key = group->key,
                                          .mtu = group->mtu,
                                          .members = group->member_count,
                                          .bytes = group->sender_open.bytes};
}

// coordinator_output.c
void co_coordinator_strangers_settle(struct co_coordinator *coordinator, uint64_t now_ns);
void co_coordinator_log(struct co_coordinator *coordinator, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void co_coordinator_send(struct co_coordinator *coordinator, unsigned client, uint16_t kind); // coordinator->message
void co_coordinator_answer(struct co_coordinator *coordinator, unsigned client, uint16_t kind, uint8_t reason,
                           const char *text);

// coordinator_groups.c
void co_coordinator_group_open(struct co_coordinator *coordinator, unsigned client,
                               const struct co_coordination_message *message, uint64_t now_ns);
void co_coordinator_group_ready(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns);
void co_coordinator_group_pass_on(struct co_coordinator *coordinator, unsigned client,
                                  struct co_coordination_message *message);

// coordinator_ends.c
struct member *co_coordinator_group_member(struct group *group, unsigned client);
void co_coordinator_group_leave(struct co_coordinator *coordinator, unsigned client, bool is_lost, uint64_t now_ns);
// Ends it: rules go first, then everybody is told why.
void co_coordinator_group_end(struct co_coordinator *coordinator, struct group *group, uint8_t reason, const char *text,
                              uint64_t now_ns);
// Goes on with a group for whose rules nothing is waited for any more. The group may be gone afterwards.
void co_coordinator_group_settle(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns);
void co_coordinator_group_check_deadline(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns);

// coordinator_hops.c
void co_coordinator_hops_login(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns);
// A hop is gone: the group has nothing of it any more but what its lease keeps. False: it had nothing before.
bool co_coordinator_hops_abort(struct co_coordinator *coordinator, struct group *group, unsigned hop);
// Of which group the answer is, NULL: of none that waits for it. text: why the group has to end; empty: it goes on.
struct group *co_coordinator_hops_answered(struct co_coordinator *coordinator, unsigned client,
                                           const struct co_coordination_message *message,
                                           char text[CO_COORDINATION_TEXT_MAX]);
// The hop that leads to an address, or CO_COORDINATOR_CLIENTS.
unsigned co_coordinator_hops_for(const struct co_coordinator *coordinator, uint32_t ip);
// Tells the hops what the group's members now need.
void co_coordinator_hops_sync(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns);
// A hop that has owed an answer for longer than the patience, or CO_COORDINATOR_CLIENTS.
unsigned co_coordinator_hops_find_mute(const struct co_coordinator *coordinator, uint64_t now_ns);
bool co_coordinator_hops_have_any(const struct co_coordinator *coordinator);

#endif
