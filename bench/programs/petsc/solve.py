# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A Poisson problem on a cube by several of PETSc's solvers, and those of hypre, MUMPS and SuperLU_DIST.
import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

SOLVERS = {
    "conjugate gradients, block Jacobi": ("cg", "bjacobi", None),
    "GMRES, additive Schwarz": ("gmres", "asm", None),
    "conjugate gradients, GAMG": ("cg", "gamg", None),
    "conjugate gradients, hypre": ("cg", "hypre", None),
    "pipelined conjugate gradients": ("pipecg", "jacobi", None),
    "MUMPS": ("preonly", "lu", "mumps"),
    "SuperLU_DIST": ("preonly", "lu", "superlu_dist"),
}


def laplacian(n):
    grid = PETSc.DMDA().create([n, n, n], stencil_width=1, setup=True)
    matrix = grid.createMatrix()
    row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    (x0, x1), (y0, y1), (z0, z1) = grid.getRanges()
    steps = ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
    for z in range(z0, z1):
        for y in range(y0, y1):
            for x in range(x0, x1):
                row.index = (x, y, z)
                for dx, dy, dz in steps:
                    there = (x + dx, y + dy, z + dz)
                    if all(0 <= i < n for i in there):
                        column.index = there
                        matrix.setValueStencil(row, column, 6.0 if (dx, dy, dz) == (0, 0, 0) else -1.0)
    matrix.assemble()
    return matrix


matrix = laplacian(PETSc.Options().getInt("n", 38))
right = matrix.createVecLeft()
first, last = right.getOwnershipRange()
right.setArray(1 + numpy.sin(0.01 * numpy.arange(first, last)))
for name, (method, preconditioner, package) in SOLVERS.items():
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(method)
    solver.setTolerances(rtol=1e-8)
    solver.getPC().setType(preconditioner)
    if package:
        solver.getPC().setFactorSolverType(package)
    answer = right.duplicate()
    solver.solve(right, answer)
    PETSc.Sys.Print(f"{name}: {solver.getIterationNumber()} iterations, norm {answer.norm():.6e}")
