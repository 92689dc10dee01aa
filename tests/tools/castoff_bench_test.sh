#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff info and castoff bench: settings and template, the model's numbers, bad options, and stock compared with
# stock by the real benchmark program.
. "$(dirname "$0")/check.sh"

run "$castoff"
ok "no command: status 2" status_is 2
run "$castoff" frobnicate
ok "unknown command: named" err_has "unknown command 'frobnicate'; castoff -h"
run "$castoff" benhc
ok "a slip of the keys: status 2" status_is 2
ok "a slip of the keys: the command that is meant" err_has "unknown command 'benhc'; did you mean bench?"
run "$castoff" --version
ok "version" out_has '^castoff [0-9]'
for command in mpirun run ab bench info trace; do
    run "$castoff" "$command" -h
    ok "$command -h: status 0" status_is 0
    ok "$command -h: usage" out_has "^usage: castoff $command"
    cp "$work/out" "$work/usage"
    run "$castoff" help "$command"
    ok "help $command: the same" cmp "$work/usage" "$work/out"
done
run "$castoff" help frobnicate
ok "help of an unknown command: status 2" status_is 2

CASTOFF_LOGG=1 CASTOFF_BCAST=no run "$castoff" info
ok "info: version" out_has '^castoff [0-9]'
ok "info: what it was built for" out_has '^built for *Open MPI'
ok "info: complaint with suggestion" out_has 'did you mean CASTOFF_LOG?'
for transport in shm udp verbs p2p placed proxy; do
    ok "info: $transport, usable or why not" out_has "^$transport *\(not \)\?usable: *[^ ]"
done
ok "info: a changed setting is named" out_has '^setting  *CASTOFF_BCAST=no (default: auto)$'
ok "info: no other setting" [ "$(grep -c '^setting ' "$work/out")" -eq 1 ]
ok "info: a call that is off says why" out_has '^MPI_Bcast  *none: disabled_by_setting  *none: '
ok "info: sizes that would be taken" out_has '^MPI_Allgather  *\(all\|none: [a-z_]*\|[0-9]* [KMG]*i*B \)'
ok "info: messages" out_has '^messages  *\(all\|none: \)'
ok "info: MPI libraries of this host" out_has '^MPI here  *\(none\|.*served.*: /\)'
ok "info: groups" out_has '^groups  *[a-z]'
ok "info: a screen" [ "$(wc -l <"$work/out")" -le 30 ]
run "$castoff" info -n 64 --ranks-per-host 16
ok "info -n: such a job" out_has '^would take  *64 ranks on this host  *64 ranks, 16 on a host$'
run "$castoff" info --seconds 3
ok "info --seconds without --check: status 2" status_is 2
ok "info --seconds without --check: said" err_has 'belong to --check, which is missing'
run sh -c '"$1" info --json >/dev/full' sh "$castoff"
ok "info to a full disk: why" err_has 'standard output is not complete: No space left on device'
run "$castoff" hop --switch lo
ok "hop: which option cannot be that" err_has "^castoff hop: --switch cannot be 'lo'; castoff hop -h"
run "$castoff" coordinator --secret "$work/none" --groups 10.0.0.0/8
ok "coordinator: groups are multicast addresses" err_has "^castoff coordinator: --groups cannot be '10.0.0.0/8'"
run "$castoff" hop eth0
ok "hop: no option" err_has "^castoff hop: 'eth0' is not an option"
run "$castoff" info -n 0
ok "info -n 0: status 2" status_is 2
ok "info -n 0: why" err_has "'0' is no number of ranks"
run "$castoff" info --facts
ok "info --facts: a line of JSON" [ "$(wc -l <"$work/out")" -eq 1 ]
ok "info --facts: this host" out_has "^{\"castoff_facts\":1,\"host\":\"$(uname -n)\""
run "$castoff" info --check --seconds soon
ok "info --check: no number of seconds" status_is 2
run env PATH="$work/nothing" "$castoff" info --check --srun host1
ok "info --check --srun: no srun" status_is 127
ok "info --check --srun: why" err_has 'srun cannot be started: No such file'
mkdir "$work/launcher"
printf '#!/bin/sh\nprintf "no such host\\r\\n\\r\\n" >&2\nexit 3\n' >"$work/launcher/srun"
chmod +x "$work/launcher/srun"
run env PATH="$work/launcher:$PATH" "$castoff" info --check --srun host1 host2
ok "info --check: what the launcher says, without its returns" err_has '^    no such host$'
ok "info --check: the launcher's status" err_has 'ended with status 3:$'
printf '#!/bin/sh\necho "$OMPI_MCA_orte_keep_fqdn_hostnames $PRTE_MCA_prte_keep_fqdn_hostnames" >&2\nexit 3\n' >"$work/launcher/mpirun"
chmod +x "$work/launcher/mpirun"
run env PATH="$work/launcher:$PATH" "$castoff" info --check node1.a.org node1.b.org
ok "info --check: names keep their domains" err_has '^    1 1$'
run env PATH="$work/launcher:$PATH" OMPI_MCA_orte_keep_fqdn_hostnames=0 "$castoff" info --check node1.a.org node1.b.org
ok "info --check: but for who has set that" err_has '^    0 1$'
run "$castoff" info host1
ok "info: a host without --check" status_is 2
CASTOFF_BCAST=no run "$castoff" info --settings
ok "info --settings: a changed setting is marked" out_has '^\* *CASTOFF_BCAST  *no  *auto'
for part in settings transports tune; do
    CASTOFF_LOGG=1 CASTOFF_BCAST=maybe run "$castoff" info "--$part"
    ok "info --$part: an unknown setting is named" err_has '^castoff info: unknown setting CASTOFF_LOGG; did you mean'
    ok "info --$part: a wrong value is named" err_has '^castoff info: CASTOFF_BCAST=maybe: not one of auto, yes, no'
    ok "info --$part: on standard error alone" [ -z "$(grep 'maybe' "$work/out")" ]
    ok "info --$part: status 0" status_is 0
