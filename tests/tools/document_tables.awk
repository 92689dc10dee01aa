# SPDX-License-Identifier: BSD-3-Clause
#
# Of each source that a table of a document names, "listed PATH", or "lost DOCUMENT: NAME" where it is not where the line
# says: in the folder of the path before it in the line, else in one of `folders`. Called by documents_test.sh with a file
# that names all sources, one a line, and the `document`.
NR == FNR {
    name = $0
    sub(/.*\//, "", name)
    path_of[name] = $0
    exists[$0] = 1
    next
}
function is_in(path, folders,    list, count, i) {
    count = split(folders, list, " ")
    for (i = 1; i <= count; i++) {
        if (index(path, list[i] "/") == 1) {
            return 1
        }
    }
    return 0
}
function with_folder(path,    list, count, i) {
    count = split("src " folders, list, " ")
    for (i = 1; i <= count && !(path in exists); i++) {
        if (list[i] "/" path in exists) {
            path = list[i] "/" path
        }
    }
    return path
}
/^\|/ {
    count = split($0, piece, "`")
    where = folders # of this line: where the path before stood
    for (i = 2; i <= count; i += 2) {
        if (piece[i] ~ /^(src|tools)\/[a-z0-9_\/]+$/) {
            where = piece[i]
        } else if (piece[i] ~ /^[a-z0-9_]+\.[ch]$/) {
            path = path_of[piece[i]]
            print is_in(path, where) ? "listed " path : "lost " document ": no " piece[i] " in " where
        } else if (piece[i] ~ /^[a-z0-9_\/]+\.[ch]$/) {
            path = with_folder(piece[i])
            print path in exists ? "listed " path : "lost " document ": no " piece[i]
            where = path
            sub(/\/[^\/]*$/, "", where)
        }
    }
}
