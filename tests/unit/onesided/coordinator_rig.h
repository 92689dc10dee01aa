// SPDX-License-Identifier: BSD-3-Clause
//
// A coordinator without sockets for tests: a hop, a sender, three members and one more client, all of them the test
// itself. What is said to each is kept until it is looked at, in order.
#ifndef CASTOFF_TESTS_COORDINATOR_RIG_H
#define CASTOFF_TESTS_COORDINATOR_RIG_H

#include "onesided/coordinator.h"

enum { HOP, SENDER, M1, M2, M3, OTHER, CLIENTS };
#define MS UINT64_C(1000000)
#define LEASE (6000 * MS)
#define PATIENCE (5000 * MS)

// What a client has heard: of each kind what the tests look at.
struct said {
    uint16_t kind;
    uint32_t request;
    uint8_t reason;
    char text[CO_COORDINATION_TEXT_MAX];
    struct co_coordination_setup setup;
    struct co_rule_config rule;
    struct co_roce_target targets[4];
};

extern struct co_coordinator *rig_coordinator;
extern struct co_coordination_message rig_message; // filled before rig_say
extern uint64_t rig_now;
extern char rig_log[512],
    rig_status[4 * CO_COORDINATION_STATUS_MAX]; // the last log line; the status, as far as it was heard
extern bool rig_dropped[CLIENTS];

int rig_open(void **state);
int rig_close(void **state);

void coordinator_rig_join(unsigned client);
void rig_log_in(unsigned client, uint8_t role, const char *name);
void rig_say(unsigned client, uint16_t kind);
// The next word for a client, which must be of this kind; and that there is none.
struct said *rig_hears(unsigned client, uint16_t kind);
void rig_hears_nothing(unsigned client);
// The hop's answer.
void rig_answer(uint32_t request, uint16_t kind, const char *text);
// Opens group "files", for three members.
void rig_open_as(unsigned client, uint16_t kind, uint64_t bytes);
// All join, up to the rules: returns the hop's request. And with the hop's answer.
uint32_t coordinator_rig_set_up(void);
void rig_open_group(void);

#endif
