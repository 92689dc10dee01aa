// SPDX-License-Identifier: BSD-3-Clause
//
// The counters of a running process for others of its user (castoff top). They lie in pages of their own, and these
// become a file without a name (memfd), which others find as /proc/PID/fd/N: counting is the same store as before, the
// file ends with the process however that ends, and who may open it is the kernel's to say. It is sealed: nobody can
// shrink it under the process, and with Linux 5.1 or later nobody else can write to it. Opening and closing: start and
// end, or a forked child; reading: any process. Cold.
//
//   0          8         12        16        20      24      28      32           40        40 + 64
//   +----------+---------+---------+---------+-------+-------+-------+------------+---------+-- ... --+
//   | magic    | version | names   | counters| pid   | rank  | ranks | started ns | job     | values  |
//   +----------+---------+---------+---------+-------+-------+-------+------------+---------+-- ... --+
//
// The values begin at CO_COUNTER_PAGE, in the order of counters_table.h, of which `names` is a digest.
#ifndef CASTOFF_BASE_LIVE_COUNTERS_H
#define CASTOFF_BASE_LIVE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counters.h"

#define CO_LIVE_NAME "castoff-counters" // of the file, as /proc has it: "/memfd:castoff-counters (deleted)"
#define CO_LIVE_JOB_BYTES 64

struct co_live_counters {
    int pid; // as the process itself sees it: in a container another one
    int rank, ranks;
    uint64_t started_ns;         // of the wall clock
    char job[CO_LIVE_JOB_BYTES]; // of the launcher's; a text of the process's choice
    uint64_t values[CO_COUNTER_COUNT];
};

// From now on others can look. 0, or -errno, and nothing has changed: -EALREADY, -ENOTSUP (pages too large), what
// memfd_create, or mapping says. Takes a descriptor.
int co_live_counters_open(const char *job, int rank, int ranks, uint64_t started_ns);
// Nobody finds them any more; counting goes on. Nothing where they were never open.
void co_live_counters_close(void);
// In a forked child: what it counts is its own.
void co_live_counters_leave(void);

// What `file` is, which anybody may have made: 0, -EPROTO: no such file, or -ESTALE: of another version of castoff. It
// is read, not mapped: who shrinks it meanwhile does no harm.
int co_live_counters_read(int file, struct co_live_counters *out);

#endif
