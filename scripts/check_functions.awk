# SPDX-License-Identifier: BSD-3-Clause
#
# Names functions of 60 lines or more, C and shell, files of 400 lines or more, and headers of more than 250 where parts
# share structs. Relies on the layout that
# clang-format enforces: a C function's braces stand alone at the beginning of a line. Status 1 if any.
function begin(label) {
    start = FNR
    name = label
}
function end() {
    if (start && FNR - start + 1 >= 60) {
        printf "%s:%d: %s has %d lines; fewer than 60 are allowed\n", FILENAME, start, name, FNR - start + 1
        found = 1
    }
    start = 0
}
function close_file() {
    if (lines >= 400) {
        printf "%s: %d lines; fewer than 400 are allowed\n", file, lines
        found = 1
    }
    if (lines > 250 && file ~ /^src\/(mcast|p2p|engine)\/.*\.h$/) {
        printf "%s: %d lines; at most 250 are allowed in a header\n", file, lines
        found = 1
    }
}
FNR == 1 { close_file(); file = FILENAME; start = 0; last = "" }
{ lines = FNR }
/^\{/ { begin(last) }
/^[a-z_]+\(\) *\{/ { begin($1) }
/^\}/ { end() }
/^[A-Za-z_].*\(/ { last = $0; sub(/\(.*/, "", last); sub(/.*[ *]/, "", last) }
END { close_file(); exit found }
