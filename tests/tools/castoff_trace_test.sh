#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff trace on applications made here: verdict, JSON, tables, plots, compare, cache, and bad input, each with file,
# place and cause. M20 on the real trace of AMG, where CASTOFF_TEST_TRACES names the folder of
# df_AMG_n27_dumpi.tar.gz (github codes-org/codes-files, tests).
. "$(dirname "$0")/check.sh"

. "$(dirname "$0")/trace_applications.sh"

application "$work/app" 40
run "$castoff" trace --bins 1,64 --lanes 1,16 --json "$work/json" --csv "$work/csv" "$work/app"
ok "an application" status_is 0
ok "nothing to complain about" err_is_empty
ok "verdict first" sh -c "head -n 1 '$work/out' | grep -q 'benefits from hashed matching: 64 bins'"
ok "depth" out_has '^ *1  *39.00  *39 '
ok "the pairing is checked" out_has 'pairing  *the same'
ok "JSON" grep -q '"avg": 39.0,' "$work/json"
ok "tables" [ "$(ls "$work/csv" | tr '\n' ' ')" = "calls.csv depth.csv matchers.csv moments.csv talk.csv " ]
ok "who sends to whom" grep -qx '0,1,40' "$work/csv/talk.csv"
ok "a cache is kept" [ -s "$work/app/.castoff-cache/app-0001.txt.events" ]
cp "$work/out" "$work/first"
run "$castoff" trace --bins 1,64 --lanes 1,16 "$work/app"
ok "the same from the cache" cmp -s "$work/first" "$work/out"
run "$castoff" trace --bins 1,64 --json - "$work/app"
ok "JSON alone on standard output" sh -c "head -n 1 '$work/out' | grep -qx '{'"
if command -v gnuplot >/dev/null; then
    run "$castoff" trace --plots "$work/plots" "$work/app"
    ok "plots" [ "$(ls "$work/plots" | tr '\n' ' ')" = "calls.png calls.svg depth.png depth.svg moments.png moments.svg talk.png talk.svg " ]
    ok "plots hold something" [ -z "$(find "$work/plots" -size -1k)" ]
else
    skip "plots" "no gnuplot"
fi
application "$work/other" 4
run "$castoff" trace compare --bins 1 "$work/app" "$work/other"
ok "compare" out_has '^receives  *40  *4  *0.10 x'
tar -C "$work" -czf "$work/app.tar.gz" other
run "$castoff" trace --no-cache --bins 1 "$work/app.tar.gz"
ok "an archive" out_has 'ranks  *2 of 2'

mkdir "$work/cut"
cp "$work/other/app-0000.txt" "$work/cut/"
head -c 500 "$work/other/app-0001.txt" >"$work/cut/app-0001.txt"
tar -C "$work" -czf "$work/cut.tar.gz" cut
run "$castoff" trace --no-cache --bins 1 "$work/cut.tar.gz"
ok "a file of an archive is named by its place there" err_has '^castoff trace: cut/app-0001.txt: at byte '

