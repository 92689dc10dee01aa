// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy's status; see the header.
#include "offload/proxy/proxy_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int co_proxy_status_print(char *text, size_t room, const struct co_proxy_status *status)
{
    const struct co_proxy_process_counts *own = status->counts;
    const struct co_proxy_counts *core = status->core;
    const struct co_proxy_listener_counts *strangers = status->strangers;

    int length = snprintf(
        text, room,
        "proxy %d: %" PRIu32 " of %" PRIu32 " ranks, of %" PRIu32 " of the job, %s, copied by themselves %" PRIu64 "\n"
        "  commands %" PRIu64 ", calls %" PRIu64 " (cached %" PRIu64 "), operations %" PRIu64 "\n"
        "  bytes sent %" PRIu64 ", received %" PRIu64 "; records of control %" PRIu64 ", of data %" PRIu64 "\n"
        "  turns %" PRIu64 ", sleeps %" PRIu64 ", rings %" PRIu64 ", rung %" PRIu64 ", ranks hung up %" PRIu64 "\n"
        "  connections %" PRIu64 ", foreign %" PRIu64 ", junk %" PRIu64 ", silent %" PRIu64 ", crowded out %" PRIu64
        "\n",
        (int)getpid(), status->here, status->ours, status->job->ranks,
        status->job->lend == CO_OFFLOAD_LEND_STAGE ? "staged" : "attached", own->copying, core->commands, core->calls,
        core->cached_calls, core->operations, core->bytes_sent, core->bytes_received, core->control_records,
        core->data_records, own->turns, own->sleeps, own->rings, own->rung, own->hung_up, strangers->accepted,
        strangers->foreign, strangers->junk, strangers->silent, strangers->crowded);
    return length < (int)room ? length : (int)room - 1;
}
