# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Applications for the tests of castoff trace, as the text of dumpi2ascii. Sourced.

call() { # function, arguments...: as dumpi2ascii prints it
    function=$1
    shift
    echo "MPI_$function entering at walltime 1.000000000, cputime 0.0 seconds in thread 0."
    for argument in "$@"; do
        echo "int $argument"
    done
    echo "MPI_$function returning at walltime 1.000001000, cputime 0.0 seconds in thread 0."
}

application() { # folder, receives: rank 1 posts so many before rank 0 sends the last of them first
    mkdir -p "$1"
    {
        call Barrier comm=2
        for tag in $(seq "$2" -1 1); do call Send count=1 dest=1 tag="$tag" comm=2; done
        call Finalize
    } >"$1/app-0000.txt"
    {
        for tag in $(seq "$2"); do call Irecv count=1 source=0 tag="$tag" comm=2 "request=[$((tag + 1))]"; done
        call Barrier comm=2
        call Waitall count="$2" "requests[$2]=[$(seq -s ', ' 2 $(($2 + 1)))]" "statuses[$2]=<IGNORED>"
        call Finalize
    } >"$1/app-0001.txt"
}
