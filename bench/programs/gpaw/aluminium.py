# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The energy of eight aluminium atoms in plane waves: bands and k-points are distributed over the ranks.
from ase.build import bulk
from gpaw import GPAW, PW
from gpaw.mpi import world

atoms = bulk("Al", cubic=True) * (2, 1, 1)
atoms.rattle(0.02, seed=1)
atoms.calc = GPAW(mode=PW(300), kpts=(2, 4, 4), xc="PBE", txt=None, parallel={"band": 1})
energy = atoms.get_potential_energy()
if world.rank == 0:
    print(f"energy {energy:.6f}")