done
run "$castoff" info --settings
ok "info --settings: nothing to say" err_is_empty
printf 'bcast node ranks 2- bytes 1- decline\n' >"$work/table"
printf 'bcast moon ranks 2- bytes 1- decline\n' >"$work/moon"
CASTOFF_TUNE=$work/table run "$castoff" info --tune
ok "info --tune: the file's rows" out_has '^bcast node ranks 2- bytes 1- decline$'
ok "info --tune: what a row means" out_has '^# CALL WHERE ranks A-B ranks_per_node C-D transport NAME bytes E-F '
ok "info --tune: that are not this release's" [ "$(grep -c '^[^#]' "$work/out")" -eq 1 ]
run "$castoff" info --tune
cp "$work/out" "$work/again"
CASTOFF_TUNE=$work/again run "$castoff" info --tune
ok "info --tune: is a table itself" [ "$(grep '^[^#]' "$work/out")" = "$(grep '^[^#]' "$work/again")" ]
for part in --settings --tune ""; do
    CASTOFF_TUNE=$work/moon CASTOFF_FAULT=rain run "$castoff" info $part
    cat "$work/out" >>"$work/err"
    ok "info $part: a table that cannot be read is named" err_has "CASTOFF_TUNE: $work/moon: line 1: 'moon' is not node or hosts"
    ok "info $part: a fault that is none is named" err_has "CASTOFF_FAULT=rain: 'rain' is no fault"
