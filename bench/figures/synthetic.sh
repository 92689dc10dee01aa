# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Synthetic traces for the figures of castoff trace (M22, M24, M25). Sourced behind figure.sh.

synthetic=$build/traces-synthetic
trap 'rm -rf "$synthetic"' EXIT

make_traces() { # name ranks megabytes
    rm -rf "${synthetic:?}/$1"
    mkdir -p "$synthetic"
    note_command build/bench/micro/trace_make "$1" "$2" "$3"
    "$build/bench/micro/trace_make" "$synthetic/$1" "$2" "$3" 2>"$out/$figure.err"
}

has_room() { # gigabytes
    [ "$(df -Pk "$build" | awk 'NR == 2 { print int($4 / 1e6) }')" -ge "$1" ]
}
