// SPDX-License-Identifier: BSD-3-Clause
//
// The rank of this process as its launcher tells it, for who has to say something once for a job and cannot ask MPI:
// before MPI_Init, or of an MPI that castoff does not know. Start only.
#ifndef CASTOFF_BASE_LAUNCHED_RANK_H
#define CASTOFF_BASE_LAUNCHED_RANK_H

// -1: no launcher that is known tells it.
int co_launched_rank(void);

#endif
