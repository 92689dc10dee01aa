#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# An mpi4py program as people write them: pickled objects, a ring, a master that hands out work.
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

words = comm.bcast({"seed": 7, "names": ["x%d" % i for i in range(1000)]} if rank == 0 else None)
assert words["names"][999] == "x999"

# a ring of objects
item = {"from": rank, "body": "y" * (rank * 5000)}
got = comm.sendrecv(item, dest=(rank + 1) % size, source=(rank - 1) % size)
assert got["from"] == (rank - 1) % size and len(got["body"]) == got["from"] * 5000

# a master that hands out work to whoever asks
TASKS = 200
if rank == 0:
    results, given, working = {}, 0, size - 1
    while working > 0:
        status = MPI.Status()
        answer = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        if status.tag == 2:
            results[answer[0]] = answer[1]
        task = given if given < TASKS else None
        given += task is not None
        working -= task is None
        comm.send(task, dest=status.source, tag=3)
    assert size == 1 or results == {i: i * i for i in range(TASKS)}
else:
    comm.send(None, dest=0, tag=1)
    while True:
        task = comm.recv(source=0, tag=3)
        if task is None:
            break
        comm.send((task, task * task), dest=0, tag=2)

comm.barrier()
all_ranks = comm.allgather((rank, "z" * 3000))
assert [pair[0] for pair in all_ranks] == list(range(size))
if rank == 0:
    print("done", size, sum(len(pair[1]) for pair in all_ranks))
