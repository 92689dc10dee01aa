// SPDX-License-Identifier: BSD-3-Clause
// iallgather_mixed_any.c with all-to-alls in place of its allgathers: by proxies, while the broadcasts beside them are
// the engine's and the rest is native's.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: as there
// taken: MPI_Ialltoall MPI_Ialltoallv MPI_Ibcast
#include "iallgather_mixed_any.c"

__attribute__((constructor)) static void use_exchanges(void)
{
    co_mixture_exchanges = true;
}
