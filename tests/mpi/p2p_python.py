#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Sends and receives from mpi4py, which asks for MPI_THREAD_MULTIPLE: buffers of all sizes in every mode, statuses,
# wildcards, truncation as an exception, requests that are tested and waited for in bulk.
# ranks: 2 3
# environment: CASTOFF_P2P=yes
# expect: right values and statuses
import sys

try:
    from mpi4py import MPI
except ImportError as error:
    print("skipped:", error, file=sys.stderr)
    sys.exit(77)

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
to, source = (rank + 1) % size, (rank - 1) % size
failures = 0


def expect(holds, what):
    global failures
    if not holds:
        failures += 1
        print(f"rank {rank}: FAILED: {what}", file=sys.stderr)


def pattern(length, sender):
    return bytearray((i * 31 + sender) & 255 for i in range(length))


def use_modes(comm):
    for start in (comm.Isend, comm.Issend):
        for length in (0, 1, 104, 105, 4096, 4097, 70000, 2000001):
            received, status = bytearray(length + 1), MPI.Status()
            request = start([pattern(length, rank), MPI.BYTE], to, length % 1000)
            comm.Recv([received, MPI.BYTE], MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            request.Wait()
            told = (status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE))
            expect(told == (source, length % 1000, length), f"status of {length} bytes: {told}")
            expect(received[:length] == pattern(length, source), f"{length} bytes")


def use_many(comm):
    buffers = [bytearray(500) for _ in range(200)]
    requests = [comm.Irecv([buffer, MPI.BYTE], source, i) for i, buffer in enumerate(buffers)]
    requests += [comm.Isend([pattern(500, i), MPI.BYTE], to, i) for i in range(199, -1, -1)]
    while not MPI.Request.Testall(requests):
        pass
    expect(all(buffer == pattern(500, i) for i, buffer in enumerate(buffers)), "200 of 500 bytes")


def use_truncation(comm):
    request = comm.Isend([bytearray(100), MPI.BYTE], to, 3)
    try:
        comm.Recv([bytearray(50), MPI.BYTE], source, 3)
        expect(False, "a message that is too long was received")
    except MPI.Exception as error:
        expect(error.Get_error_class() == MPI.ERR_TRUNCATE, "class of a message that is too long")
    request.Wait()


use_modes(world)
use_many(world)
use_truncation(world)
comm = world.Dup()
use_modes(comm)
comm.Free()
total = world.allreduce(failures)
if rank == 0:
    print("failures:", total)
sys.exit(1 if total else 0)
