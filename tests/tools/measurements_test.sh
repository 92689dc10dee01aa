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
ok "some figures: said" err_has 'stays as it is, for here are no rows of M1 M2 .* M12 M14 .* M25;'
run "$tree/bench/all.sh" "$tree/build"
ok "all figures: status 0" status_is 0
ok "all figures: the file has all rows" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]
echo "earlier rows" >"$tree/docs/measurements.md"
run "$tree/bench/all.sh" "$tree/build" M13
ok "some figures beside the rows of an earlier run" [ "$(grep -c '^row M' "$tree/docs/measurements.md")" -eq 15 ]
finish
