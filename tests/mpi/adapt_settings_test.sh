#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs of collectives and communicators once more with both sides tried in the job (CASTOFF_ADAPT=yes): calls go
# one way and the other, with exchanges between them, inside a node, and between nodes with faults. What they receive is
# judged by the programs themselves, and must be native's. The table takes all calls until trials say otherwise.
# Closes with "N passed, N failed, N skipped". Called by tests/run_all.sh.
set -u -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
table=$(mktemp "${TMPDIR:-/tmp}/castoff-adapt.XXXXXX") || exit 1
child=""
trap 'rm -f "$table"' EXIT
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 130' INT TERM HUP
echo "# no row: all is taken" >"$table"
chosen=("$@") # parts of names
[ $# -gt 0 ] || chosen=(bcast_ allgather_ iallgather_ comm_ finalize_ fork_ python_ fortran_)
bash ./run.sh --no-report --mode native --mode on --mode faults --set CASTOFF_BCAST=auto --set CASTOFF_ALLGATHER=auto \
    --set CASTOFF_IALLGATHER=auto --set CASTOFF_IBCAST=auto --set CASTOFF_ADAPT=yes --set "CASTOFF_TUNE=$table" "${chosen[@]}" &
child=$!
wait $child
