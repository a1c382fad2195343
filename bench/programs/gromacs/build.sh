#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A box of water.
set -e
gmx -quiet solvate -cs spc216 -box 3.4 3.4 3.4 -o water.gro >solvate.log 2>&1
count=$(sed -n 's/^Generated solvent containing \([0-9]*\) atoms in \([0-9]*\) residues.*/\2/p' solvate.log)
cat >water.top <<END
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL $count
END
gmx -quiet grompp -f water.mdp -c water.gro -p water.top -o water.tpr -maxwarn 2 >grompp.log 2>&1
