// SPDX-License-Identifier: BSD-3-Clause
//
// What coordinator, hops, senders and members say to each other over TCP: layout and validation, in one place
// (docs/wire-format.md has the drawing). Each message is encoded and decoded by the same lines, so the two cannot drift
// apart. Pure, cold. Unsigned little-endian numbers without padding; texts are a byte of length and printable ASCII.
#ifndef CASTOFF_ONESIDED_CONTROL_WIRE_H
#define CASTOFF_ONESIDED_CONTROL_WIRE_H

#include "onesided/hop.h"

#define CO_COORDINATION_VERSION 2
#define CO_COORDINATION_HEAD_BYTES 8
#define CO_COORDINATION_TAG_BYTES 16
#define CO_COORDINATION_BODY_MAX 60000
#define CO_COORDINATION_TEXT_MAX 256 // with its end, as all lengths of text here
#define CO_COORDINATION_NAME_MAX 64  // of groups, members, hops: letters, digits, '.', '_', '-'
#define CO_COORDINATION_RANGES_MAX (CO_TRANSFER_CHUNKS_MAX / 2) // no two of them touch
#define CO_COORDINATION_RULES_MAX 256                           // in one report of a hop
#define CO_COORDINATION_STATUS_MAX 59000

// Of a group's buffer. A member posts a receive for each chunk, twice, before anything is written, so that it has
// nothing to do meanwhile.
#define CO_TRANSFER_CHUNKS_MAX 2048
#define CO_TRANSFER_CHUNK_BYTES_MAX ((uint32_t)1 << 30)
#define CO_TRANSFER_BYTES_MAX ((uint64_t)CO_TRANSFER_CHUNKS_MAX * CO_TRANSFER_CHUNK_BYTES_MAX)

// A lease: hops look at the clock every 50 ms, and who leaves a group waits for two leases while nobody answers.
#define CO_COORDINATION_LEASE_MS_MIN 1000
#define CO_COORDINATION_LEASE_MS_MAX 3600000

enum co_coordination_kind {
    CO_SAY_WELCOME = 1, // coordinator: first word
    CO_SAY_LOGIN,       // who this is; answered by DONE or REFUSED
    CO_SAY_DONE,        // what request `request` asked for
    CO_SAY_REFUSED,     // it is not done, and why
    CO_SAY_HEARTBEAT,   // coordinator to hop: it has heard report `number`, from whose sending the lease now runs
    CO_SAY_RULE_SET,    // coordinator to hop
    CO_SAY_RULE_REMOVE, // coordinator to hop
    CO_SAY_HOP_REPORT,  // hop, every second and in front of each DONE: its counters; answered by HEARTBEAT
    CO_SAY_OPEN_SENDER, // answered by GO, or REFUSED
    CO_SAY_OPEN_MEMBER, // answered by SETUP when the sender is there
    CO_SAY_SETUP,       // to a member: connect your queue pair; answered by READY
    CO_SAY_READY,
    CO_SAY_GO,          // to the sender: rules are in place
    CO_SAY_ROUND,       // sender: so much has been written; the coordinator passes it on to the members
    CO_SAY_MISSING,     // member: what it lacks after that round; passed on to the sender
    CO_SAY_MEMBER_LOST, // to the sender
    CO_SAY_CLOSE,       // of sender or member; answered by DONE when no rule leads to its memory any more
    CO_SAY_ENDED,       // the group is over, and no rule leads to this member's memory any more
    CO_SAY_STATUS,
    CO_SAY_STATUS_TEXT,
    CO_SAY_END
};

enum co_coordination_role { CO_ROLE_HOP = 1, CO_ROLE_CLIENT, CO_ROLE_STATUS, CO_ROLE_END };

// Why something is refused, or over.
enum co_coordination_reason {
    CO_REASON_NONE,     // an end as it should be
    CO_REASON_EXISTS,   // a name is taken
    CO_REASON_FULL,     // no room in a table
    CO_REASON_DEADLINE, // somebody did not come, or did not answer
    CO_REASON_WRONG,    // makes no sense
    CO_REASON_NO_HOP,   // no hop that could carry it
    CO_REASON_LOST,     // somebody has gone
    CO_REASON_END
};

