#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# put_figure.sh FOLDER FIGURE FILE: puts one figure (FOLDER/FIGURE.row, and its tables FOLDER/FIGURE.txt, FOLDER/FIGURE-*.txt) into FILE, which
# bench/write_measurements.sh has written, in the place of what stands there for it, and leaves all else. For figures
# that do not depend on the machine of the day.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?usage: put_figure.sh FOLDER FIGURE FILE} figure=$2 file=$3
new=$(mktemp -d "${TMPDIR:-/tmp}/castoff-put.XXXXXX") || exit 1
trap 'rm -rf "$new"' EXIT

# The same writer, for this figure alone.
mkdir "$new/one" && cp "$folder/$figure.row" "$new/one" || exit 1
for table in "$folder/$figure.txt" "$folder/$figure"-*.txt "$folder/$figure.rivals"; do
    [ ! -s "$table" ] || cp "$table" "$new/one"
done
FIGURES_BUILD=${FIGURES_BUILD:-$top/build} "$top/bench/write_measurements.sh" "$new/one" >"$new/alone" || exit 1

# Both files by sections; of each, the figure's lines are those of `alone`, in the order of numbers.
awk -v figure="$figure" '
    function number(name) { return substr(name, 2) + 0 }
    function of(line) { # the figure that a line of a section is about
        if (match(line, /^\| M[0-9]+ \|/) || match(line, /^- M[0-9]+:/) || match(line, /^### M[0-9]+/)) {
            match(line, /M[0-9]+/)
            return substr(line, RSTART, RLENGTH)
        }
        return ""
    }
    function put(section, is_end) {
        if (!done[section] && mine[section] != "") { # tables stand apart
            space = section == "## Tables" ? "\n" : ""
            printf "%s%s%s", is_end ? space : "", mine[section], is_end ? "" : space
            done[section] = 1
        }
    }
    /^## / || FNR == 1 { section = FNR == 1 ? "" : $0; table = "" }
    FNR == 1 { seen = "none" }
    { about = of($0); if (section == "## Tables") { if (/^### /) { table = about } about = table } }
    FILENAME == ARGV[1] {
        if (about == figure) {
            mine[section] = mine[section] $0 "\n"
        }
        next
    }
    before != section && !(before == "") { put(before) }
    about == figure { before = section; next }
    about != "" && number(about) > number(figure) { put(section) }
    /^$/ && seen == section && section != "## Tables" { put(section) }
    { print; before = section; if (about != "") { seen = section } }
    END { put(section, 1) }
' "$new/alone" "$file" >"$new/file" && cp "$new/file" "$file"
