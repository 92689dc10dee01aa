#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M19: instructions per completion of the receive path, the datapath kernel (src/mcast/receive/datapath.c), beside those
# published for an adapter's processor (S1, table I); the matcher's lane counted the same way.
. "$(dirname "$0")/figure.sh"
what="receive path on RV64, instructions per completion: chunk in staging (UD), in its place (UC), both with a call for the tag; matcher: message alone, its lane, a lane of 32"
reach="UD <= 90, UC <= 55"
note_command make kernel-programs
note_command bench/kernel/count.sh build
make -s -C "$top" BUILD="$build" kernel-programs >"$out/M19.err" 2>&1 &&
    "$top/bench/kernel/count.sh" "$build" >"$out/M19.txt" 2>>"$out/M19.err" ||
    give_up "$what" "$reach" "$(last_words "$out/M19.err")"
cat >>"$out/M19.txt" <<TEXT
#
# Counted: what an adapter's processor would run for a batch of 32 completions, from seeing how many are there to the
# list of receives that are to be posted again, its share of all calls included: polling (played by the program, a word
# for each completion), co_verbs_completions_read, co_datapath_place or _mark, co_receive_queue_take. Not counted: the copies,
# which are queued, and what hands the list to the adapter; in the library those are memcpy and ibv_post_recv, and
# ibv_poll_cq stands where the program polls. The published counts come from another processor's program, which does
# without a head and a tag, and polls and posts by itself: the same work, but not the same lines.
# Tags: -verified has the call for each chunk's tag, and a function that says yes. In the library there always is a tag,
# and what AES or XXH3 take for it comes on top; the published path has none.
# Compiled with the library's flags (-O2 -fPIC), without link-time optimization:
# $(riscv64-linux-gnu-gcc --version | head -n 1); $(gcc --version | head -n 1).
TEXT
count() { # case column
    awk -v case="$1" -v column="$2" '$1 == case { print $column }' "$out/M19.txt"
}
counts() { # column
    echo "UD $(count staged "$1"), UC $(count placed "$1"), with tags $(count staged-verified "$1"), $(count placed-verified "$1"); $(count match-inline "$1"), $(count match-lane "$1"), $(count match-free "$1")"
}
ud=$(count staged 2) uc=$(count placed 2)
row "$what" "published: UD 113, UC 66" \
    "$(counts 2) (x86-64: $(counts 3))" \
    "$reach" "$(holds "$ud <= 90 && $uc <= 55")"
