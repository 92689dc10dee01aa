# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The real trace that M20 and M23 are about, AMG on 27 ranks. It is not part of the project: CASTOFF_TEST_TRACES names
# the folder with df_AMG_n27_dumpi.tar.gz (github codes-org/codes-files, tests); else it is looked for in build/traces.
# Sourced after figure.sh, `what` and `reach`.
trace=${CASTOFF_TEST_TRACES:-$top/build/traces}/df_AMG_n27_dumpi.tar.gz
[ -r "$trace" ] || give_up "$what" "$reach" "no trace here: CASTOFF_TEST_TRACES names its folder"
# shellcheck disable=SC2034 # for row
commands="castoff trace --no-cache --bins 1,16,32,64,128,256 df_AMG_n27_dumpi.tar.gz"
