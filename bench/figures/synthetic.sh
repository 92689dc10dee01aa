# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Synthetic traces for the figures of castoff trace (M22, M24, M25). Sourced behind figure.sh.

synthetic=$build/traces-synthetic
trap 'rm -rf "$synthetic"' EXIT

# trace_make writes text, trace_record what castoff records.
make_traces_by() { # maker name ranks megabytes
    rm -rf "${synthetic:?}/$2"
    mkdir -p "$synthetic"
    note_command "build/bench/micro/$1" "$2" "$3" "$4"
    "$build/bench/micro/$1" "$synthetic/$2" "$3" "$4" 2>"$out/$figure.err"
}

make_traces() { # name ranks megabytes
    make_traces_by trace_make "$@"
}

has_room() { # gigabytes
    [ "$(df -Pk "$build" | awk 'NR == 2 { print int($4 / 1e6) }')" -ge "$1" ]
}
