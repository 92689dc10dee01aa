// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts between hosts of two ranks each whose root gives so few bytes that the table leaves them to native, where
// the others have room for so many that it does not. Who waits for the root in memory follows it, and tells those who
// wait for it over the network.
// ranks: 4 3
// expect: the bytes of the root, and not one more
// environment: CASTOFF_NODE_RANKS=2 CASTOFF_UDP_INTERFACE=lo CASTOFF_BCAST=auto
// report: "unequal_lengths" in calls["MPI_Bcast"]["declined"]
#define AHEAD 10 // less than slots in memory
#include "bcast_unequal_sides.c"