done
CASTOFF_TUNE=$work/moon run "$castoff" info --tune
ok "info --tune: a table that cannot be read: status 1" status_is 1
CASTOFF_TRANSPORT=none run "$castoff" info --transports
ok "info: none, shm is off by the setting" out_has '^shm *not usable: off by CASTOFF_TRANSPORT=none$'
ok "info: none, udp is off by the setting" out_has '^udp *not usable: off by CASTOFF_TRANSPORT=none$'
CASTOFF_TRANSPORT=shm run "$castoff" info --transports
ok "info: shm is on where it is asked for" out_has '^shm *\(not \)\?usable: */dev/shm\|^shm *not usable: no segment'
ok "info: shm, udp is off by the setting" out_has '^udp *not usable: off by CASTOFF_TRANSPORT=shm$'
CASTOFF_P2P=no run "$castoff" info --transports
ok "info: messages are off by the setting" out_has '^p2p *not usable: off by CASTOFF_P2P=no$'
CASTOFF_P2P=yes CASTOFF_TRANSPORT=none run "$castoff" info --transports
ok "info: none, messages are off by the setting" out_has '^p2p *not usable: off by CASTOFF_TRANSPORT=none$'
CASTOFF_P2P=yes CASTOFF_P2P_MEMORY=0 run "$castoff" info --transports
ok "info: no memory for messages" out_has '^p2p *not usable: CASTOFF_P2P_MEMORY=0 has no rings'
CASTOFF_P2P=yes run "$castoff" info --transports
ok "info: messages inside a node" out_has '^p2p *usable: .* ranks, .*\(single copy\|in pieces\)\|^p2p *not usable: no rings'
CASTOFF_P2P=yes CASTOFF_ENABLE=no run "$castoff" info --json
ok "info: all is off by CASTOFF_ENABLE" [ "$(grep -c 'off by CASTOFF_ENABLE=no' "$work/out")" -eq 5 ]
run "$castoff" info --transports
ok "info: no coordinator" out_has '^placed *not usable: no coordinator is set (CASTOFF_COORDINATOR)$'
CASTOFF_COORDINATOR=host run "$castoff" info --transports
ok "info: a coordinator without a secret" out_has '^placed *not usable: CASTOFF_COORDINATOR_SECRET names no file$'
CASTOFF_COORDINATOR=host CASTOFF_COORDINATOR_SECRET=$work/none run "$castoff" info --transports
ok "info: a coordinator without the library" out_has '^placed *not usable: libcastoff-group.so is neither beside'
make -s -C "$top" build/libcastoff-group.so && ln -s "$top/build/libcastoff-group.so" "$work/bin"
CASTOFF_COORDINATOR=host CASTOFF_COORDINATOR_SECRET=$work/none run "$castoff" info --transports
ok "info: a coordinator whose secret is not there" out_has "^placed *not usable: secret $work/none: No such file"
head -c 32 /dev/urandom >"$work/secret" && chmod 600 "$work/secret"
CASTOFF_COORDINATOR=host CASTOFF_COORDINATOR_SECRET=$work/secret run "$castoff" info --transports
ok "info: a coordinator and its secret" out_has '^placed *usable: .*coordinator host\|^placed *not usable: no RDMA device'

run "$castoff" info --template
ok "template" out_has 'CASTOFF_BCAST='
run "$castoff" info --json
ok "info --json: settings" out_has '"CASTOFF_BCAST"'
ok "info leaves nothing in /dev/shm" [ -z "$(find /dev/shm -name 'castoff-*' -newer "$work/bin/castoff")" ]
run "$castoff" info --frobnicate
ok "info: bad option" status_is 2

run "$castoff" bench --model --hosts 1024 --radix 32 --leaf 16 --pod 32
ok "model: linear" out_has '^linear  *6191104 '
ok "model: ring" out_has '^ring  *2291520 '
ok "model: recursive doubling" out_has '^recursive doubling  *6191104 '
ok "model: multicast" out_has '^multicast  *1146880 '
run "$castoff" bench --model --hosts 8 --radix 8 --bytes 1M
ok "model: S on one switch" out_has '^ring .* 1.7500$'
ok "model: bytes" out_has '^multicast  *64  *67108864 '
run "$castoff" bench --model --hosts 7 --radix 8
ok "model: no recursive doubling of 7" out_has 'powers of two only'
run "$castoff" bench --model --hosts 100000 --radix 32
ok "model: too many hosts" status_is 2
run "$castoff" bench --model --radix 7
ok "model: odd radix" status_is 2

