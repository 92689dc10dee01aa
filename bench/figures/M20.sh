#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M20: the published depth of bins of a real trace, AMG on 27 ranks.
. "$(dirname "$0")/figure.sh"
what="trace of AMG, 27 ranks (df_AMG_n27_dumpi.tar.gz of codes-org/codes-files): depth average/max for 1, 16, 32, 64, 128, 256 bins"
reach="16.56/25, 2.44/3, 1.44/2, 0.52/1, 0.48/1, 0.00/0, exactly"
. "$(dirname "$0")/trace.sh"
(cd "$(dirname "$trace")" && # so that its name alone stands in the table
    "$castoff" trace --no-cache --bins 1,16,32,64,128,256 --csv "$out/M20" "${trace##*/}") >"$out/M20.txt" 2>"$out/M20.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M20.err")"
found=$(awk -F, 'NR > 1 { printf "%s%.2f/%d", (NR > 2 ? ", " : ""), $2, $3 }' "$out/M20/depth.csv")
wanted=${reach%, exactly}
row "$what" "published: $wanted" "$found" "$reach" "$([ "$found" = "$wanted" ] && echo reached || echo "not reached")"
