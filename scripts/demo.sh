#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh BUILD: an unmodified MPI program (bench/demo_app.c) stock and with castoff, then the table and the plot of
# collectives by size; first on this node, then across eight hosts of the laboratory (tests/lab). Under three minutes.
# Without root, or where the kernel allows no laboratory, the second half is left out and the reason is said. The
# status is 0 when everything that ran went right. Called by `make demo` after the build.
set -u

cd "$(dirname "$0")/.." || exit 2
build=$PWD/${1:-build}
castoff=$build/castoff
app=$build/bench/demo_app
plots=$build/demo
rate=200mbit
hosts=8
failed=0

# mpirun refuses root and more ranks than cores unless it is told; both sides get the same words.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    echo "Open MPI starts nothing for root without these:"
    echo '$ export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'
fi
cores=$(nproc 2>/dev/null || echo 2)
ranks=$((cores < 2 ? 2 : cores > 4 ? 4 : cores))
svg=()

heading() {
    printf '\n== %s\n\n' "$1"
}

# show SECONDS COMMAND...: prints the command as one can repeat it, and runs it.
show() {
    local limit=$1 status
    shift
    printf '$ %s\n' "$*" | sed "s|$PWD/||g"
    # A race in Open MPI's own start across hosts, harmless and many lines long.
    timeout -k 10 "$limit" "$@" </dev/null 2> >(grep --line-buffered -v 'plm:rsh: Warning: setpgid' >&2)
    status=$?
    echo
    case $status in
    0) ;;
    124 | 137) echo "demo: this command had not ended after $limit s, on a machine with a load of $(cut -d' ' -f1 /proc/loadavg)" ;;
    *) echo "demo: this command ended with status $status" ;;
    esac
    return "$status"
}

on_this_node() {
    heading "An unmodified program on this node, $ranks ranks: rank 0 broadcasts, all gather; 1 MiB, 200 times"
    show 60 "$castoff" ab -n 6 -- mpirun --oversubscribe --bind-to none -n "$ranks" "$app" 1024 200 || failed=1
    heading "Call by call on this node (times in microseconds; ratio above 1: castoff is faster)"
    plot_to node
    show 60 "$castoff" bench -n "$ranks" --calls bcast,allgather --sizes 64:4M:16 --seconds 0.3 --plot "${svg[@]}" || failed=1
}

across_the_lab() {
    heading "The same program across $hosts hosts with links of $rate; 1 MiB, 8 times"
    show 90 tests/lab/lab.sh --hosts "$hosts" --rate "$rate" -- \
        "$castoff" ab -n 6 --warm-up 0 -- lab-mpirun -n "$hosts" "$app" 1024 8
    local status=$?
    if [ "$status" -eq 77 ]; then
        echo "demo: the laboratory is left out, as said above"
        return
    fi
    [ "$status" -eq 0 ] || failed=1
    heading "Call by call across the $hosts hosts"
    plot_to lab
    show 90 "$castoff" bench --lab "$hosts" --rate "$rate" --calls bcast,allgather --sizes 4K,64K,1M --seconds 0.5 \
        --rounds-min 6 --plot "${svg[@]}" || failed=1
}

plot_to() { # NAME: words that make bench write a plot, if gnuplot is there
    svg=()
    if command -v gnuplot >/dev/null; then
        svg=(--svg "$plots/$1.svg")
    fi
}

mkdir -p "$plots" || exit 1
started=$SECONDS
on_this_node
if [ "$(id -u)" -eq 0 ]; then
    across_the_lab
else
    heading "Across hosts"
    echo "The laboratory of $hosts hosts needs root and is left out. As root: apt-get install iproute2 nftables util-linux"
    echo "then, as root: make demo"
fi
heading "Done in $((SECONDS - started)) s"
if [ ${#svg[@]} -gt 0 ]; then
    echo "Plots: ${plots#"$PWD/"}/*.svg"
fi
echo "Your own program: ${castoff#"$PWD/"} ab -- mpirun -n $ranks ./app"
exit "$failed"
