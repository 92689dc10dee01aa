// SPDX-License-Identifier: BSD-3-Clause
//
// The engine inside native MPI's own progress loop, and native's progress from ours: whoever blocks in a native call
// moves castoff, and whoever waits for castoff moves native.
#ifndef CASTOFF_PMPI_LIFE_PROGRESS_HOOK_H
#define CASTOFF_PMPI_LIFE_PROGRESS_HOOK_H

void co_progress_hook_add(void);
void co_progress_hook_remove(void);

// Native gives up a crowded processor in each turn that moves nothing.
// A turn of who waits, and gives up the processor by himself: native keeps it.
void co_progress_native(void);
// The end of a look in vain. Native keeps the processor if something of ours has moved since this thread's last one:
// where messages come, more of them do, and another look takes less than a switch to another process.
void co_progress_native_in_vain(void);

#endif
