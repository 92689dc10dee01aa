// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff info --check` concludes from what hosts say of themselves and from what a short job between them took:
// whether multicast passes, how fast, with what loss, and what to change. Pure but for printing. Cold.
#ifndef CASTOFF_TOOLS_INFO_CHECK_VERDICT_H
#define CASTOFF_TOOLS_INFO_CHECK_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host_facts.h"
#include "reach_advice.h"

#define CO_CHECK_UNKNOWN_S 1e-9 // at some time, or at once

struct co_check_result {
    const struct co_host_facts *hosts; // in the order of their names
    const int64_t *overflows;          // of each of them, during the job
    int host_count;
    bool has_multicast;                // the job had it
    char why[600];                     // it had not: why not
    size_t bytes;                      // of one broadcast, the root's
    double castoff_ns, stock_ns;       // of one broadcast, medians; 0: there was none
    double again;                      // what was sent again, as a share of what arrived
    const struct co_reach_told *reach; // who hears whom; NULL: nobody knows
    double fades_after_s;              // multicast no longer came from then on; 0: it did to the end
};

// When broadcasts by castoff became half as long again as they were, and those of stock beside them did not: seconds
// since the first, or 0. `castoff`, `stock`: what each of `count` rounds took, in ns, `batch` broadcasts a round.
double co_check_fades_after(const double *castoff, const double *stock, size_t count, int batch);

// Whether multicast had stopped when the job ended, after its times were read: `unheard_bytes` came to some host by
// repair since the last of it. However slow broadcasts became and whatever was lost: what is heard at the end has not
// stopped.
void co_check_judge_end(struct co_check_result *result, uint64_t unheard_bytes);

// How large broadcasts may be, after a few small ones, for ten rounds to end in seconds on slow links, too.
size_t co_check_bytes(const struct co_check_result *trial);

// Lines for people; true: multicast passes between all hosts, to the end.
bool co_check_print(FILE *stream, const struct co_check_result *result);

#endif