run "$castoff" bench --sizes 8:x
ok "bench: bad sizes" err_has "'8:x' is no list of sizes"
run "$castoff" bench --calls scan
ok "bench: bad calls" err_has "'scan' is none of the calls"
run "$castoff" bench --set BCATS=no
ok "bench: an unknown setting, said once" [ "$(grep -c 'did you mean CASTOFF_BCAST?' "$work/err")" -eq 1 ]
run "$castoff" bench --rate 200mbit --calls bcast --sizes 8
ok "bench: a rate without the laboratory" err_has '--lab HOSTS is missing'
ok "bench: a rate without the laboratory: status 2" status_is 2
run "$castoff" bench -n 0
ok "bench: bad ranks" status_is 2
refused() { # message, option...: one line, status 2, nothing started
    expected=$1
    shift
    run "$castoff" bench --calls bcast --sizes 8 "$@"
    ok "bench $*: said" err_has "^castoff bench: $expected"
    ok "bench $*: in one line" [ "$(wc -l <"$work/err")" -eq 1 ]
    ok "bench $*: status 2" status_is 2
    ok "bench $*: nothing was started" [ -z "$(cat "$work/out" "$TOOL_TEST_NOTES")" ]
}
refused "--seconds '-3' is no number of seconds from 0 to" --seconds -3
refused "--seconds 'soon' is no number of seconds" --seconds soon
refused "--root 5 is no rank of 2 (0 to 1)$" --root 5
refused "--root 2 is no rank of 2 (0 to 1)$" --root 2 -n 4,2
refused "--root 4 is no rank of 4 (0 to 3)$" --lab 4 --root 4
refused "--seconds '-3' is no number of seconds from 0 to" --lab 2 --seconds -3
refused "--rounds-min '0' is no number from 1" --rounds-min 0
refused "--rounds-min 300 is above --rounds-max 200$" --rounds-min 300
refused "--rounds-min 20 is above --rounds-max 15$" --rounds-max 15 --stock-best
refused "--batch '1x' is no number from 0" --batch 1x
refused "--compute 'think' is none of osu, steps, sleep$" --compute think
refused "--blocks 'odd' is none of growing, equal, long$" --blocks odd
refused "--family 'lam' is none of open-mpi, mpich$" --family lam
refused "--in-turn wants two --calls or more, and 'bcast' is one$" --in-turn
refused "--in-turn is not for 'overlap'$" --in-turn --calls bcast,overlap
refused "--in-turn is not for 'latency'$" --in-turn --calls latency,rate p2p

if ! command -v mpirun >/dev/null; then
    skip "bench" "no mpirun"
    finish
fi
run "$castoff" bench --stock-only -n 2 --sizes 8,100K --seconds 0 --rounds-min 6 --plot --csv "$work/b.csv" \
    --json "$work/b.json" --calls bcast,allgather,iallgather,istart,overlap
ok "stock against stock: status 0" status_is 0
ok "stock against stock: bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 8 ]
ok "stock against stock: overlap" [ "$(grep -c ' ok$' "$work/out")" -eq 4 ]
ok "stock against stock: every call has its table" [ "$(grep -c 'ratio = stock / castoff' "$work/out")" -eq 4 ]
ok "stock against stock: CSV" [ "$(grep -c '^bcast,2,' "$work/b.csv")" -eq 4 ]
ok "stock against stock: JSON" grep -q '"points"' "$work/b.json"
ok "stock against stock: and says so" out_has '^# stock against stock: castoff is not there'
run "$castoff" bench --stock-only -n 2,3 --sizes 8 --seconds 0 --rounds-min 6 --calls overlap
for ranks in 2 3; do
    ok "overlap: $ranks ranks have a table of their own" [ "$(grep -c "overlap .* over $ranks ranks" "$work/out")" -eq 1 ]
done
run "$castoff" bench --stock-only -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls overlap-ibcast,overlap-iallgatherv --csv "$work/b.csv"
ok "overlap: of each call a table of its own" [ "$(grep -c '^# MPI_I.*, overlap .* over 2 ranks' "$work/out")" -eq 2 ]
ok "overlap: bytes right" [ "$(grep -c ' ok$' "$work/out")" -eq 4 ]
ok "overlap: CSV names the call" [ "$(grep -c '^overlap-ibcast,2,8,' "$work/b.csv")" -eq 2 ]
for blocks in growing equal long; do
    run "$castoff" bench --stock-only -n 3 --sizes 8,1000 --seconds 0 --rounds-min 6 --calls allgatherv,iallgatherv --blocks $blocks
    ok "blocks $blocks: bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 4 ]
