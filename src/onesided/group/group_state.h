// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of libcastoff-group.so share.
#ifndef CASTOFF_ONESIDED_GROUP_STATE_H
#define CASTOFF_ONESIDED_GROUP_STATE_H

#include <infiniband/verbs.h>

#include "onesided/group/castoff_group.h"
#include "onesided/tcp_link.h"
#include "onesided/transfer_plan.h"

// Sender: what a member has said. Names come with their first word.
struct group_peer {
    char name[CO_COORDINATION_NAME_MAX];
    bool is_done, is_lost; // has everything of this transfer; has left the group
    uint32_t rounds;       // of this transfer, answered: round + 1
};

struct castoff_group {
    bool is_sender;
    char name[CO_COORDINATION_NAME_MAX], own_name[CO_COORDINATION_NAME_MAX];
    uint8_t *buffer;
    uint64_t buffer_bytes; // as registered,
    uint64_t bytes;        // and as the group has it
    uint64_t patience_ns, lease_ns;
    // Verbs.
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_mr *region;
    struct ibv_comp_channel *channel; // sender
    struct ibv_cq *queue;
    struct ibv_qp *pair;
    union ibv_gid gid;
    uint8_t port, gid_index;
    struct co_coordination_end end; // as others need it
    // Conversation.
    struct co_tcp_link link;
    struct co_coordination_message message;
    struct co_coordination_setup setup; // SETUP of a member, GO of the sender
    bool is_joined, is_over;
    // The transfer under way.
    uint32_t transfer, round, chunks;
    uint64_t bitmap[CO_TRANSFER_CHUNKS_MAX / 64]; // sender: written at least once; member: has come
    uint64_t wanted[CO_TRANSFER_CHUNKS_MAX / 64]; // sender: clear where somebody lacks it
    uint32_t gaps;                                // sender: in this round, of the member with most of them
    unsigned outstanding;                         // sender: writes without a completion
    unsigned consumed;                            // member: receives to post again
    unsigned members, peer_count;                 // sender
    struct group_peer *peers;                     // members of them
    struct co_transfer_pace pace;
    uint64_t pause_ns; // by the rate that was asked for
    struct castoff_group_counts counts;
};

#define CO_ONESIDED_WHY_MAX 320

// group_why.c: the sentence of castoff_group_why; returns `error`.
int co_onesided_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// group_verbs.c
int co_onesided_device_open(struct castoff_group *group, const struct castoff_group_options *options);
int co_onesided_pair_make(struct castoff_group *group);    // registers, creates, to INIT
int co_onesided_pair_connect(struct castoff_group *group); // as setup says
// Member: the same queue pair from its beginning, with all receives posted. Soft-RoCE takes no message any more once
// one has broken off behind its first packet: the packet that starts the next one is refused because the last never
// ended.
int co_onesided_pair_revive(struct castoff_group *group);
int co_onesided_receives_post(struct castoff_group *group, unsigned count); // of a member
// -errno: the device has not given something back. The buffer is out of its reach all the same: the kernel takes what a
// context holds when the context is closed.
int co_onesided_device_close(struct castoff_group *group);

// group_control.c
int co_onesided_join(struct castoff_group *group, const struct castoff_group_options *options);
// The next message that matters, into group->message. What ends the group is an error.
int co_onesided_await(struct castoff_group *group, uint64_t until_ns);
int co_onesided_send(struct castoff_group *group, uint16_t kind);
int co_onesided_leave(struct castoff_group *group);

// group_sender.c, group_member.c
int co_onesided_sender_complete(struct castoff_group *group);
int co_onesided_member_complete(struct castoff_group *group);

#endif
