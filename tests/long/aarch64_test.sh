#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff for 64-bit ARM: all of it is cross-built without a warning, some unit tests run there under qemu-user, those that know
# threads or shared memory among them, and an MPI program of two ranks is served. The libraries are Debian's for that
# processor, fetched with lists and a state of their own, so that this machine's apt is left as it is. qemu-user keeps this
# machine's memory order, so what this finds is what depends on types, alignment and instructions, and not missing barriers:
# tests/models has those. Needs the network; what cannot be had is skipped and says why.
#
#   aarch64_test.sh [--in FOLDER] [UNIT...]    those unit tests alone; in a folder that stays, and is used again
set -u

cd "$(dirname "$0")/../.." || exit 2
. tests/debian.sh
jobs=$(nproc 2>/dev/null || echo 2)
stays=""
if [ "${1:-}" = --in ]; then
    stays=yes
    work=$(mkdir -p "${2:?}" && cd "$2" && pwd) || exit 1
    shift 2
else
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/castoff-aarch64.XXXXXX") || exit 1
fi
root=$work/root
build=$work/build

clean_up() {
    trap '' INT TERM HUP # timeout sends a second one, which would end this, too
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -n "$stays" ] || rm -rf "$work"
}
trap clean_up EXIT

foreign_apt() { # command and options of apt-get
    apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$work/apt" \
        -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt" -o Debug::NoLocking=1 -o APT::Sandbox::User=root "$@"
}

# What castoff is built and linked with, in a folder that the compiler and the emulator take for the root.
raise_root() {
    local needed package
    [ ! -e "$root/usr/include" ] || return 0
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$root" && : >"$work/apt/status" || return 1
    needed=$(printf 'include mk/deps.mk\nsay:\n\t@echo $(DEPS_BUILD)\n' | make -s -f - say)
    quietly "$work/apt.log" foreign_apt update || return 1
    # Programs of that processor are not needed, nor what packages recommend.
    # shellcheck disable=SC2086 # a list of words
    quietly "$work/apt.log" foreign_apt install --download-only --no-install-recommends libcmocka-dev libopenmpi-dev \
        $(printf '%s\n' $needed | grep -vx 'gcc\|openmpi-bin\|libopenmpi-dev\|libipsec-mb-dev') || return 1
    for package in "$work"/apt/archives/*.deb; do
        dpkg -x "$package" "$root" || return 1
    done
    rm -rf "$work/apt/archives"
}

for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg; do
    command -v "$tool" >/dev/null || { skip "aarch64" "there is no $tool"; finish; }
done
raise_root || { skip "aarch64" "libraries: $(grep -vE '^ *$' "$work/apt.log" | tail -n 1)"; finish; }

# Alternatives are not set up there.
linked_there="-L$root/usr/lib/aarch64-linux-gnu/openmpi/lib -Wl,-rpath-link,$root/usr/lib/aarch64-linux-gnu"
words=(-s -j "$jobs" CI=true BUILD="$build" CC="aarch64-linux-gnu-gcc --sysroot=$root" AR=aarch64-linux-gnu-gcc-ar
    MPICC="env OMPI_CC=aarch64-linux-gnu-gcc mpicc --sysroot=$root $linked_there")
if quietly "$work/log" make "${words[@]}" all bench-programs && ! grep -qi 'warning:' "$work/log"; then
    passed=$((passed + 1))
    echo "aarch64: builds ($(aarch64-linux-gnu-gcc --version | head -n 1))"
else
    failed=$((failed + 1))
    echo "FAILED: the build"
    grep -iE -m 20 'warning:|error:|\*\*\*' "$work/log" || tail -n 20 "$work/log"
    finish
fi

# Two ranks, each in an emulator, under this machine's mpirun; the program prints the same whatever processor computes it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
app() { # command in front of the program's name, log
    quietly "$2" python3 -S tests/bounded.py 100 600 mpirun --oversubscribe --bind-to none -n 2 sh -c "exec $1/bench/demo_app 64 4"
}
there="qemu-aarch64 -L $root -E LD_PRELOAD=$build/libcastoff.so -E CASTOFF_REPORT=- -E CASTOFF_BCAST=yes -E CASTOFF_ALLGATHER=yes"
if ! command -v mpirun >/dev/null || ! make -s build/bench/demo_app; then
    skip "an MPI program" "there is no mpirun"
elif app "$there $build" "$work/log" && app "$PWD/build" "$work/native" && grep -q '^castoff took 16 of 16 ' "$work/log" &&
    grep -qxF "$(grep '^model ' "$work/native")" "$work/log"; then
    passed=$((passed + 1))
    echo "aarch64: an MPI program of two ranks, all calls taken, prints what it prints here"
else
    failed=$((failed + 1))
    echo "FAILED: an MPI program of two ranks"
    tail -n 20 "$work/log"
fi

# Those that end in seconds there: ranks that spin for each other take an emulator minutes. shm_segment fails, since qemu-user
# says that madvise has removed pages and lets them be.
units=${*:-atomics buffer_cache chunk_bitmap hash_map matcher memory_watch mpsc_queue p2p_stream p2p_threads plain_text segment_memory
    settings shm_bounce}
export UNIT_RUNNER="qemu-aarch64 -L $root"
quietly "$work/log" make "${words[@]}" UNIT="${units//$'\n'/ }" unit
grep -E 'FAILED|skipped$' "$work/log"
line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/log" | tail -n 1)
if [ -n "$line" ]; then
    read -r more_passed _ more_failed _ more_skipped _ <<<"${line//,/}"
    passed=$((passed + more_passed)) failed=$((failed + more_failed)) skipped=$((skipped + more_skipped))
else
    failed=$((failed + 1))
    echo "FAILED: the unit tests do not build"
    tail -n 20 "$work/log"
fi
finish
