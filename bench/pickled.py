#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pickled.py [ROUNDS]: rank 0 hands out Python objects of 16, 32 and 64 MB, as mpi4py programs do: comm.bcast, pickled.

Every rank looks at what it got, and rank 0 prints one line that is the same in every run. For figure M48.
"""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
total = 0
for turn in range(rounds):
    for megabytes in (16, 32, 64):
        model = None
        if comm.rank == 0:
            count = megabytes * 1000000 // 8 // 4
            layers = {f"layer{i}": numpy.arange(count, dtype=numpy.int64) + turn + i for i in range(4)}
            model = {"turn": turn, "names": list(layers), "layers": layers}
        model = comm.bcast(model)
        assert model["turn"] == turn and len(model["names"]) == 4
        total += sum(int(model["layers"][name].sum()) % 1000003 for name in model["names"])
totals = comm.gather(total)
if comm.rank == 0:
    assert len(set(totals)) == 1
    print("pickled", comm.size, total)
