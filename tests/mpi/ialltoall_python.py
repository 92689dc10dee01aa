#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# All-to-alls from mpi4py, which asks for MPI_THREAD_MULTIPLE: buffers of all sizes, unequal blocks, in place, and
# requests that are tested and waited for in bulk.
# ranks: 2 3
# environment: CASTOFF_PROXY=yes
# expect: right values
# taken: MPI_Ialltoall MPI_Ialltoallv
import array
import sys

try:
    from mpi4py import MPI
except ImportError as error:
    print("skipped:", error, file=sys.stderr)
    sys.exit(77)

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
failures = 0


def expect(holds, what):
    global failures
    if not holds:
        failures += 1
        print(f"rank {rank}: FAILED: {what}", file=sys.stderr)


def value(sender, receiver, number):
    return 10000 * sender + 100 * receiver + number


def blocks(length, senders, receivers, number):
    return array.array("i", [value(s, r, number) for s in senders for r in receivers for _ in range(length)])


def use_equal(comm):
    everybody = range(comm.size)
    requests, received, wanted = [], [], []
    for number, length in enumerate((0, 1, 49, 5000, 100001)):
        sent = blocks(length, [comm.rank], everybody, number)
        into = array.array("i", [-1] * (length * comm.size))
        requests.append(comm.Ialltoall(sent, into))
        received.append((into, sent))
        wanted.append(blocks(length, everybody, [comm.rank], number))
        in_place = blocks(length, [comm.rank], everybody, number + 50)
        requests.append(comm.Ialltoall(MPI.IN_PLACE, in_place))
        received.append((in_place, None))
        wanted.append(blocks(length, everybody, [comm.rank], number + 50))
    while not requests[0].Test():
        pass
    MPI.Request.Waitall(requests)
    for (into, _), right in zip(received, wanted):
        expect(into == right, f"Ialltoall of {len(into)} ints")


def use_unequal(comm):
    everybody = range(comm.size)
    counts = [10 * ((comm.rank + other) % 3) for other in everybody]
    places = [30 * (comm.size - 1 - other) for other in everybody]
    sent, right = (array.array("i", [-1] * (30 * comm.size)) for _ in range(2))
    for other in everybody:
        for i in range(counts[other]):
            sent[places[other] + i] = value(comm.rank, other, i)
            right[places[other] + i] = value(other, comm.rank, i)
    into = array.array("i", [-1] * (30 * comm.size))
    comm.Ialltoallv([sent, counts, places, MPI.INT], [into, counts, places, MPI.INT]).Wait()
    expect(into == right, "Ialltoallv")


use_equal(world)
use_unequal(world)
half = world.Split(rank % 2, -rank)
use_equal(half)
half.Free()
total = world.allreduce(failures)
if rank == 0:
    print("right" if total == 0 else f"{total} failures")
sys.exit(1 if total else 0)
