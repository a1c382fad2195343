# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Light in a straight waveguide: the grid is distributed over the ranks.
import meep

cell = meep.Vector3(16, 8, 0)
guide = meep.Block(meep.Vector3(meep.inf, 1, meep.inf), center=meep.Vector3(), material=meep.Medium(epsilon=12))
source = meep.Source(meep.ContinuousSource(frequency=0.15), component=meep.Ez, center=meep.Vector3(-7, 0))
light = meep.Simulation(cell_size=cell, boundary_layers=[meep.PML(1.0)], geometry=[guide], sources=[source], resolution=40)
flux = light.add_flux(0.15, 0.1, 5, meep.FluxRegion(center=meep.Vector3(4, 0), size=meep.Vector3(0, 4)))
light.run(until=60)
through = " ".join(f"{value:.7g}" for value in meep.get_fluxes(flux))  # all ranks: it is collective
energy = light.field_energy_in_box(meep.Volume(center=meep.Vector3(), size=meep.Vector3(14, 6)))
if meep.am_master():
    print(f"energy {energy:.7g}, fluxes {through}")
