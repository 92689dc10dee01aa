# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of the castoff command share: a folder with the command beside a stand-in library that notes every
# process it is loaded into, runs with their status and output kept, counts, and the closing line. Sourced.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${FIGURES_BUILD:-$top/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-tools.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
passed=0 failed=0 skipped=0 status=0
castoff=$work/bin/castoff
export TOOL_TEST_NOTES="$work/notes"
# Two ranks on a machine with one core, and root, are no reason to fail here.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# A folder of its own: where jobs share one, the last to leave removes it, and the next one to come may fail.
export OMPI_MCA_orte_tmpdir_base="$work" PRTE_MCA_prte_tmpdir_base="$work"
unset LD_PRELOAD
# As in the Makefile.
warnings_fail=""
[ "${CI:-}" != true ] && [ "${DEV:-}" != 1 ] || warnings_fail=-Werror

make -s -C "$top" tools bench-programs >"$work/make" 2>&1 || {
    cat "$work/make"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
mkdir "$work/bin"
: >"$work/out" >"$work/err" >"$TOOL_TEST_NOTES"
cp "$build/castoff" "$castoff"
ln -s "$build/bench" "$work/bin/bench"
${CC:-cc} -shared -fPIC -o "$work/bin/libcastoff.so" "$top/tests/tools/stand_in.c" || exit 1

run() { # command...: status, and output in $work/out and $work/err
    : >"$TOOL_TEST_NOTES"
    # A signal that ends the command is its status, which this shell would remark on.
    { python3 -S "$top/tests/bounded.py" 100 1500 "$@" >"$work/out" 2>"$work/err" </dev/null; } 2>/dev/null
    status=$?
}

ok() { # what, command...: counts
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what (status $status)"
        sed 's/^/    out: /' "$work/out" | head -n 20
        sed 's/^/    err: /' "$work/err" | head -n 20
        sed 's/^/    loaded into: /' "$TOOL_TEST_NOTES" | head -n 20
    fi
}

skip() { # what, why
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

status_is() { [ "$status" -eq "$1" ]; }
out_has() { grep -q -e "$1" "$work/out"; }
err_has() { grep -q -e "$1" "$work/err"; }
err_is_empty() { [ ! -s "$work/err" ]; }
loaded_into() { [ "$(sort -u "$TOOL_TEST_NOTES" | tr '\n' ' ')" = "$*${*:+ }" ]; }
times_loaded() { [ "$(wc -l <"$TOOL_TEST_NOTES")" -eq "$1" ]; }

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
