#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The rules of the code that a machine can check, one line each, and "N passed, N failed, N skipped" at the end.
# Called by `make check-style`; run in the top folder. Arguments choose checks by name; without any, all run.
set -u -o pipefail

scripts=$(dirname "$0")
cd "$scripts/.." || exit 2
scripts=scripts
log=$(mktemp "${TMPDIR:-/tmp}/castoff-style.XXXXXX") || exit 1
trap 'rm -f "$log" "$log.code" "$log.large"' EXIT

# Files of the project that exist, ignored ones and data left out; without git, all but build folders.
all_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -co --exclude-standard
    else
        find . -path './build*' -prune -o -type f -print | sed 's|^\./||'
    fi | while IFS= read -r file; do
        [ -f "$file" ] && [[ $file != */corpus/* ]] && echo "$file"
    done
}

mapfile -t files < <(all_files | sort)
matching() {
    printf '%s\n' "${files[@]}" | grep -E "$1"
}
mapfile -t c_files < <(matching '\.[ch]$')
mapfile -t src_c < <(matching '^src/.*\.[ch]$')
mapfile -t src_headers < <(matching '^(src|tools)/.*\.h$')
mapfile -t scripts_and_code < <(matching '\.(c|h|cpp|f90|py|sh|bash|mk|awk|pl|map|[137]|in|gp|plt|supp)$|(^|/)Makefile$|^\.ci/run$|^env\.example$')
perl scripts/code_only.pl "${c_files[@]}" >"$log.code"

check_format() {
    command -v clang-format >/dev/null || { echo "clang-format is not installed"; return 77; }
    # `make format` lays out what is named here.
    clang-format --dry-run -Werror "${c_files[@]}" 2>&1 | awk -F: '
        /(error|warning):/ && $1 != file { print $1 ":" $2 ": make format lays it out"; file = $1; found = 1 }
        END { exit found }'
    [ "${PIPESTATUS[*]}" = "0 0" ]
}

check_licence() {
    local file status=0
    for file in "${scripts_and_code[@]}"; do
        if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'; then
            echo "$file: the first line must be // SPDX-License-Identifier: BSD-3-Clause"
            status=1
        fi
    done
    return "$status"
}

check_names() {
    ! matching '(^|/)[^/]*(utils?|helpers?|common|misc)(_[^/]*)?\.(c|h|sh|mk)$'
}

check_length() {
    awk -f scripts/check_functions.awk "${scripts_and_code[@]}"
}

check_leftovers() {
    ! grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "${scripts_and_code[@]}" | grep -v '^scripts/check_style\.sh:'
}

check_layers() {
    bash scripts/check_layers.sh "${c_files[@]}"
}

check_folders() {
    bash scripts/check_folders.sh "${files[@]}"
}

check_units() {
    perl scripts/check_unit_includes.pl "${files[@]}"
}

check_knots() {
    perl scripts/count_knots.pl <"$log.code"
}

check_externals() {
    perl scripts/count_externals.pl <"$log.code"
}

check_words() {
    perl scripts/check_words.pl <"$log.code"
}

check_prefixes() {
    perl scripts/check_prefixes.pl <"$log.code"
}

check_labels() {
    perl scripts/check_labels.pl "${src_c[@]}"
}

check_doors() {
    bash scripts/check_doors.sh <"$log.code"
}

check_braces() {
    perl scripts/check_braces.pl <"$log.code"
}

check_headers() {
    bash scripts/check_headers.sh "${src_headers[@]}"
}

check_exports() {
    local library status
    for library in build/libcastoff.so build/libcastoff-record.so; do
        bash scripts/check_exports.sh "$library" || { status=$?; [ "$status" != 77 ] || echo "not built yet"; return "$status"; }
    done
}

# Two screens for who comes; a document that is read from its beginning, but for tables and formats, in one sitting.
check_documents() {
    find README.md -size +10240c -printf '%p: %s bytes, at most 10240\n' >"$log.large"
    find docs -name '*.md' ! -name measurements.md ! -name columns.md ! -name settings.md ! -name wire-format.md -size +25600c \
        -printf '%p: %s bytes, at most 25600\n' >>"$log.large"
    local settings
    settings=$(grep -c '^| `CASTOFF_' README.md 2>/dev/null)
    [ "${settings:-0}" -le 18 ] || echo "README.md: $settings settings, at most 18" >>"$log.large"
    cat "$log.large"
    [ ! -s "$log.large" ]
}

# What tests/mpi/run.sh reads of a program begins its lines; a long line above, which clang-format breaks, would take it in.
check_keys() {
    local key='(ranks|memory|timeout|copies|programs|status): [0-9]|(environment|expect|taken|modes|long): [A-Za-z]'
    # shellcheck disable=SC2046 # names without blanks
    ! grep -nE "^(//|!|#) .*[^ /!#] +($key)" /dev/null $(matching '^tests/mpi/[a-z0-9]+_.*\.(c|cpp|f90|py)$')
}

# A changed line that a mutant changes takes the mutant along.
check_mutants() {
    python3 -S tests/mutants/run.py --check
}

checks=(format licence names length leftovers folders layers units knots externals words prefixes labels doors braces headers exports documents keys mutants)
[ $# -eq 0 ] || checks=("$@")
passed=0 failed=0 skipped=0
for check in "${checks[@]}"; do
    "check_$check" >"$log" 2>&1
    case $? in
    0) passed=$((passed + 1)) && printf '  %-10s ok\n' "$check" ;;
    77) skipped=$((skipped + 1)) && printf '  %-10s skipped: %s\n' "$check" "$(tail -n 1 "$log")" ;;
    *) failed=$((failed + 1)) && printf '  %-10s FAILED\n' "$check" && sed 's/^/    /' "$log" ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
