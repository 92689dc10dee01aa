#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided multicast over real verbs: guests with Soft-RoCE, and castoff hop in place of the laboratory's switch, or
# between that and each guest. The checks that run beside the guests are in onesided_test_inside.sh. Prints a line a check
# and "N passed, N failed, N skipped"; status 0, 1 when a check failed, 77 when no lab is possible here. Arguments choose
# cases. Called by `make lab-onesided` and `make test`.

set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
top=$(cd -- "$here/../.." && pwd) || exit 1
lab=$here/lab.sh
# shellcheck source=tests/lab/lab_test_checks.sh
. "$here/../lab/lab_test_checks.sh"

make_work castoffonesided
make -s -C "$top" lib modules tools mpi-tests forge-frames build/libcastoff-group.so || exit 1
need_lab 300 --guests 1
status=0
python3 -S "$here/../bounded.py" --grows "$log" --share 0.2 300 3600 \
    "$lab" --prefix "$prefix" --guests 4 -- "$here/onesided_test_inside.sh" "$top" "$@" </dev/null \
    2>"$work/errors" | tee -a "$log"
status=${PIPESTATUS[0]}
check "the lab ends with its command's status" test "$status" -eq 0
((status == 0)) || tail -n 15 "$work/errors"
check "nothing is left" nothing_left
print_sum