done
# This library counts what the first rank makes, starts and frees.
cat >"$work/counts.c" <<'END'
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
static int made, started, freed;
int MPIX_Bcast_init(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    made++;
    return PMPIX_Bcast_init(buffer, count, type, root, comm, info, request);
}
int MPIX_Allgather_init(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                        MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    made += 100;
    return PMPIX_Allgather_init(send, count, type, receive, receive_count, receive_type, comm, info, request);
}
int MPIX_Allgatherv_init(const void *send, int count, MPI_Datatype type, void *receive, const int *counts, const int *places,
                         MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    made += 10000;
    return PMPIX_Allgatherv_init(send, count, type, receive, counts, places, receive_type, comm, info, request);
}
int MPI_Start(MPI_Request *request)
{
    started++;
    return PMPI_Start(request);
}
int MPI_Request_free(MPI_Request *request)
{
    freed++;
    return PMPI_Request_free(request);
}
int MPI_Finalize(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = rank == 0 ? fopen(getenv("COUNTS"), "w") : NULL;
    if (file) {
        fprintf(file, "%d %d %s\n", made, freed, started >= 12 * (1 + 6 * 2) ? "many" : "few");
        fclose(file);
    }
    return PMPI_Finalize();
}
END
mpicc -shared -fPIC -o "$work/counts.so" "$work/counts.c" || exit 1
run "$castoff" bench --stock-only -n 2 --sizes 8,100K --seconds 0 --rounds-min 6 --rounds-max 6 --batch 2 \
    --calls persistent-bcast,persistent-allgather,persistent-allgatherv --mpirun-options "-x LD_PRELOAD=$work/counts.so -x COUNTS=$work/counts"
ok "persistent: bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 6 ]
ok "persistent: every call has its table" [ "$(grep -c '^# MPI_Start and MPI_Wait of MPIX_.*ratio = stock / castoff' "$work/out")" -eq 3 ]
ok "persistent: made once for each of two sides and sizes, started many times, freed" [ "$(cat "$work/counts")" = "40404 12 many" ]
run "$castoff" bench --stock-only -n 2 --sizes 100K,8 --seconds 0 --rounds-min 6 --in-turn --blocks equal \
    --calls allgatherv,allgather,persistent-allgather --csv "$work/b.csv" --json "$work/b.json"
ok "in turn: bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 6 ]
ok "in turn: every call has one table" [ "$(grep -c 'ratio = stock / castoff' "$work/out")" -eq 3 ]
ok "in turn: held against the first" out_has '^# in turn: time of allgatherv over that of the call'
ok "in turn: at each size, on both sides" [ "$(grep -c '^ *[0-9]*  *2 \(persistent-\)*allgather  *\(castoff\|stock\) ' "$work/out")" -eq 8 ]
ok "in turn: CSV" [ "$(grep -c '^allgatherv/allgather,2,' "$work/b.csv")" -eq 4 ]
ok "in turn: JSON" [ "$(grep -c '"first": "allgatherv"' "$work/b.json")" -eq 8 ]
ok "in turn: as many calls in a sample" [ "$(awk -F, '$3 == 8 && $4 == "castoff" && $6 != "" { print $6 }' "$work/b.csv" | sort -u | wc -l)" -eq 1 ]
run "$castoff" bench -n 3 --sizes 1000 --seconds 0 --rounds-min 20 --stock-best --calls allgatherv --blocks long --csv "$work/b.csv"
ok "stock's best: allgatherv's algorithms" [ "$(grep -c '^allgatherv,3,1000,stock,allgatherv-[1-4],' "$work/b.csv")" -eq 4 ]
ok "stock's best: none that is for two ranks, and each with castoff beside it" [ "$(grep -c '^allgatherv,3,1000,castoff,allgatherv-' "$work/b.csv")" -eq 4 ]
# By the clock of this library communication takes 1 s at first and then 3 s.
cat >"$work/longer.c" <<'END'
#include <mpi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long milliseconds, waits;
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    milliseconds++;
    now->tv_sec += milliseconds / 1000;
    now->tv_nsec += milliseconds % 1000 * 1000000;
    now->tv_sec += now->tv_nsec / 1000000000;
    now->tv_nsec %= 1000000000;
    return failed;
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    milliseconds += waits++ < 10 ? 1000 : 3000;
    return PMPI_Wait(request, status);
}
END
mpicc -shared -fPIC -o "$work/longer.so" "$work/longer.c" || exit 1
run "$castoff" bench --stock-only -n 2 --sizes 8 --rounds-min 15 --calls overlap --mpirun-options "-x LD_PRELOAD=$work/longer.so"
ok "overlap: computes as long as communication takes by now" [ "$(awk '$1 == 8 { n += $5 >= 3e6 } END { print n }' "$work/out")" -eq 2 ]
for option in json csv svg; do
    run "$castoff" bench --stock-only -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast "--$option" "$work/none/x"
    ok "--$option: a place that cannot be written is named" err_has "cannot write $work/none/x: No such file"
    ok "--$option: before anything is measured" [ ! -s "$work/out" ]
    ok "--$option: status 1" status_is 1
