# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Three-dimensional transforms, forth and back.
import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

ranks = MPI.COMM_WORLD
shape = (160, 160, 160)
plan = PFFT(ranks, shape, axes=(0, 1, 2), dtype=numpy.float64, grid=(-1,))
field = newDistArray(plan, False)
field[:] = numpy.random.RandomState(5).rand(*shape)[field.local_slice()]
for _ in range(20):
    waves = plan.forward(field)
    again = plan.backward(waves)
error = ranks.allreduce(abs(again - field).max(), op=MPI.MAX)
total = ranks.allreduce((abs(numpy.asarray(waves)) ** 2).sum())
if ranks.rank == 0:
    print(f"sum {total:.9e}, {'right' if error < 1e-12 else 'wrong'}")
