#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How often castoff has the MPI below exchange something while a job starts and ends. On a busy machine each exchange waits
# until every rank has had its turn of the processor, so the number is what a start costs. It may fall, and then falls here.
. "$(dirname "$0")/check.sh"

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "all" "no mpirun or no mpicc; the packages openmpi-bin and libopenmpi-dev have them"
    finish
fi
make -s -C "$top" lib modules >"$work/make" 2>&1 || cat "$work/make"
# shellcheck disable=SC2086
mpicc -std=gnu17 -O2 -Wall -Wextra $warnings_fail -shared -fPIC -o "$work/counter.so" "$top/tests/tools/start_exchanges.c" || exit 1
cat >"$work/nothing.c" <<'TEXT'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
TEXT
mpicc -o "$work/nothing" "$work/nothing.c" || exit 1

starts() { # ranks, NAME=VALUE...: a program that only starts and ends
    ranks=$1
    shift
    # shellcheck disable=SC2046
    run mpirun --oversubscribe -n "$ranks" -x "LD_PRELOAD=$build/libcastoff.so:$work/counter.so" \
        -x CASTOFF_PROBE=20s $(printf -- "-x %s " CASTOFF_LOG=warn "$@") "$work/nothing"
}
says() { # exchanges and communicators at the start, exchanges at the end
    [ "$status" -eq 0 ] &&
        grep -qx "start: $1 exchanges, $2 communicators, 0 unwatched; end: $3 exchanges, 0 communicators" "$work/err"
}

# Of the world: what can be said before anything is open, what each rank is, what its parts are, and the last word. Of a
# node: who has made its memory and the rings of messages, mapped them, watched the others. And one communicator, the world's
# double.
starts 3 CASTOFF_SHM_SINGLE_COPY=no
ok "one node" says 7 1 1
starts 3
ok "one node, with single copy tried where the kernel allows it, or not" eval 'says 8 1 1 || says 7 1 1'
starts 3 CASTOFF_SHM_SINGLE_COPY=no CASTOFF_P2P=no
ok "one node, messages native" says 7 1 1
starts 3 CASTOFF_SHM_SINGLE_COPY=no CASTOFF_REPORT=/dev/null CASTOFF_REPORT_SITES=yes
ok "a report: nothing at the start" says 7 1 7
# Between nodes, beside: the key, and whether all are heard; where the first host has several addresses, which network all
# are on.
network="CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo"
# shellcheck disable=SC2086
{
    starts 3 $network
    ok "nodes of one rank" says 6 1 1
    starts 3 $network CASTOFF_PROGRESS=threads
    ok "nodes of one rank, with worker threads" says 6 1 1
    starts 3 $network CASTOFF_P2P=yes
    ok "nodes of one rank, with messages" says 6 2 1
}
starts 4 CASTOFF_NODE_RANKS=2 CASTOFF_UDP_INTERFACE=lo CASTOFF_SHM_SINGLE_COPY=no
ok "nodes of two ranks" says 10 2 1
finish