struct co_coordination_login {
    uint8_t role;
    char name[CO_COORDINATION_NAME_MAX];
    uint8_t mode;            // of a hop: enum co_hop_mode,
    uint32_t rules, actions; // its room,
    uint32_t serves_ip;      // and in NIC mode the address of the host that it serves
};

struct co_coordination_answer {
    uint32_t request;
    uint8_t reason; // REFUSED and ENDED
    char text[CO_COORDINATION_TEXT_MAX];
};

struct co_coordination_rule {
    uint32_t request;
    struct co_rule_config config; // targets: those below
    struct co_roce_target targets[CO_RULE_ACTIONS_MAX];
};

struct co_coordination_removal {
    uint32_t request;
    uint64_t id;
};

struct co_coordination_hop_rule {
    uint64_t id, packets[CO_RULE_VERDICTS], copies;
};

struct co_coordination_hop_report {
    uint32_t number; // counts up
    struct co_hop_totals totals;
    uint64_t unsent, overruns; // of all ports: struct co_hop_port_totals
    uint32_t rule_count;
    struct co_coordination_hop_rule rules[CO_COORDINATION_RULES_MAX];
};

// One end of the write stream.
struct co_coordination_end {
    uint8_t mac[CO_ROCE_MAC_BYTES];
    uint32_t ip, psn, mtu; // mtu: bytes of payload in a packet
    uint32_t qpn, rkey;    // of a member,
    uint64_t address;      // as its registered buffer
};

struct co_coordination_open {
    char group[CO_COORDINATION_NAME_MAX], name[CO_COORDINATION_NAME_MAX];
    uint64_t bytes;       // sender: length of the group; member: of its buffer
    uint32_t members;     // sender: how many it waits for,
    uint32_t patience_ms; // and how long
    struct co_coordination_end end;
};

struct co_coordination_setup { // SETUP and GO
    uint32_t ip, psn, qpn, key, mtu;
    uint32_t members;
    uint64_t bytes;
};

struct co_coordination_round {
    uint32_t transfer;            // the buffer may be written anew as often as one likes: which time this is
    uint32_t round;               // of that transfer
    uint32_t chunk_bytes, chunks; // of the group's length: immediate data counts them
};

struct co_coordination_range {
    uint32_t first, count;
};

struct co_coordination_missing {
    char name[CO_COORDINATION_NAME_MAX]; // of the member
    uint32_t transfer, round, missing;   // missing: chunks that it lacks,
    uint32_t range_count;                // as many as these have, by rising number
    struct co_coordination_range ranges[CO_COORDINATION_RANGES_MAX];
};

struct co_coordination_status {
    bool is_last; // of several
    uint16_t bytes;
    char text[CO_COORDINATION_STATUS_MAX];
};

struct co_coordination_message {
    uint16_t kind;
    union {
        uint32_t lease_ms; // WELCOME
        uint32_t number;   // HEARTBEAT
        struct co_coordination_login login;
        struct co_coordination_answer answer;
        struct co_coordination_rule rule;
        struct co_coordination_removal removal;
        struct co_coordination_hop_report report;
        struct co_coordination_open open;
        struct co_coordination_setup setup;
        struct co_coordination_round round;
        struct co_coordination_missing missing;
        struct co_coordination_status status;
        char name[CO_COORDINATION_NAME_MAX]; // MEMBER_LOST
    };
};

// Bytes of the body, at most CO_COORDINATION_BODY_MAX.
size_t co_coordination_write(uint8_t body[CO_COORDINATION_BODY_MAX], struct co_coordination_message *message);
// `out->kind` says what it is to be. -EPROTO: it is not a message of that kind, bit for bit.
int co_coordination_read(struct co_coordination_message *out, const uint8_t *body, size_t bytes);

// Letters, digits, '.', '_' and '-', one at least.
bool co_coordination_name_is_good(const char *name);

#endif
