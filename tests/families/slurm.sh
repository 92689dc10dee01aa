#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff under Slurm: a cluster of four hosts in the laboratory (tests/lab), each with a slurmd of its own, slurmctld
# and munge on the first. Where they are not installed, Debian's packages are fetched and unpacked into a folder that
# goes at the end: nothing is installed, started on the machine itself, or written to /etc. slurm_inside.sh has the
# checks. Root; network, unless Slurm is there. Prints a line a check and closes with "N passed, N failed, N skipped".
# `make test-slurm` calls it.
#
#   slurm.sh [--packages FOLDER] [case...]
#
# --packages: they are there, unpacked, or are put there, and stay. Cases choose; without any, all.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
packages=""
if [ "${1:-}" = --packages ]; then
    packages=${2:?a folder}
    shift 2
fi
cases=("$@")
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-slurm.XXXXXX") || exit 1
chmod 755 "$work"

# The laboratory ends its command in order, and takes all of it along.
clean_up() {
    [[ $BASHPID == "$$" ]] || return
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        wait "$child"
    fi
    rmdir /sys/fs/cgroup/memory/"labslurm.$$".* 2>/dev/null # of a case that was broken off
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

is_installed() {
    local command
    for command in slurmd slurmctld munged mungekey srun sbatch scancel; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$command" >/dev/null || return
    done
}

# What of the packages, and of those that they need, is missing here. Says why not.
unpack() {
    local archive fetch=(apt-get -q -y -o Dir::Cache::archives="$work/archives" -o Debug::NoLocking=1 --download-only
        --no-install-recommends install slurmd slurmctld slurm-client munge)
    mkdir -p "$work/archives/partial" "$packages" || return
    if ! waited "${fetch[@]}"; then
        waited apt-get -q update # lists may be missing, or old
        waited "${fetch[@]}" || return
    fi
    for archive in "$work"/archives/*.deb; do
        dpkg-deb -x "$archive" "$packages" || return
    done
    touch "$packages/is-ready"
}

[ "$(id -u)" -eq 0 ] || { skip Slurm "needs root"; finish; }
if ! is_installed; then
    [ -n "$packages" ] || packages=$work/packages
    packages=$(readlink -m -- "$packages")
    [ -e "$packages/is-ready" ] || unpack >"$work/unpack.log" 2>&1 ||
        { skip Slurm "its packages: $(last_words "$work/unpack.log")"; finish; }
fi
make -s lib tools mpi-tests bench-programs examples || { failed=1; finish; }
unset "${!CASTOFF_@}"

waited tests/lab/lab.sh --prefix "labslurm.$$" --hosts 4 -- \
    bash tests/families/slurm_inside.sh "$packages" "${cases[@]}" > >(exec tee "$work/log") 2>&1
status=$?
wait # for tee
case $status in
0) ;;
77) skip Slurm "$(sed -n 's/^lab: skipped: //p' "$work/log")" ;;
*) failed=1 && echo "FAIL the laboratory ended with status $status" ;;
esac
passed=$(grep -c '^PASS ' "$work/log")
failed=$((failed + $(grep -c '^FAIL ' "$work/log")))
skipped=$((skipped + $(grep -c '^SKIP ' "$work/log")))
finish
