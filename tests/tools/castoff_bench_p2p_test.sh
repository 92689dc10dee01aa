#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff bench p2p: bad options, stock compared with stock by the real benchmark program, which settings the ranks get,
# and that a byte that is wrong is found.
. "$(dirname "$0")/check.sh"

run "$castoff" bench p2p --calls bcast
ok "a collective is no message" err_has "'bcast' is none of the calls latency, bandwidth, one-way, exchange, sendrecv, persistent, probe, test, ssend, vector, rate, "
ok "a collective is no message: status 2" status_is 2
run "$castoff" bench --calls latency
ok "a message is no collective" err_has "'latency' is none of the calls bcast, "
run "$castoff" bench --depths 16
ok "depths without p2p" err_has 'castoff bench p2p'
ok "depths without p2p: status 2" status_is 2
for depths in 16,x 0:8 ''; do
    run "$castoff" bench p2p --depths "$depths"
    ok "bad depths '$depths'" err_has "'$depths' is no list of depths"
done
run "$castoff" bench p2p -n 2,3
ok "an odd number of ranks" err_has '3 is odd'
run "$castoff" bench p2p --tune "$work/table"
ok "there is no table for messages" err_has 'are for collectives, not for p2p'
run "$castoff" bench p2p again
ok "one word too many" err_has "'again' is not an option"

if ! command -v mpirun >/dev/null; then
    skip "bench p2p" "no mpirun"
    finish
fi
short="--seconds 0 --rounds-min 6"
# shellcheck disable=SC2086 # several words
run "$castoff" bench p2p --stock-only $short --sizes 1,5000 --depths 0,20 --plot --csv "$work/b.csv" --json "$work/b.json"
ok "stock against stock: status 0" status_is 0
ok "stock against stock: all bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 39 ]
ok "stock against stock: every call has its table" [ "$(grep -c 'ratio = stock / castoff' "$work/out")" -eq 20 ]
ok "stock against stock: sizes" [ "$(grep -c '^#   size B' "$work/out")" -eq 10 ]
ok "stock against stock: depths" [ "$(grep -c '^#    depth' "$work/out")" -eq 10 ]
ok "stock against stock: and says so" out_has '^# stock against stock: castoff is not there'
ok "stock against stock: a plot" out_has '^# unexpected-any-reverse 20  *\['
ok "stock against stock: CSV, two sides at each point" [ "$(grep -c '^posted-any-reverse,2,' "$work/b.csv")" -eq 4 ]
ok "stock against stock: JSON has depths" [ "$(grep -c '"depth": 20' "$work/b.json")" -eq 10 ]
ok "stock against stock: JSON has sizes" [ "$(grep -c '"bytes": 5000' "$work/b.json")" -eq 10 ]
# shellcheck disable=SC2086
run "$castoff" bench p2p -n 4 --stock-only $short --batch 2 --sizes 8 --depths 3 --calls latency,posted-reverse,unexpected
ok "two pairs: bytes right" [ "$(grep -c ' ok ' "$work/out")" -eq 3 ]

# A library in which the first wait of each sample takes 1000 s by the clock that it offers: only a turn that is not timed
# may meet it.
cat >"$work/first.c" <<'END'
#include <mpi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int waits;
static time_t offset;
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += offset;
    return failed;
}
int MPI_Barrier(MPI_Comm comm)
{
    waits = 0;
    return PMPI_Barrier(comm);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    offset += waits++ == 0 ? 1000 : 0;
    return PMPI_Waitall(count, requests, statuses);
}
END
mpicc -shared -fPIC -o "$work/first.so" "$work/first.c" || exit 1
# shellcheck disable=SC2086
run "$castoff" bench p2p --stock-only --seconds 0 --rounds-min 1 --rounds-max 1 --batch 1 --depths 1 \
    --calls posted-reverse --csv "$work/first.csv" --mpirun-options "-x LD_PRELOAD=$work/first.so"
