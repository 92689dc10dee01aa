#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M5: overlap of MPI_Iallgather with computation as the OSU benchmarks define it, 64 KiB to 1 MiB, between as many hosts
# as have a core each, up to 4. Beside it 4 hosts on the cores that there are, and what the laboratory's own switches take
# from a computation (bench/lab_tax.c).
. "$(dirname "$0")/figure.sh"
cores=$(env -u OMP_NUM_THREADS nproc) hosts=4
((cores >= 4)) || hosts=$cores
what="Iallgather overlap, hosts with a core each ($hosts), 64 KiB - 1 MiB, 200 Mbit/s (lowest of the sizes)"
reach=">= 98 % where hosts have a core each"
((hosts >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M5*.txt "$out"/M5*.csv "$out"/M5*.err
overlap() { # name hosts option...
    bench "$1" --lab "$2" --rate 200mbit --calls overlap --sizes 64K,256K,1M --rounds-min 15 "${@:3}" ||
        give_up "$what" "$reach" "$(last_words "$out/$1.err")"
}
overlap M5 "$hosts" && overlap M5-steps "$hosts" --compute steps && overlap M5-free "$hosts" --compute sleep
((hosts == 4)) || { overlap M5-shared 4 && overlap M5-shared-steps 4 --compute steps && overlap M5-shared-free 4 --compute sleep; }
pure() { # csv bytes: castoff's, in microseconds
    awk -F, -v bytes="$2" '$1 == "overlap" && $4 == "castoff" && $3 == bytes { print int($8) }' "$out/$1.csv"
}
# The control: computations as long as communication alone, with as many bytes passing.
tax() { # name csv hosts
    echo "# size_B hosts bytes_without_room alone_us traffic_us tax_%" >"$out/$1.txt"
    for bytes in 65536 262144 1048576; do
        local words=(--hosts "$3" --rate 200mbit -- lab-mpirun -n "$3" build/bench/lab_tax "$bytes" 15 "$(pure "$2" "$bytes")")
        note_command tests/lab/lab.sh "${words[@]}"
        words[8]=$build/bench/lab_tax
        "$top/tests/lab/lab.sh" "${words[@]}" 2>>"$out/$1.err" | grep -v setpgid >>"$out/$1.txt"
    done
}
tax M5-tax M5-steps "$hosts"
((hosts == 4)) || tax M5-shared-tax M5-shared-steps 4
# When the last rank begins: on shared cores the computation of the others keeps it in the barrier before.
for bytes in 65536 262144; do
    late M5-late 4 iallgather "$bytes" 60 $((bytes * 92 / 1000))
done
lowest() { # csv side
    awk -F, -v side="$2" '$1 == "overlap" && $4 == side { if (n++ == 0 || $10 < low) low = $10 } END { print low }' "$out/$1.csv"
}
highest_tax() { # table
    awk '!/^#/ && (!n++ || $6 > most) { most = $6 } END { printf "%.1f", most }' "$out/$1.txt"
}
all() { # side name
    echo "$(lowest "$2" "$1") %; $(lowest "$2-steps" "$1") % with a fixed amount of work; $(lowest "$2-free" "$1") % with a free processor"
}
ours=$(all castoff M5) stock=$(all stock M5) tax="laboratory's own traffic: $(highest_tax M5-tax) % of a computation"
if ((hosts < 4)); then
    ours+="; 4 hosts on $cores cores: $(all castoff M5-shared)"
    stock+="; 4 hosts on $cores cores: $(all stock M5-shared)"
    tax+=", $(highest_tax M5-shared-tax) % with 4 hosts"
fi
row "$what" "$stock" "$ours; $tax" "$reach" "$(holds "$(lowest M5 castoff) >= 98")"
