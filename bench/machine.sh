# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What docs/measurements.md and docs/applications.md say about where they come from. Sourced.

machine() { # build top
    echo "- Processor: $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(env -u OMP_NUM_THREADS nproc) cores"
    echo "- Memory: $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
    # shellcheck source=/dev/null
    echo "- System: $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r)"
    echo "- MPI: $(mpirun --version 2>/dev/null | head -n 1)"
    echo "- $("$1/castoff" --version | head -n 1), commit $(git -C "$2" rev-parse --short HEAD 2>/dev/null || echo unknown)"
    echo "- Date: $(date -u +%Y-%m-%d)"
}
