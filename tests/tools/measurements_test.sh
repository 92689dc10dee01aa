#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/all.sh, with stand-ins for the figures: it writes docs/measurements.md when it has every row, and never leaves
# out rows that are there already.
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
ok "some figures: said" err_has 'stays as it is, for here are no rows of M1 M2 .* M12 M14 .* M28;'
run "$tree/bench/all.sh" "$tree/build"
ok "all figures: status 0" status_is 0
ok "all figures: the file has all rows" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]
echo "earlier rows" >"$tree/docs/measurements.md"
run "$tree/bench/all.sh" "$tree/build" M13
ok "some figures beside the rows of an earlier run" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]

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
