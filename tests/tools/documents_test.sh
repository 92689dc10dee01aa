#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The documents agree with the code: blocks of README.md that come from the program are up to date, links lead to files
# that exist, every setting, reason and counter that the documents name is one that the code has, and the other way
# round, tables name the files that there are, the lines that they quote are said, and make help lists the targets.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-documents.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

ok() { # what, command...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        sed 's/^/    /' "$work/log"
    fi
}

documents="README.md CONTRIBUTING.md docs/*.md docs/design/*.md tests/*/README.md"

# Prints lines of the machine's list in docs/measurements.md that README.md cuts off.
cut_lines() {
    sed -n '/^|/q; /^- /,/^$/p' docs/measurements.md | while IFS= read -r line; do
        grep -qxF -e "$line" README.md || echo "README.md lacks: $line"
    done >"$work/cut"
    ! grep . "$work/cut"
}

# Prints links of a document that lead nowhere.
dead_links() {
    for document in $documents; do
        grep -o '](\([^)#:]*\))' "$document" | sed 's/^](//; s/)$//' | while read -r link; do
            [ -e "$(dirname "$document")/$link" ] || echo "$document: $link"
        done
    done >"$work/links"
    ! grep . "$work/links"
}

# Settings that a document names and the program does not have. CASTOFF_LAB_* are the laboratory's, not settings.
unknown_settings() {
    sed -n 's/^#export \(CASTOFF_[A-Z0-9_]*\)=.*/\1/p' env.example | sort -u >"$work/known"
    # shellcheck disable=SC2086 # a list of patterns
    grep -oh '\bCASTOFF_[A-Z0-9_]*[A-Z0-9]\b' $documents docs/man/* | grep -v '^CASTOFF_LAB_\|^CASTOFF_TEST_\|^CASTOFF_LIBRARY$' |
        sort -u >"$work/named"
    ! comm -13 "$work/known" "$work/named" | grep .
}

same_words() { # from the code, by a sed expression and a file; columns.md must list each
    for word in $(sed -n "$1" "$2"); do
        grep -q "^| \`$word\` |" docs/columns.md || echo "docs/columns.md does not list $word of $2"
    done >"$work/missing"
    ! grep . "$work/missing"
}

# Prints what docs/clusters.md quotes of castoff's lines and no string of the code says. NAME, N, M and ... stand for what
# differs from line to line; short pieces prove nothing.
unsaid_lines() {
    find src -name '*.c' -exec cat {} + | tr '\n' ' ' | sed 's/" *"//g; s/\\"/"/g' >"$work/strings"
    sed -n '/^## What castoff says/,$s/^| \(`.*`\)[^`|]* | .*/\1/p' docs/clusters.md | grep -o '`[^`]*`' | tr -d '`' |
        sed 's/\.\.\./\n/g; s/\<\(NAME\|N\|M\|MPI_\)\>/\n/g' | sed 's/^[ ":(]*//; s/[ "(]*$//' | grep '.\{10\}' >"$work/pieces"
    {
        [ "$(wc -l <"$work/pieces")" -ge 20 ] || echo "the tables of docs/clusters.md are not where they were"
        while IFS= read -r piece; do
            grep -qF -e "$piece" "$work/strings" || echo "docs/clusters.md: no line of castoff's says: $piece"
        done <"$work/pieces"
    } >"$work/unsaid"
    ! grep . "$work/unsaid"
}

