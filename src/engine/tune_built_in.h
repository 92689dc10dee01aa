// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table of this release, as `castoff bench --tune` writes it, one string for each line. No include guard
// on purpose: it is the initialiser in tune_table.c and nothing else.
//
"# One node of two cores, against the best of stock (docs/measurements.md, M12): where stock was or may be faster.\n"
    "bcast node ranks 5-1024 bytes 4194305- decline\n"
    "allgather node ranks 3-1024 bytes 8388609- decline\n"
