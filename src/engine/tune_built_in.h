// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table of this release, as `castoff bench --tune` writes it, one string for each line. No include guard
// on purpose: it is the initialiser in tune_table.c and nothing else.
//
"# One node of two cores, against the best of stock (docs/measurements.md, M12): where stock was or may be faster.\n"
    "# With 2 ranks its component sm is, for broadcasts from 4 MiB on, but it is not its default, which is slower.\n"
    "bcast node ranks 5-1024 transport shm bytes 4194305- decline\n"
    "allgather node ranks 3-1024 transport shm bytes 8388609- decline\n"
    "# Hosts at 200 Mbit/s links, one rank each (castoff bench --lab 2, 3, 4, 8): two gain nothing by multicast.\n"
    "bcast hosts ranks 2-2 ranks_per_node 1 transport udp bytes 1- decline\n"
    "bcast hosts ranks 3-3 ranks_per_node 1 transport udp bytes 1-256 decline\n"
    "allgather hosts ranks 2-2 ranks_per_node 1 transport udp bytes 8193- decline\n"
    "allgather hosts ranks 3-4 ranks_per_node 1 transport udp bytes 12289-49152 decline\n"
    "allgather hosts ranks 5-16 ranks_per_node 1 transport udp bytes 3073-12288 decline\n"
