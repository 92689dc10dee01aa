#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# The calls from mpi4py, which asks for MPI_THREAD_MULTIPLE, finalizes in an exit handler and has
# callbacks of its own on COMM_SELF: buffers, pickled objects (many small collectives underneath), in
# place, mixed requests, sub-communicators.
# ranks: 2 3
# expect: right values, the level that mpi4py asked for
# taken: MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv
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


def use_buffers(comm):
    for root in range(comm.size):
        for length in (0, 1, 49, 5000, 300001):
            data = bytearray((i * 31 + root) & 255 for i in range(length))
            buffer = data if comm.rank == root else bytearray(length)
            comm.Bcast([buffer, MPI.BYTE], root)
            expect(buffer == data, f"Bcast of {length} bytes from {root}")
    mine = array.array("d", [comm.rank + 0.25] * 7001)
    gathered = array.array("d", [0.0] * (7001 * comm.size))
    comm.Allgather(mine, gathered)
    expected = array.array("d", [r + 0.25 for r in range(comm.size) for _ in range(7001)])
    expect(gathered == expected, "Allgather")
    comm.Allgather(MPI.IN_PLACE, gathered)
    expect(gathered == expected, "Allgather in place")


def use_uneven(comm):
    counts = [100 * r + 1 for r in range(comm.size)]
    places = [1000 * (comm.size - 1 - r) + 3 for r in range(comm.size)]
    expected = array.array("i", [-1] * (1000 * comm.size + 3))
    for r in range(comm.size):
        for i in range(counts[r]):
            expected[places[r] + i] = r + i
    for call in ("Allgatherv", "Iallgatherv"):
        mine = array.array("i", [comm.rank + i for i in range(counts[comm.rank])])
        gathered = array.array("i", [-1] * (1000 * comm.size + 3))
        request = getattr(comm, call)(mine, [gathered, counts, places, MPI.INT])
        if request is not None:
            request.Wait()
        expect(gathered == expected, call)


def use_objects(comm):
    for root in range(comm.size):
        value = comm.bcast({"root": root, "text": "x" * 1000} if comm.rank == root else None, root)
        expect(value == {"root": root, "text": "x" * 1000}, "bcast of an object")
    expect(comm.allgather((comm.rank, "y")) == [(r, "y") for r in range(comm.size)], "allgather")


def use_requests(comm):
    mine = [array.array("i", [comm.rank + 100 * i] * 500) for i in range(20)]
    gathered = [array.array("i", [-1] * (500 * comm.size)) for _ in range(20)]
    requests = [comm.Iallgather(mine[i], gathered[i]) for i in range(20)]
    shared = [array.array("i", [i if comm.rank == i % comm.size else -1] * 700) for i in range(20)]
    requests += [comm.Ibcast(shared[i], i % comm.size) for i in range(20)]
    requests.append(comm.isend("token", (comm.rank + 1) % comm.size, 5))
    token = comm.recv(None, (comm.rank - 1) % comm.size, 5)
    MPI.Request.Waitall(requests)
    expect(token == "token", "message")
    for i in range(20):
        expected = [r + 100 * i for r in range(comm.size) for _ in range(500)]
        expect(list(gathered[i]) == expected, f"Iallgather {i}")
        expect(list(shared[i]) == [i] * 700, f"Ibcast {i}")


use_buffers(world)
use_objects(world)
use_requests(world)
use_uneven(world)
part = world.Split(rank % 2, -rank)
use_buffers(part)
use_objects(part)
part.Free()
total = world.allreduce(failures)
if rank == 0:
    names = {MPI.THREAD_SINGLE: "single", MPI.THREAD_FUNNELED: "funneled",
             MPI.THREAD_SERIALIZED: "serialized", MPI.THREAD_MULTIPLE: "multiple"}
    print(f"mpi4py on {size} ranks: level {names[MPI.Query_thread()]}, {total} failures")
sys.exit(1 if total else 0)
