#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The man pages: castoff(7) has the settings of the program; castoff(1) has each heading once, and below a command's
# heading, or on that command's own page, stand the options that its -h prints, no more and no fewer; man reads all without a
# warning. Called by tests/run_all.sh.
. "$(dirname "$0")/check.sh"

page=$top/docs/man/castoff.1

{ cat "$top/docs/man/castoff.7.head"; "$castoff" info --man; cat "$top/docs/man/castoff.7.tail"; } >"$work/castoff.7"
ok "castoff(7) has the settings of the program (make man)" cmp "$work/castoff.7" "$top/docs/man/castoff.7"

# Headings that come twice: parts of the page that a merge has left behind.
grep '^\.S[HS] ' "$page" | sort | uniq -d >"$work/out"
ok "castoff(1): each heading once" [ ! -s "$work/out" ]

# Long options in the text of standard input, one a line.
options() {
    grep -o -e '--[a-z][a-z-]*' | sort -u
}

commands=$("$castoff" -h | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')
ok "castoff -h lists commands" [ "$(echo "$commands" | wc -l)" -ge 6 ]
for command in $commands; do
    "$castoff" "$command" -h | options >"$work/said"
    own=$top/docs/man/castoff-$command.1
    if [ -e "$own" ]; then
        sed 's/\\f[A-Z]//g; s/\\-/-/g' "$own" | options >"$work/written"
    else
        sed 's/\\f[A-Z]//g; s/\\-/-/g' "$page" | awk -v name="castoff $command" '
            /^\.S[HS] / { inside = $0 == ".SS " name; next }
            inside { print }' | options >"$work/written"
    fi
    ok "castoff(1): castoff $command has a heading" grep -q "^.SS castoff $command\$" "$page"
    comm -3 "$work/said" "$work/written" >"$work/out" # the second column: on the page alone
    ok "castoff(1) and castoff $command -h have the same options" [ ! -s "$work/out" ]
    ok "castoff(1): castoff $command is in the synopsis" grep -q "^.fBcastoff $command.fR " "$page"
done

if command -v man >/dev/null; then
    for name in castoff.1 castoff-info.1 castoff.7; do
        run env MANROFFSEQ= man --warnings -E UTF-8 -l -Tutf8 -Z "$top/docs/man/$name"
        ok "$name: no warnings" err_is_empty
    done
else
    skip "man pages" "no man; the package man-db has it"
fi
finish
