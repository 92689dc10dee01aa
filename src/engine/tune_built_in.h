// SPDX-License-Identifier: BSD-3-Clause
//
// The tune table of this release, as `castoff bench --tune` writes it, one string for each line. No include guard
// on purpose: it is the initialiser in tune_table.c and nothing else.
//
"# Nothing is known yet to be faster in stock MPI.\n"