mkdir "$work/bad" "$work/none"
run "$castoff" trace "$work/none"
ok "no trace: status 1" status_is 1
ok "no trace: said" err_has 'none holds no trace'
run "$castoff" trace "$work/nowhere"
ok "nowhere: said" err_has 'nowhere: No such file'
cp "$work/app/app-0001.txt" "$work/bad/"
: >"$work/bad/app-0000.bin"
run "$castoff" trace --no-cache "$work/bad"
ok "an empty file: status 1" status_is 1
ok "an empty file: said" err_has 'app-0000.bin: it is empty; it is left out'
ok "a missing rank: said" err_has '1 of 2 ranks have no trace, the first of them rank 0'
ok "the rest is analyzed" out_has 'ranks  *1 of 2'
cp "$work/app/app-0000.txt" "$work/bad/again-0001.txt"
run "$castoff" trace --no-cache "$work/bad"
ok "two files of a rank: status 1" status_is 1
ok "two files of a rank: said" err_has 'app-0001.txt: it is of rank 1, and so is .*again-0001.txt; it is left out'
ok "two files of a rank: the rest is analyzed" out_has 'ranks  *1 of 2, 2 files could not be read, or do not belong'
rm "$work/bad"/*
head -c 3000 "$work/app/app-0000.txt" >"$work/bad/app-0000.txt"
cp "$work/app/app-0001.txt" "$work/bad/"
run "$castoff" trace --no-cache --bins 1 "$work/bad"
ok "a rank that ends early: status 0" status_is 0
ok "a rank that ends early: said" err_has 'app-0000.txt: at byte [0-9]*: it ends in the middle of a call'
ok "a rank that ends early: partial" out_has 'ranks  *2 of 2, 1 of them partial'

fresh() { # an application of two ranks in $work/bad
    rm -rf "$work/bad"
    application "$work/bad" 4
}
analyze_bad() {
    run env TMPDIR="$work/scratch" "$castoff" trace --no-cache --bins 1 "$work/bad"
}
mkdir "$work/scratch"
fresh
mv "$work/bad/app-0000.txt" "$work/bad/app-0002.txt"
call Comm_rank comm=2 rank=0 >>"$work/bad/app-0002.txt"
analyze_bad
ok "a name that lies: status 0" status_is 0
ok "a name that lies: said" err_has 'app-0002.txt: its name says rank 2, and MPI said rank 0; it is analyzed'
ok "a name that lies: MPI knows better" out_has 'ranks  *2 of 2, 1 of them partial'
fresh
call Comm_size comm=2 size=2 >>"$work/bad/app-0000.txt"
call Comm_size comm=2 size=3 >>"$work/bad/app-0001.txt"
analyze_bad
ok "another number of ranks: said" err_has 'app-0001.txt: it tells of 3 ranks, and rank 0 of 2'
fresh
call Wtime | sed 's/time 1/time 0/' >>"$work/bad/app-0000.txt"
analyze_bad
ok "calls in another order: said" err_has 'app-0000.txt: at byte [1-9][0-9]*: this call returned before the one in front of it'
ok "calls in another order: partial" out_has '1 of them partial'
fresh
rm "$work/bad/app-0000.txt"
cp "$top/tests/fuzz/corpus/analyze/dumpi" "$work/bad/app-0000.bin"
analyze_bad
ok "mixed formats: said" err_has 'app-0001.txt: its format is DUMPI text, and that of rank 0 is DUMPI; it is'
ok "mixed formats: all is analyzed" out_has 'ranks  *2 of 2, 2 of them partial'
rm "$work/bad"/*
cp "$top/tests/fuzz/corpus/analyze/dumpi" "$work/bad/app-0000.bin"
cp "$work/bad/app-0000.bin" "$work/bad/app-0001.bin"
# The number that MPI_Comm_rank told; and the version, behind the label that ends the calls.
rank=$(grep -obaF RO "$work/bad/app-0001.bin" | head -n 1 | cut -d : -f 1)
printf '\001' | dd of="$work/bad/app-0001.bin" bs=1 seek=$((rank + 33)) conv=notrunc 2>/dev/null
version=$(grep -obaP '\x01\x01\x00' "$work/bad/app-0001.bin" | tail -n 1 | cut -d : -f 1)
printf '\001\000\003' | dd of="$work/bad/app-0001.bin" bs=1 seek="$version" conv=notrunc 2>/dev/null
analyze_bad
ok "mixed versions: said" err_has 'app-0001.bin: its version is 1.0.3, and that of rank 0 is 1.1.0; it is analyzed'
fresh
printf 'IPMUD\335\252\377 and so on, as a machine of the other byte order would have written it' >"$work/bad/app-0001.txt"
mv "$work/bad/app-0001.txt" "$work/bad/app-0001.bin"
analyze_bad
ok "wrong byte order: status 1" status_is 1
ok "wrong byte order: said" err_has "app-0001.bin: its bytes stand in the other order than DUMPI's; it is left out"
ok "wrong byte order: the rest is analyzed" out_has 'ranks  *1 of 1, 1 files could not be read'
fresh
mv "$work/bad/app-0001.txt" "$work/bad/app-999999999.txt"
analyze_bad
ok "an enormous rank: status 1" status_is 1
ok "an enormous rank: said" err_has 'app-999999999.txt: rank 999999999 of .*: more than 1048576 ranks are not followed'
ok "nothing is left of files that were left out" [ -z "$(ls "$work/scratch")" ]
fresh
for rank in 0 1; do
    {
        call Comm_dup oldcomm=2 newcomm=4
        call Win_get_group win=3 group=3
        call Comm_create oldcomm=4 group=3 newcomm=5
        cat "$work/bad/app-000$rank.txt"
    } >"$work/more"
    mv "$work/more" "$work/bad/app-000$rank.txt"
done
run "$castoff" trace --no-cache --bins 1 --json "$work/json" "$work/bad"
ok "a communicator that cannot be followed: said" out_has 'partial: 2 times .* rank [01], MPI_Comm_create: the trace does not tell'
ok "a communicator that cannot be followed: JSON" grep -q '"communicators": 2,' "$work/json"
for wrong in 0 4097 1,x ""; do
    run "$castoff" trace --bins "$wrong" "$work/app"
    ok "--bins '$wrong': status 2" status_is 2
done
run "$castoff" trace --lanes 65 "$work/app"
ok "--lanes 65: said" err_has 'numbers from 1 to 64'

trace=${CASTOFF_TEST_TRACES:-$top/build/traces}/df_AMG_n27_dumpi.tar.gz
if [ -r "$trace" ]; then
    run "$castoff" trace --no-cache --bins 1,16,32,64,128,256 --csv "$work/amg" "$trace"
    ok "M20" [ "$(awk -F, 'NR > 1 { printf "%.2f/%d ", $2, $3 }' "$work/amg/depth.csv")" = "16.56/25 2.44/3 1.44/2 0.52/1 0.48/1 0.00/0 " ]
    ok "AMG: every receive got its message" grep -q '^1,1,1,15524,.*,0$' "$work/amg/matchers.csv"
else
    skip "M20" "no trace of AMG; CASTOFF_TEST_TRACES names its folder"
fi
finish
