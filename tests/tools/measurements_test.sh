#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/all.sh, with stand-ins for the figures: it writes docs/measurements.md when it has every row, never leaves out rows
# that are there already, and keeps every run; bench/put_runs.py judges by all runs kept.
. "$(dirname "$0")/check.sh"

tree=$work/tree
mkdir -p "$tree/bench/figures" "$tree/docs" "$tree/build"
cp "$top/bench/all.sh" "$tree/bench"
printf '#!/bin/sh\ncat "$1"/*.row\n' >"$tree/bench/write_measurements.sh"
for figure in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 21; do
    printf '#!/bin/sh\necho "row M%s"\n' $figure >"$tree/bench/figures/M$figure.sh"
done
chmod +x "$tree"/bench/*.sh "$tree"/bench/figures/*.sh
echo "earlier rows" >"$tree/docs/measurements.md"

run "$tree/bench/all.sh" "$tree/build" M13
ok "some figures: status 0" status_is 0
ok "some figures: the file stays" grep -qx 'earlier rows' "$tree/docs/measurements.md"
ok "some figures: said" err_has 'stays as it is, for here are no rows of M1 M2 .* M12 M14 .* M51;'
run "$tree/bench/all.sh" "$tree/build"
ok "all figures: status 0" status_is 0
ok "all figures: the file has all rows" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]
echo "earlier rows" >"$tree/docs/measurements.md"
run "$tree/bench/all.sh" "$tree/build" M13
ok "some figures beside the rows of an earlier run" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]

# Over another MPI: the figures that there are, which say so, and no table.
mkdir "$work/path"
printf '#!/bin/sh\necho "mpirun (Open MPI) 5.0.7"\n' >"$work/path/mpirun"
printf '#!/bin/sh\nprintf "MPICH Version:\\t4.0.2\\n"\n' >"$work/path/mpichversion"
printf '#!/bin/sh\nprintf "M1\\twhat\\tstock\\t$FIGURES_FAMILY\\t<= 5\\treached\\tcommand\\n"\n' >"$tree/bench/figures/M1.sh"
chmod +x "$work/path"/*
rm -f "$tree/bench/runs.tsv"
echo "earlier rows" >"$tree/docs/measurements.md"
run env FAMILY=mpich PATH="$work/path:$PATH" "$tree/bench/all.sh" "$tree/build" M1
run env PATH="$work/path:$PATH" "$tree/bench/all.sh" "$tree/build" M1
ok "another MPI: the runs say which" [ "$(cut -f 4- "$tree/bench/runs.tsv" | tr '\t\n' '/;')" = \
    "M1 MPICH 4.0.2/reached/mpich/<= 5;M1 Open MPI 5.0.7/reached//<= 5;" ]
ok "another MPI: rows in a folder of its own" [ -s "$tree/build/figures-MPICH-4.0.2/M1.row" ]
ok "another MPI: the file stays" grep -qx 'earlier rows' "$tree/docs/measurements.md"
run env FAMILY=mpich PATH="$work/path:$PATH" "$tree/bench/all.sh" "$tree/build" M2
ok "another MPI: a figure that there is not" status_is 2
run env FAMILY=lam "$tree/bench/all.sh" "$tree/build" M1
ok "another MPI: one that is none" err_has 'FAMILY=lam is not mpich'
printf '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n' >"$work/path/mpirun"
PATH=$work/path:$PATH

# Runs that were measured stay, whatever they found; one that was not measured is none.
printf '#!/bin/sh\nprintf "M1\\twhat\\tstock\\t7 ms\\t<= 5\\tnot reached\\tcommand\\n"\n' >"$tree/bench/figures/M1.sh"
printf '#!/bin/sh\nprintf "M2\\twhat\\tstock\\tno laboratory\\t<= 5\\tnot measured\\tcommand\\n"\n' >"$tree/bench/figures/M2.sh"
rm -f "$tree/bench/runs.tsv"
run "$tree/bench/all.sh" "$tree/build" M1 M2
run "$tree/bench/all.sh" "$tree/build" M1
ok "every run is kept" [ "$(cut -f 4- "$tree/bench/runs.tsv" | tr '\t\n' '/;')" = "M1/not reached/7 ms/<= 5;M1/not reached/7 ms/<= 5;" ]
ok "with its date" [ "$(cut -f 1 "$tree/bench/runs.tsv" | grep -cE '^[0-9]{4}-[0-9]{2}-[0-9]{2}$')" -eq 2 ]

# M3: nine of the last ten; M4: eight; M5: the only one of the criterion of today missed it; M6: none kept.
cp "$top/bench/put_runs.py" "$tree/bench"
echo "M4 at the edge" >"$tree/bench/reasons.txt"
runs() { # figure verdict value criterion
    printf '2026-01-01\tabc\tmachine\t%s\t%s\t%s\t%s\n' "$@"
}
{
    echo "# a line of words"
    runs M3 "not reached" "9 ms" "<= 5 ms"
    for turn in 1 2 3 4 5 6 7 8 9; do
        runs M3 reached "$turn ms (1)" "<= 5 ms"
        [ "$turn" -lt 9 ] && runs M4 reached "-0.$turn ms; 3" "<= 5 ms"
    done
    runs M3 "not reached" "11 ms" "<= 5 ms (in words)"
    runs M4 "not reached" "2.0 ms; 3" "<= 5 ms" && runs M4 "not reached" "2.5 ms; 3" "<= 5 ms"
    runs M5 reached "1 ms" "<= 50 ms" && runs M5 "not reached" "6 ms" "<= 5 ms"
    runs "M8 MPICH 4.2.1" reached "3 ms" "<= 5 ms" && runs "M8 MPICH 4.2.1" "not reached" "8 ms" "<= 5 ms"
    runs M8 "not reached" "6 ms" "<= 5 ms" && runs M8 reached "5 ms" "<= 5 ms" | sed 's/machine/another/'
} >"$tree/bench/runs.tsv"
cat >"$work/table.md" <<'TEXT'
| figure | what | stock | castoff | to reach | |
| --- | --- | --- | --- | --- | --- |
| M3 | three | 1 | 11 ms | <= 5 ms (today's words) | **not reached** |
| M4 | four | 1 | 2.5 ms; 3 | <= 5 ms | **not reached** |
| M5 | five | 1 | 6 ms | <= 5 ms | reached |
| M6 | six | 1 | 2 ms | <= 5 ms | reached |
| M7 | seven | 1 | no laboratory | <= 5 ms | **not measured** |
| M8 | eight | 1 | 5 ms | <= 5 ms | reached |

## Not reached

- M3: of old

## Commands

- M3: `three`
TEXT
judged() { # figure: the last two cells
    awk -F ' [|] ' -v figure="| $1" '$1 == figure { sub(/ [|]$/, "", $7); print $6 " = " $7 }' "$work/judged.md"
}
python3 -S "$tree/bench/put_runs.py" <"$work/table.md" >"$work/judged.md"
ok "nine of the last ten: reached" [ "$(judged M3)" = "9 of 10; 1 to 11 ms (machine) = reached" ]
ok "eight of the last ten: not reached" [ "$(judged M4)" = "8 of 10; -0.8 to 2.5 ms; 3 (machine) = **not reached**" ]
ok "a run by another criterion does not count" [ "$(judged M5)" = "0 of 1 (machine) = **not reached**" ]
ok "the processors are named" [ "$(judged M8)" = "1 of 2; 5 to 6 ms (machine; another) = **not reached**" ]
ok "no run kept: as it was measured" [ "$(judged M6)" = "none kept = reached" ]
ok "not measured stays so" [ "$(judged M7)" = "none kept = **not measured**" ]
ok "what is not reached, with reasons" [ "$(sed -n '/^## Not/,/^## Com/s/^- //p' "$work/judged.md" | tr '\n' ';')" = \
    "M4: at the edge;M5: no reason found yet;M7: no reason found yet;M8: no reason found yet;" ]
ok "over another MPI: a table of its own, the last run" [ "$(sed -n '/^## Over/,/^## Not/s/^| M//p' "$work/judged.md")" = \
    "8 MPICH 4.2.1 | 8 ms | <= 5 ms | **not reached** | 2026-01-01, abc, machine |" ]
python3 -S "$tree/bench/put_runs.py" <"$work/judged.md" >"$work/again.md"
ok "a second time nothing changes" cmp "$work/judged.md" "$work/again.md"
python3 -S "$top/bench/put_runs.py" <"$top/docs/measurements.md" >"$work/again.md"
ok "docs/measurements.md says what the runs kept say" cmp "$top/docs/measurements.md" "$work/again.md"

# One figure into a file that is there: in its place in the order of numbers, and once.
mkdir "$work/one"
cat >"$work/docs.md" <<'TEXT'
# Measurements

- Date: of old

| figure | what | stock | castoff | to reach | |
| --- | --- | --- | --- | --- | --- |
| M9 | nine | 1 | 2 | 3 | reached |
| M20 | twenty | 1 | 2 | 3 | **not reached** |

## Not reached

- M20: why

## Commands

- M9: `nine`
- M20: `twenty`

## Tables

### M9

```
nine
```

### M20-b

```
twenty
```
TEXT
put() { # verdict table
    printf 'M19\tnineteen\ts\tc\tr\t%s\tcommand\n' "$1" >"$work/one/M19.row"
    echo "$2" >"$work/one/M19.txt"
    cp "$work/docs.md" "$work/before.md"
    run bash "$top/bench/put_figure.sh" "$work/one" M19 "$work/docs.md"
}
without() { # as it was but for the figure
    awk '/^### / { mine = /M19/ } !mine && !/^\| M19/ && !/^- M19/' "$1" | grep -v '^$'
}
lines() { grep -oE '^(\| |- |### )M[0-9]+' "$work/docs.md" | tr -d '|# -' | tr '\n' ' '; }
put "not reached" "table of old"
ok "a figure comes in: status 0" status_is 0
ok "a figure comes in: in its places" [ "$(lines)" = "M9 M19 M20 M19 M20 M9 M19 M20 M9 M19 M20 " ]
without "$work/before.md" >"$work/a"
without "$work/docs.md" >"$work/b"
ok "a figure comes in: all else stays" cmp "$work/a" "$work/b"
put reached "table of now"
ok "a figure comes again: once, and reached" [ "$(lines)" = "M9 M19 M20 M20 M9 M19 M20 M9 M19 M20 " ]
ok "a figure comes again: its table is new" [ "$(grep -c '^table of' "$work/docs.md")" -eq 1 ]
cp "$work/docs.md" "$work/third.md"
put reached "table of now"
ok "a third time nothing changes" cmp "$work/docs.md" "$work/third.md"
finish