ok "the first turn of a sample is not timed" [ "$(awk -F, '$1 == "posted-reverse" { n += $8 < 1e6 } END { print n }' "$work/first.csv")" -eq 2 ]
if command -v gnuplot >/dev/null; then
    # shellcheck disable=SC2086
    run "$castoff" bench p2p --stock-only $short --sizes 8 --depths 0,4 --calls latency,posted --svg "$work/b.svg"
    ok "SVG: a panel a call, each with both sides" \
        [ "$(grep -c '<text>stock<\|<text>castoff<\|<text><tspan[^>]*>stock<\|<text><tspan[^>]*>castoff<' "$work/b.svg")" -eq 4 ]
    ok "SVG: no raw powers of ten" sh -c '! grep -q "e+0[0-9]" "$1"' - "$work/b.svg"
else
    skip "SVG" "no gnuplot"
fi

# A library that sends other bytes than it was given: every kind of call must see it.
cat >"$work/spoil.c" <<'END'
#include <mpi.h>
static const char zeros[64];
int MPI_Send(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Send(count ? zeros : bytes, count, type, to, tag, comm);
}
int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Isend(count ? zeros : bytes, count, type, to, tag, comm, request);
}
int MPI_Ssend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Ssend(count ? zeros : bytes, count, type, to, tag, comm);
}
int MPI_Send_init(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Send_init(count ? zeros : bytes, count, type, to, tag, comm, request);
}
int MPI_Sendrecv(const void *bytes, int count, MPI_Datatype type, int to, int tag, void *buffer, int room,
                 MPI_Datatype received, int from, int its_tag, MPI_Comm comm, MPI_Status *status)
{
    return PMPI_Sendrecv(zeros, count, type, to, tag, buffer, room, received, from, its_tag, comm, status);
}
END
mpicc -shared -fPIC -o "$work/spoil.so" "$work/spoil.c" || exit 1
# shellcheck disable=SC2086
run "$castoff" bench p2p --stock-only $short --sizes 8 --depths 2 --mpirun-options "-x LD_PRELOAD=$work/spoil.so"
ok "wrong bytes: found by every call" [ "$(grep -c ' WRONG:[1-9]' "$work/out")" -eq 20 ]
ok "wrong bytes: status 1" status_is 1

# What the ranks are given: messages on, unless somebody says otherwise.
cat >"$work/lab-mpirun" <<'END'
#!/bin/sh
printf '%s ' "$@" >&2
exit 7
END
chmod +x "$work/lab-mpirun"
given() { # option...
    CASTOFF_LAB_HOSTS=2 CASTOFF_LAB_MPIRUN=$work/lab-mpirun run "$castoff" bench p2p "$@"
}
given
ok "messages are on" err_has '--set CASTOFF_P2P=yes .*bench/p2p --calls latency,bandwidth,one-way,exchange,sendrecv,'
ok "usual depths" err_has '--depths 0,16,128,1024,4096,16384 '
given --set P2P=auto
ok "a setting comes after it" err_has 'CASTOFF_P2P=yes .*P2P=auto'
CASTOFF_P2P=auto given
ok "the environment stays" [ "$(grep -c 'CASTOFF_P2P=yes' "$work/err")" -eq 0 ]
cat >"$work/lab-mpirun" <<'END'
#!/bin/sh
case "$*" in
*"--mca pml ucx"*) times="20 20 20 20 20 20 20 20 20 20 20 20" ;;
*) times="40 40 40 40 40 40 40 40 40 40 40 40" ;;
esac
echo "row posted 16 1 castoff 0 12 10 10 10 10 10 10 10 10 10 10 10 10"
echo "row posted 16 1 stock 0 12 $times"
END
given --stock-best --calls posted
ok "the better of default and ucx" out_has '^  *16 .* 2\.00 .* ok  *stock@ucx$'
finish
