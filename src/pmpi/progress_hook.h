// SPDX-License-Identifier: BSD-3-Clause
//
// The engine inside native MPI's own progress loop: whoever blocks in a native call moves castoff, too. Start and end.
#ifndef CASTOFF_PMPI_PROGRESS_HOOK_H
#define CASTOFF_PMPI_PROGRESS_HOOK_H

void co_progress_hook_add(void);
void co_progress_hook_remove(void);

#endif
