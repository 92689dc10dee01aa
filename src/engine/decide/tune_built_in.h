// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table of this release, in the form that `castoff bench --tune` writes, one string for each line. No include
// guard on purpose: it is the initialiser in tune_table.c and nothing else.
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
    "# From 2 KiB on the links carry 7/8 of it for stock and all of it for a collected one (M7-20).\n"
    "allgather hosts ranks 5-16 ranks_per_node 1 transport udp bytes 1537-12288 decline\n"
    "# The same with several ranks each (--lab-options '--ranks-per-host K'; hosts x ranks 2 x 2 five times, 4 x 2 and\n"
    "# 2 x 3 three times, 3 x 2 once; 2026-11-21, two cores that others used, too), against stock's default, which is\n"
    "# what a declined call gets: faster for the smallest broadcasts between two hosts of two, and as fast from 1 MiB on.\n"
    "bcast hosts ranks 3-4 ranks_per_node 2 transport udp bytes 1-256 decline\n"
    "bcast hosts ranks 3-4 ranks_per_node 2 transport udp bytes 786433- decline\n"
    "bcast hosts ranks 4-6 ranks_per_node 3 transport udp bytes 786433- decline\n"
