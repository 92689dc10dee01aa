#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sharded.py [STEPS [LAYERS [PARAMETERS]]]: training with sharded parameters, as large models are trained.

Every rank holds its shard of each layer. A step gathers a layer whole (Allgather), computes with it, and sends each rank
the sum of its shard's gradients (Reduce_scatter); backwards the layers are gathered once more. Numbers are small whole
numbers in floats, so that sums are exact in any order; rank 0 prints one line that is the same in every run. For figure
M48.
"""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
steps, layers, parameters = (int(word) for word in (sys.argv[1:] + ["4", "4", "1048576"][len(sys.argv) - 1:]))
shard = -(-parameters // comm.size)
shards = [numpy.full(shard, (comm.rank + layer) % 7, dtype=numpy.float32) for layer in range(layers)]
whole = numpy.empty(shard * comm.size, dtype=numpy.float32)
mine = numpy.empty(shard, dtype=numpy.float32)
side = 256
batch = numpy.ones((32, side), dtype=numpy.float32)


def compute(weights):
    """A layer as products of the batch with blocks of its weights; gives what depends on all of them."""
    blocks = weights[: len(weights) // (side * side) * side * side].reshape(-1, side, side)
    return sum(float((batch @ block)[0, 0]) for block in blocks[:8])


check = 0.0
for step in range(steps):
    for layer in range(layers):
        comm.Allgather(shards[layer], whole)
        check += compute(whole)
    for layer in reversed(range(layers)):
        comm.Allgather(shards[layer], whole)
        check += compute(whole)
        gradients = whole % 3
        comm.Reduce_scatter_block(gradients, mine)
        shards[layer] = (shards[layer] + mine) % 7
checks = comm.gather((check, [float(part.sum()) for part in shards]))
if comm.rank == 0:
    assert len({pair[0] for pair in checks}) == 1
    print("sharded", comm.size, check, sum(sum(pair[1]) for pair in checks))
