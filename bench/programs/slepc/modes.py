# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The smallest eigenvalues of a Laplacian on a square, by Krylov-Schur and by LOBPCG.
import sys

import slepc4py

slepc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

n = 260
matrix = PETSc.Mat().createAIJ([n * n, n * n], nnz=5)
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    x, y = row % n, row // n
    matrix[row, row] = 4
    for column, inside in ((row - 1, x > 0), (row + 1, x < n - 1), (row - n, y > 0), (row + n, y < n - 1)):
        if inside:
            matrix[row, column] = -1
matrix.assemble()
for kind in (SLEPc.EPS.Type.KRYLOVSCHUR, SLEPc.EPS.Type.LOBPCG):
    solver = SLEPc.EPS().create()
    solver.setOperators(matrix)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setType(kind)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL if kind == SLEPc.EPS.Type.LOBPCG else SLEPc.EPS.Which.LARGEST_REAL)
    solver.setDimensions(6)
    solver.setTolerances(1e-9, 400)
    solver.solve()
    found = " ".join(f"{solver.getEigenvalue(i).real:.5f}" for i in range(min(4, solver.getConverged())))
    PETSc.Sys.Print(f"values of {kind}: {found}")
