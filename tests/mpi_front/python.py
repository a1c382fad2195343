# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# mpi4py loads its MPI library late and privately, when python is long under way.
import array
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
mine = array.array("d", [comm.rank + i for i in range(20000)])
total = array.array("d", bytes(8 * 20000))
comm.Allreduce(mine, total)
half = comm.Split(comm.rank % 2)
one = half.allreduce(1)
into = array.array("d", bytes(8 * 20000))
comm.Sendrecv(mine, (comm.rank + 1) % comm.size, 0, into, (comm.rank - 1) % comm.size, 0)
objects = comm.allgather({"rank": comm.rank})
if comm.rank == 0:
    print(sum(total), one, sum(into), objects, MPI.Get_library_version().split()[0])
    sys.stdout.flush()
half.Free()
