// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's client and the proxy's side of its segment, without a proxy: the test takes the commands, and says what has
// become of them. One thread.
#ifndef CASTOFF_TESTS_OFFLOAD_RANK_RIG_H
#define CASTOFF_TESTS_OFFLOAD_RANK_RIG_H

#include "offload/rank/rank_client.h"

enum { RANK_RIG_RANKS = 3, RANK_RIG_GROUPS = 2, RANK_RIG_ENDS = 2000 };

struct rank_rig {
    struct co_segment_memory *memory;
    struct co_segment_proxy proxy;
    struct co_rank_client *client;
    int rings;
};

extern struct rank_rig rank_rig;

int rank_rig_open(void **state); // for cmocka
int rank_rig_close(void **state);
void rank_rig_open_again(uint32_t groups_max, uint32_t ends_max); // with other bounds

struct co_offload_command rank_rig_next(uint32_t kind); // the next command, which has to be of that kind
void rank_rig_no_more(void);                            // there is none
void rank_rig_complete(uint32_t ticket, int error);     // of 9 bytes

struct co_offload_operation rank_rig_send_to(uint32_t to);
struct co_rank_group *rank_rig_group_of(uint32_t to); // one send
void rank_rig_call_and_end(struct co_rank_group *group, bool is_told);

#endif