# Targets that `make help` does not list, and the other way round. FORCE, kernel-programs and the like are steps of others;
# env.example is a file.
unlisted_targets() {
    {
        sed -n 's/^\.PHONY: //p' Makefile mk/*.mk tests/mpi/build.mk | tr ' ' '\n' |
            grep -vx 'FORCE\|forge-frames\|fuzz-programs\|kernel-programs'
        echo env.example
    } | sort >"$work/targets"
    make -s --no-print-directory help | sed -n 's/^  \([a-z.-]*\)  *[^ ].*/\1/p' | sort >"$work/listed"
    diff "$work/targets" "$work/listed"
}

ok "README.md and docs/settings.md: their blocks are up to date (make readme)" bash scripts/readme.sh --check
ok "README.md: all lines about the measured machine" cut_lines
# CONTRIBUTING.md says where is what.
lost_files() {
    sed -n '/^## Where is what/,/^## Test/p' CONTRIBUTING.md | grep -o '`[a-z_0-9/]*\.[ch]`' | tr -d '`' >"$work/answers"
    [ "$(wc -l <"$work/answers")" -ge 15 ] || echo "the table is not where it was"
    while read -r file; do
        [ -e "$file" ] || echo "CONTRIBUTING.md: there is no $file"
    done <"$work/answers" >"$work/lost"
    ! grep . "$work/lost"
}

# Of tables: document and folders whose files they name.
tables_of() {
    awk -v document="$1" -v folders="$2" -f tests/tools/document_tables.awk "$work/sources" "$1"
}

# Tables name files in the folders where they are, and those of docs/design every .c file, or its header, of theirs.
unlisted_files() {
    find src tools -name '*.[ch]' >"$work/sources"
    {
        tables_of docs/design/engine.md src/engine
        tables_of docs/design/mcast.md src/mcast
        tables_of docs/design/p2p.md "src/p2p src/matching"
        tables_of docs/design/pmpi.md src/pmpi
        tables_of docs/design/transports.md "src/transport src/shm"
        tables_of docs/design/onesided.md src/onesided
        tables_of docs/design/offload.md src/offload
        tables_of docs/design/trace.md "src/record tools/trace"
    } >"$work/tables"
    sed -n 's/^listed \(.*\)\.[ch]$/\1/p' "$work/tables" | sort -u >"$work/listed"
    {
        find src/engine src/mcast src/p2p src/matching src/pmpi src/transport src/shm src/onesided src/offload src/record -name '*.c'
        find tools/trace -mindepth 2 -name '*.c'
    } | sed 's/\.c$//' | sort | comm -23 - "$work/listed" | sed 's/$/.c: in no table of docs\/design/' >"$work/unlisted"
    tables_of docs/design.md src >>"$work/tables"
    tables_of docs/design/loss.md src >>"$work/tables"
    tables_of docs/glossary.md "src tools" >>"$work/tables"
    sed -n 's/^lost //p' "$work/tables" >>"$work/unlisted"
    ! grep . "$work/unlisted"
}

# Options in commands that documents show, which castoff's help does not have: behind `castoff mpirun` those that are
# `castoff run`'s.
unknown_options() {
    make -s tools
    # shellcheck disable=SC2086 # a list of patterns
    grep -h '^    ' $documents docs/man/*.1 | grep -o 'castoff [a-z-]* .*' | sed 's/ #.*//; s/ -- .*//' >"$work/commands"
    while read -r _ command words; do
        "build/castoff" "$command" -h >"$work/help" 2>/dev/null || continue # a sentence that begins so
        echo "$command" >>"$work/shown"
        for option in $(echo "$words" | grep -o -e '--[a-z][a-z-]*'); do
            case $command in
            mpirun) ! build/castoff run -h | grep -q -e "^  $option " ;;
            *) grep -q -e "$option\>" "$work/help" ;;
            esac || echo "castoff $command has no $option: $words"
        done
    done <"$work/commands" >"$work/unknown"
    [ "$(sort -u "$work/shown" | wc -l)" -ge 7 ] || echo "few commands are shown" >>"$work/unknown"
    ! grep . "$work/unknown"
}

ok "links lead to files" dead_links
ok "documents show options that castoff has" unknown_options
ok "tables of docs/design name the files that there are, where they are" unlisted_files
ok "CONTRIBUTING.md: files that are where they are said to be" lost_files
ok "documents name settings that exist" unknown_settings
ok "docs/clusters.md quotes lines that castoff says" unsaid_lines
ok "docs/columns.md lists every counter" same_words 's/^CO_COUNTER([A-Z_]*, "\([a-z_]*\)".*/\1/p' src/base/counters_table.h
ok "docs/columns.md lists every reason" same_words '/TAKE,/d; s/^ *X([A-Z_]*, "\([a-z_]*\)").*/\1/p' src/engine/decide/decide.h
ok "make help lists every target" unlisted_targets
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