done
printf 'bcast hosts ranks 2- bytes 1- decline\nbcast node ranks 2- bytes 3-4 decline\n' >"$work/table"
run "$castoff" bench --stock-only -n 2,3 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast --tune "$work/table"
ok "tune: status 0" status_is 0
ok "tune: rows of other places stay" grep -q '^bcast hosts ranks 2- bytes 1- decline$' "$work/table"
ok "tune: rows of this place go" [ -z "$(grep 'bytes 3-4' "$work/table")" ]
# Where nothing but noise lies between the sides, one of them may have been slower at one number of ranks: two rows.
ok "tune: a row has all dimensions" eval 'grep -q "^bcast node ranks 2- ranks_per_node 2- transport shm bytes 1- take$" "$work/table" ||
    grep -q "^bcast node ranks [23]-[23]* ranks_per_node [23]-[23]* transport shm bytes 1- decline$" "$work/table"'
ok "tune: the file says when and on what" grep -q '^# measured 20[0-9-]* [0-9:]* UTC on .* cores, Linux ' "$work/table"
ok "tune: and by which command" grep -q '^# command: castoff bench --stock-only -n 2,3 --sizes 8 ' "$work/table"
rm "$work/table"
family=ibcast,iallgather,allgatherv,iallgatherv
run "$castoff" bench --stock-only -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls $family,persistent-bcast --blocks long --tune "$work/family"
ok "tune: rows for each call, of persistent ones none" [ "$(sed -En 's/ node ranks .* (take|decline)$//p' "$work/family" | uniq | paste -sd,)" = $family ]
run "$castoff" bench -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast --set NODE_RANKS=1 --set PROBE=20s --tune "$work/table"
ok "tune: nodes are those of castoff" grep -q '^bcast hosts ranks 2- ranks_per_node 1-1 transport udp ' "$work/table"
printf 'nonsense\n' >"$work/table"
run "$castoff" bench --stock-only -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast --tune "$work/table"
ok "tune: a file that is no table is not overwritten" grep -q nonsense "$work/table"
ok "tune: before anything is measured" [ ! -s "$work/out" ]
ok "tune: and named" err_has "^castoff bench: the table is not written: $work/table: line 1: "
run "$castoff" bench --stock-only -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast --tune "$work/none/table"
ok "tune: a place that cannot be written is named" err_has "table is not written: $work/none/table: No such file"
ok "tune: once" [ "$(grep -o "$work/none/table" "$work/err" | wc -l)" -eq 1 ]
ok "tune: a place that cannot be written: status 1" status_is 1
run "$castoff" bench -n 2 --sizes 8 --seconds 0 --rounds-min 6 --calls bcast --force
ok "the preload reaches the benchmark's ranks" loaded_into coll
cat >"$work/lab-mpirun" <<'END'
#!/bin/sh
printf 'row bcast 8 1 %s 0 6 1 1 1 1 1 1\n' castoff stock && echo '[0@h0:1 pmpi] warn: castoff is off for this job, which runs on native MPI: why' >&2
END
chmod +x "$work/lab-mpirun"
for set in BCAST=yes ENABLE=no; do
    CASTOFF_LAB_HOSTS=2 CASTOFF_LAB_MPIRUN=$work/lab-mpirun CASTOFF_LAB_MPIRUN_ARGS=--host run "$castoff" bench --set $set -n 2 --sizes 8 --calls bcast
    ok "castoff off, $set: said, no table, status 1" eval 'status_is 1 && err_has "^castoff bench: castoff is off .*: nothing to compare" && [ ! -s "$work/out" ]'
