#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff over real verbs: unmodified MPI programs on four guests with Soft-RoCE, whose output must be that of the same
# programs without castoff, with and without loss; and what it says where verbs cannot be had. The checks that run
# beside the guests are in castoff_verbs_test_inside.sh. Prints a line a check and "N passed, N failed, N skipped";
# status 0, 1 when a check failed, 77 when no lab is possible here. Arguments choose cases. Called by `make lab-verbs`
# and `make test`.

set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
top=$(cd -- "$here/../.." && pwd) || exit 1
lab=$here/lab.sh
chosen=" $* "
# shellcheck source=tests/lab/lab_test_checks.sh
. "$here/../lab/lab_test_checks.sh"

is_chosen() { # case
    [[ $chosen == "  " || $chosen == *" $1 "* ]]
}

run_inside() { # case lab-options...
    local name=$1 status=0 began=$SECONDS
    shift
    is_chosen "$name" || return
    python3 -S "$here/../bounded.py" --grows "$log" --share 0.2 300 3600 "$lab" --prefix "$prefix" "$@" -- \
        "$here/castoff_verbs_test_inside.sh" "$name" "$top" </dev/null 2>"$work/errors" | tee -a "$log"
    status=${PIPESTATUS[0]}
    check "$name: the lab ends with its command's status" test "$status" -eq 0
    ((status == 0)) || tail -n 15 "$work/errors"
    check "$name: nothing is left" nothing_left
    echo "($name: $((SECONDS - began)) s)"
}

make_work castoffverbs
make -s -C "$top" lib modules tools mpi-tests bench-programs || exit 1
need_lab 300 --guests 1
run_inside jobs --guests 4
run_inside counters --guests 4
run_inside messages --guests 4
run_inside deaths --guests 4
run_inside troubles --guests 3
run_inside reads --guests 3
run_inside regions --guests 2
run_inside refusals --guests 2
run_inside no_device --guests 2 --no-device
print_sum
