#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs that compute while they communicate, for figures M38 to M40 (bench/fft3d.c, bench/panel_lu.c): what they work
# out is right natively, by messages, with tests in the computation, with worker threads, and by proxies, attached and
# staged; these have carried it; and a wrong number does not pass. In this test each rank is a node.
. "$(dirname "$0")/check.sh"

command -v mpirun >/dev/null || { skip "programs that compute" "no mpirun"; finish; }
make -s -C "$top" lib tools || exit 1
export CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_PROBE=20s

job() { # ranks, program and its arguments
    ranks=$1 program=$2
    shift 2
    run mpirun -n "$ranks" --mca mpi_yield_when_idle 1 "$build/bench/$program" "$@"
}

served() { # settings, ranks, program and its arguments: its report is in $work/report.json
    settings=$1 ranks=$2 program=$3
    shift 3
    rm -f "$work/report.json"
    # shellcheck disable=SC2086 # words
    run mpirun -n "$ranks" --mca mpi_yield_when_idle 1 env $settings CASTOFF_REPORT="$work/report.json" \
        "$build/castoff" run -- "$build/bench/$program" "$@"
}

report_has() { # expression over calls and counters
    python3 -S - "$work/report.json" "$1" <<'END'
import json
import sys
with open(sys.argv[1], encoding="utf-8") as text:
    report = json.load(text)
have = {"calls": report["calls"], "counters": report["counters"]}
if not eval(sys.argv[2], have):
    print(report["calls"], {name: value for name, value in report["counters"].items() if name.startswith("proxy")})
    sys.exit(1)
END
}

is_right() { status_is 0 && out_has "^$1: ranks $2 "; }

for ranks in 1 2 4; do
    job $ranks fft3d 16 3
    ok "transforms of $ranks ranks" is_right fft3d $ranks
    job $ranks panel_lu 96 8
    ok "decomposition by $ranks ranks" is_right panel_lu $ranks
done
job 3 panel_lu 80 16
ok "decomposition by 3 ranks, not a panel for each" is_right panel_lu 3
job 2 fft3d --test 1 32 2
ok "transforms with tests" is_right fft3d 2
job 4 fft3d --by messages --test 1 32 2
ok "transforms by messages with tests" is_right fft3d 4
job 4 panel_lu --test 1 160 16
ok "decomposition with tests" is_right panel_lu 4
job 4 panel_lu --by ring 160 16
ok "decomposition, panels in a ring" is_right panel_lu 4
job 4 panel_lu --by ring --test 1 160 16
ok "decomposition, panels in a ring with tests" is_right panel_lu 4

# Two fields there and back in each of three rounds and in the check; a broadcast for each of six panels.
for lend in attach stage; do
    served "CASTOFF_PROXY=yes CASTOFF_IALLTOALL=yes CASTOFF_PROXY_LEND=$lend" 4 fft3d 16 3
    ok "transforms by proxies, $lend" is_right fft3d 4
    ok "transforms by proxies, $lend: these have carried them" report_has \
        "calls['MPI_Ialltoall']['taken'] == 4 * 16 and counters['proxy_calls'] >= 4 * 16"
    served "CASTOFF_PROXY=yes CASTOFF_IBCAST=proxy CASTOFF_PROXY_LEND=$lend" 4 panel_lu 192 32
    ok "decomposition by proxies, $lend" is_right panel_lu 4
    ok "decomposition by proxies, $lend: these have carried it" report_has \
        "calls['MPI_Ibcast']['taken'] == 4 * 6 and counters['proxy_calls'] >= 4 * 6"
done
served "CASTOFF_PROXY=no CASTOFF_PROGRESS=threads CASTOFF_IBCAST=yes" 4 panel_lu 192 32
ok "decomposition with worker threads" is_right panel_lu 4
ok "decomposition with worker threads: they have carried it" report_has \
    "calls['MPI_Ibcast']['taken'] == 4 * 6 and counters['proxy_calls'] == 0"
served "CASTOFF_PROXY=no CASTOFF_PROGRESS=threads CASTOFF_P2P=yes" 4 fft3d --by messages 16 3
ok "transforms by messages with worker threads" is_right fft3d 4
ok "transforms by messages with worker threads: castoff has carried them" report_has \
    "calls['MPI_Isend']['taken'] == 4 * 3 * 16"

${MPICC:-mpicc} -std=gnu17 -O1 -shared -fPIC -o "$work/wrong.so" "$top/tests/tools/wrong_numbers.c" || exit 1
for line in "fft3d 16 3" "fft3d --by messages 16 3" "panel_lu 96 8" "panel_lu --by ring 96 8"; do
    # shellcheck disable=SC2086 # words
    run mpirun -n 2 --mca mpi_yield_when_idle 1 env LD_PRELOAD="$work/wrong.so" "$build/bench/"$line
    ok "$line: a wrong number does not pass" status_is 1
    ok "$line: it is told" err_has ': the numbers are wrong by\|: the residual is'
done

for line in "fft3d" "fft3d 12 3" "fft3d 16 0" "fft3d --by ring 16 3" "panel_lu 96" "panel_lu 96 12" "panel_lu 90 8" \
    "panel_lu --by messages 96 8"; do
    # shellcheck disable=SC2086 # words
    run mpirun -n 1 "$build/bench/"$line
    ok "$line: not as the usage has it" status_is 2
    ok "$line: told" err_has "^usage: ${line%% *} "
done
finish