done
cat >"$work/lab-mpirun" <<'END'
#!/bin/sh
echo '[h0:1] plm:rsh: Warning: setpgid(2,2) failed in parent with errno=Permission denied(13)' >&2
echo 'a word that matters' >&2
printf 'another one, without an end' >&2
exit 7
END
CASTOFF_LAB_HOSTS=2 CASTOFF_LAB_MPIRUN=$work/lab-mpirun CASTOFF_LAB_MPIRUN_ARGS=--host run "$castoff" bench --stock-only -n 2
ok "the laboratory: the job's status" status_is 7
ok "the laboratory: words of the job" err_has '^a word that matters$'
ok "the laboratory: to the last one" err_has '^another one, without an end'
ok "the laboratory: without mpirun's race at its start" [ "$(grep -c setpgid "$work/err")" -eq 0 ]
mv "$work/bin/bench" "$work/bin/away"
run "$castoff" bench -n 2
ok "missing program: said" err_has 'make bench-programs'

# MPICH, with stand-ins for its launcher and its program.
run "$castoff" bench --family mpich -n 2
ok "MPICH: its missing program: said" err_has 'make bench-mpich'
ok "MPICH: its missing program: status 127" status_is 127
mkdir -p "$work/bin/bench/mpich" "$work/path"
printf '#!/bin/sh\n' >"$work/bin/bench/mpich/coll"
cp "$work/bin/bench/mpich/coll" "$work/bin/bench/mpich/p2p"
cat >"$work/path/mpiexec.mpich" <<'END'
#!/bin/sh
echo "mpiexec $*" >&2
echo "row bcast 8 1 castoff 0 6 10 10 10 10 10 10"
echo "row bcast 8 1 stock 0 6 20 20 20 20 20 20"
END
chmod +x "$work/bin/bench/mpich"/* "$work/path/mpiexec.mpich"
run env PATH="$work/path:$PATH" "$castoff" bench --family mpich -n 2 --calls bcast --sizes 8
ok "MPICH: its library is not here: said" err_has 'libcastoff-mpich.so is neither'
: >"$work/bin/libcastoff-mpich.so"
run env PATH="$work/path:$PATH" "$castoff" bench --family mpich -n 2 --calls bcast --sizes 8 --stock-best --csv "$work/b.csv"
ok "MPICH: by its launcher, in one job" [ "$(grep -c '^mpiexec -n 2 ' "$work/err")" -eq 1 ]
ok "MPICH: its program, under castoff" err_has ' run .*/bench/mpich/coll --calls bcast '
ok "MPICH: no words for Open MPI" [ "$(grep -cE -e '--mca|oversubscribe' "$work/err")" -eq 0 ]
ok "MPICH: what came out" grep -q '^bcast,2,8,stock,default,.*,2.0' "$work/b.csv"
run env PATH="$work/path:$PATH" "$castoff" bench p2p --family mpich -n 2 --calls latency --sizes 8
ok "MPICH: nobody asks for messages, which stay its own" [ "$(grep -c CASTOFF_P2P "$work/err")" -eq 0 ]
CASTOFF_LAB_HOSTS=2 CASTOFF_LAB_MPIRUN=none CASTOFF_LAB_MPIEXEC=$work/path/mpiexec.mpich run "$castoff" bench --family mpich \
    -n 2 --calls bcast --sizes 8
ok "MPICH: the laboratory's launcher" err_has '^mpiexec -n 2 '
finish
