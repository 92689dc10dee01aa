// SPDX-License-Identifier: BSD-3-Clause
//
// Words for what a session has found: what is wrong in one sentence, and what to change. Pure but for printing. Cold.
#ifndef CASTOFF_TOOLS_INFO_REACH_ADVICE_H
#define CASTOFF_TOOLS_INFO_REACH_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "advice.h"
#include "host_facts.h"
#include "reach_verdict.h"

struct co_reach_told {
    const struct co_reach_verdict *verdict;
    const struct co_reach_table *table;
    const struct co_host_facts *by_rank;
    uint32_t near_ip; // of the network that was chosen, host byte order; 0: hosts have none in common
};

// "no multicast comes to h2; ...", of what keeps multicast from passing; "": nothing does.
void co_reach_sum_up(char *text, size_t room, const struct co_reach_told *told);

void co_reach_advise(struct co_advice *advice, const struct co_reach_told *told);

// Whether packets as large as the interfaces carry, larger than castoff's, came through between all.
bool co_reach_carries_large(const struct co_reach_told *told);

#endif
