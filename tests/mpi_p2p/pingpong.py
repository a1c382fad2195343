#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs pingpong with and without the interposer in turn, and prints for each size the medians and their ratio:
#   pingpong.py openmpi|mpich PROGRAM LIBNIGH-MPI.SO [ROUNDS] [SCALE]
# Runs in which the two CPUs were not near each other are left out and counted.
import os
import statistics
import subprocess
import sys

kind, program, library = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
scale = sys.argv[5] if len(sys.argv) > 5 else "1"
NEAR = 120  # ns a line

environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
with_us = {"openmpi": ["-x", f"LD_PRELOAD={library}"], "mpich": ["-env", "LD_PRELOAD", library]}[kind]
launch = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "core"],
          "mpich": ["mpirun.mpich", "-bind-to", "core"]}[kind]


def run(extra):
    command = [*launch, "-np", "2", *extra, program, scale]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    lines = [line.split() for line in text.splitlines()]
    near = max(float(x) for x in lines[0][1:]) < NEAR
    return near, {int(line[0]): [float(x) for x in line[1:]] for line in lines[1:]}


results = {"without": [], "with": []}
far = 0
for _ in range(rounds):
    for name, extra in (("without", []), ("with", with_us)):
        near, table = run(extra)
        far += not near
        if near:
            results[name].append(table)
if not results["with"] or not results["without"]:
    sys.exit(f"{kind}: all {far} runs were far from each other: nothing to compare")

print(f"{kind}: ns one way, without and with, ratio; rewritten | untouched | posted; {far} of {2 * rounds} runs far")
for size in results["with"][0]:
    cells = []
    for column in range(3):
        a, b = (statistics.median(t[size][column] for t in results[k]) for k in ("without", "with"))
        cells.append(f"{a:9.0f} {b:9.0f} {a / b:5.2f}")
    print(f"{size:8d} " + " | ".join(cells))
