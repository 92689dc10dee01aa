#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Figures of proxies (bench/figures/M29.sh and others), with stand-ins for castoff and the laboratory: none is reached where
# proxies carried nothing, where a size, a side or a rival is missing, or where numbers miss the mark.
. "$(dirname "$0")/check.sh"

tree=$work/tree
mkdir -p "$tree/bench" "$tree/tests/lab" "$tree/build"
cp -r "$top/bench/figures" "$tree/bench"
cat >"$tree/build/castoff" <<'SH'
#!/bin/sh
# bench ARGUMENT...: the table $TABLE; the report says $CALLS of proxies.
while [ $# -gt 0 ]; do
    case $1 in
    --csv) cp "$TABLE" "$2" ;;
    REPORT=*) echo "\"proxy_calls\": ${CALLS:-7}" >"${1#REPORT=}" ;;
    esac
    shift
done
SH
cat >"$tree/tests/lab/lab.sh" <<'SH'
#!/bin/sh
# OPTION... -- COMMAND...: the lines $PRINTED, of programs of that name alone.
case "$*" in
*" true" | *"/usr/bin/true") exit 0 ;;
*ports.sh*) echo "${PASSED:-150000000}"; exit 0 ;;
esac
all="$*"
while [ $# -gt 0 ]; do
    [ "$1" != --report ] || echo "\"proxy_calls\": ${CALLS:-7}" >"$2"
    shift
done
case $all in
*fft3d*) grep '^fft3d' "$PRINTED" ;;
*panel_lu*) grep '^panel_lu' "$PRINTED" ;;
*" cost "*) grep '^cost' "$PRINTED" ;;
*" total "*) grep '^total' "$PRINTED" ;;
*" warm "*) grep '^warm' "$PRINTED" ;;
esac
SH
# Figures measure with as many cores as there are; two hosts on two cores everywhere.
mkdir "$work/path"
printf '#!/bin/sh\necho 2\n' >"$work/path/nproc"
chmod +x "$tree/build/castoff" "$tree/tests/lab/lab.sh" "$work/path/nproc"
export PATH="$work/path:$PATH" FIGURES_BUILD="$tree/build" FIGURES_OUT="$work/figures"
export TABLE="$work/table.csv" PRINTED="$work/lines.txt"

figure() { # name
    rm -rf "$work/figures"
    run bash "$tree/bench/figures/$1.sh"
}
verdict_is() { # verdict: the row, and there is but one
    [ "$(wc -l <"$work/out")" -eq 1 ] && [ "$(cut -f 6 "$work/out")" = "$1" ]
}
why_is() {
    verdict_is "not measured" && [ "$(cut -f 4 "$work/out")" = "$1" ]
}


# Tables of castoff bench.
head_row="call,ranks,bytes,side,job,batch,samples,p50_us,p99_us,ratio,low,high,verdict,wrong,compared"
overlap_table() { # call percent size...
    call=$1 percent=$2
    shift 2
    echo "$head_row" >"$TABLE"
    for size in "$@"; do
        echo "overlap-$call,2,$size,stock,default,1,15,10.0,1.0,50.00,,,,0,1" >>"$TABLE"
        echo "overlap-$call,2,$size,castoff,default,1,15,10.0,1.0,$percent,,,,0,1" >>"$TABLE"
    done
}
time_table() { # call ranks size:us...
    call=$1 ranks=$2
    shift 2
    for point in "$@"; do
        echo "$call,$ranks,${point%:*},castoff,default,1,15,${point#*:},1.0,,,,,0,1" >>"$TABLE"
        echo "$call,$ranks,${point%:*},stock,default,1,15,${point#*:},1.0,1.0000,0.9,1.1,no difference,0,1" >>"$TABLE"
    done
}
all_to_all_table() {
    echo "$head_row" >"$TABLE"
    time_table ialltoall 8 65536:18400 262144:74000 "$@"
}

overlap_table ialltoall 99.00 65536 262144 1048576
figure M29
ok "M29 is reached" verdict_is reached
CALLS=0 figure M29
ok "M29: proxies carried nothing" why_is "proxies carried none of its calls"
overlap_table ialltoall 97.90 65536 262144 1048576
figure M29
ok "M29: not reached" verdict_is "not reached"
overlap_table ialltoall 99.00 65536 1048576
figure M29
ok "M29: a size is missing" why_is "a size is missing"
overlap_table ialltoall nan 65536 262144 1048576
figure M29
ok "M29: what is no number" why_is "a size is missing"

all_to_all_table 1048576:295000
figure M31
ok "M31 is reached" verdict_is reached
CALLS=0 figure M31
ok "M31: proxies carried nothing" why_is "proxies carried none of its calls"
PASSED=165000000 figure M31
ok "M31: too much passes the ports" verdict_is "not reached"
all_to_all_table
figure M31
ok "M31: without a size it is not reached" verdict_is "not reached"

overlap_table ibcast 99.00 1048576
time_table ibcast 8 1048576:45000
figure M36
ok "M36 is reached" verdict_is reached
CALLS=0 figure M36
ok "M36: proxies carried nothing" why_is "proxies carried none of its calls"
echo "$head_row" >"$TABLE"
time_table ibcast 8 1048576:45000
figure M36
ok "M36: no overlap" why_is "root 0: no overlap"

echo "warm: ranks 4 bytes 262144 first 1.1 second 1.0 third 1.0 in_turn 1.01 new 1.02 x" >"$PRINTED"
figure M33
ok "M33 is reached" verdict_is reached
echo "warm: ranks 4 bytes 262144 in_turn 1.01 new 1.02 x" >"$PRINTED"
figure M33
ok "M33: without its first calls it is not reached" verdict_is "not reached"

rivals() { # line...: what all sides print
    printf '%s total_us 100 x\n' "$@" >"$PRINTED"
    echo "cost: ranks 2 bytes 262144 pure_us 50 x" >>"$PRINTED"
}
printf '#!/bin/sh\nexit 1\n' >"$work/path/mpicc.mpich" # without MPICH
chmod +x "$work/path/mpicc.mpich"
rivals "fft3d: ranks 2" "panel_lu: ranks 2" "total: ranks 2 bytes 262144"
figure M40
ok "M40 is reached" verdict_is reached
ok "M40: by three rivals, two of an all-to-all" [ "$(cut -f 4 "$work/out" | sed 's/; on .*//')" = \
    "fft3d threads 1.000, tested 1.000, stock 1.000; panel_lu threads 1.000, tested 1.000, stock 1.000; total tested 1.000, stock 1.000" ]
CALLS=0 figure M40
ok "M40: proxies carried nothing" why_is "proxies, fft3d: proxies carried none of its calls"
sed -i 's/^panel_lu.*/panel_lu: ranks 2/' "$PRINTED"
figure M40
ok "M40: without rivals' times it is none" why_is "threads, panel_lu: no time"
rivals "panel_lu: ranks 4"
figure M39
ok "M39: no faster than others, it is not reached" verdict_is "not reached"
echo "panel_lu: ranks 4" >"$PRINTED"
figure M39
ok "M39: without times it is none" why_is "stock: no time"

finish
