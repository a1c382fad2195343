# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A file that all ranks write and read together.
import h5py
import numpy
from mpi4py import MPI

ranks = MPI.COMM_WORLD
n = 6_000_000
with h5py.File("together.h5", "w", driver="mpio", comm=ranks) as file:
    rows = file.create_dataset("rows", (ranks.size, n), dtype="f8")
    for turn in range(8):
        with rows.collective:
            rows[ranks.rank, :] = numpy.arange(n) + float(ranks.rank + turn)
with h5py.File("together.h5", "r", driver="mpio", comm=ranks) as file:
    with file["rows"].collective:
        next_row = file["rows"][(ranks.rank + 1) % ranks.size, :]
        columns = file["rows"][:, ranks.rank :: 16]
sums = [ranks.allreduce(float(part.sum())) for part in (next_row, columns)]
if ranks.rank == 0:
    print(f"sums {sums[0]:.10e} {sums[1]:.10e}")
