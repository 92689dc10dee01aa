#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What README.md says of one-sided multicast, shown on a machine without RDMA hardware: four guests with Soft-RoCE, castoff
# hop as the switch between them, a file to three of them by one stream of RDMA writes, then an MPI program whose broadcasts
# go the same way. Prints each command and what it says. Status 77 when no lab is possible here. Called by
# `make demo-onesided`.

set -u

here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 1
top=$(cd -- "$here/../.." && pwd) || exit 1

title() {
    printf '\n== %s\n\n' "$1"
}

say() { # prompt words...: without the folders
    local words="${*:2}"
    words=${words//$top\/build\//}
    printf '%s$ %s\n' "$1" "${words//$shared\//}"
}

show() { # command...: as one would type it here, its output below
    say "" "$@"
    "$@"
}

raise() {
    title "The coordinator, and the hop as the switch between four guests"
    head -c 32 /dev/urandom >"$secret" && chmod 600 "$secret"
    say "" castoff coordinator --listen "$place" --secret "$secret" "&"
    say "" castoff hop --switch "$ports" --coordinator "$place" --secret "$secret" "&"
    start_coordinator
    # shellcheck disable=SC2119 # without options
    as_switch
}

copy_a_file() {
    local file=$shared/file guest guests=() packets=$((mib * 256 + 1))
    local copy=("$castoff" onesided-copy --coordinator "$place" --secret "$secret" --group demo)
    title "$mib MiB from guest g0 to three others by one stream of RDMA writes"
    make_file "$mib"
    for guest in 1 2 3; do
        say "g$guest" "${copy[@]}" --name "g$guest" --receive /tmp/copy "&"
        lab-in-guest "$guest" "${copy[@]}" --name "g$guest" --receive /tmp/copy >"$shared/said.$guest" 2>&1 &
        guests[guest]=$!
    done
    say g0 "${copy[@]}" --name g0 --to 3 "$file"
    lab-in-guest 0 "${copy[@]}" --name g0 --to 3 "$file" || return 1
    for guest in 1 2 3; do
        wait "${guests[guest]}" || return 1
        sed "s/^/g$guest: /" "$shared/said.$guest"
        lab-in-guest "$guest" cmp /tmp/copy "$file" || return 1
    done
    title "Who served: $packets packets of 4096 bytes came in, if none was lost, three times as many went out"
    await is_at_least copies $((3 * packets))
    show "$castoff" coordinator status --coordinator "$place" --secret "$secret"
}

run_a_program() {
    local arguments program=$top/build/tests/mpi/onesided_calls
    title "An unmodified MPI program: three broadcasts of 8 MiB"
    read -ra arguments <<<"$CASTOFF_LAB_MPIRUN_ARGS"
    unset "${!CASTOFF_LAB_@}" # would be unknown settings
    say "" export "CASTOFF_COORDINATOR=$place" "CASTOFF_COORDINATOR_SECRET=$secret" CASTOFF_PLACED_MIN=1M
    export CASTOFF_COORDINATOR=$place CASTOFF_COORDINATOR_SECRET=$secret CASTOFF_PLACED_MIN=1M
    export CASTOFF_UDP_INTERFACE=eth0 CASTOFF_REPORT=$shared/report OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    say "" castoff mpirun --host g0,g1,g2,g3 -n 4 onesided_calls 8388608 3
    "${bounded[@]}" "$castoff" mpirun "${arguments[@]}" -n 4 "$program" 8388608 3 || return 1
    show grep "^ *placed" "$shared/report"
    [[ $(awk '$1 == "onesided_broadcasts" { print $2 }' "$shared/report") == 3 ]]
}

if [[ ${1:-} == inside ]]; then
    export CASTOFF_TEST_ONESIDED_MIB=64
    # shellcheck source=tests/lab-verbs/onesided_rig.sh
    . "$here/onesided_rig.sh"
    raise && copy_a_file && run_a_program
    status=$?
    end_daemons
    exit "$status"
fi
make -s -C "$top" lib modules tools mpi-tests build/libcastoff-group.so || exit 1
exec "$here/lab.sh" --guests 4 -- "$here/onesided_demo.sh" inside
