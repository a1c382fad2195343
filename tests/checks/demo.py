#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""make demo's program, in a short form: what it prints is short, its programs ran, and its page holds them."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if not all(shutil.which(program) for program in ("gmx", "gmx_mpi", "hpcc", "mpirun.openmpi")):
    print("SKIP: GROMACS, HPC Challenge or Open MPI is not here")
    sys.exit(77)
root = Path(__file__).resolve().parent.parent.parent
with tempfile.TemporaryDirectory() as folder:
    got = subprocess.run([root / "tools/demo", folder], capture_output=True, text=True, env=dict(os.environ, NIGH_DEMO_SECONDS="2"))
    assert got.returncode == 0, f"{got.stdout}\n{got.stderr}"
    lines = got.stdout.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 160, got.stdout
    for row in (r"GROMACS, OpenMP, \d+ threads +[\d.]+ s", r"HPC Challenge, MPI, 2 ranks +[\d.]+ s", r"messages of 2 MB +[\d.]+ GB/s",
                r"GROMACS, MPI \+ OpenMP, 2 x \d+ +[\d.]+ s", r"nigh moves \d+ % of [\d.]+ GB", r"with nigh all are right"):
        assert re.search(row, got.stdout), f"{row}: {got.stdout}"
    page = (Path(folder) / "report.html").read_text()
    for one, count in (("nigh-compare", 3), ("nigh-traffic", 1), ("nigh-rank-times", 1), ("nigh-mpi-account", 1)):
        assert page.count(f'"format":"{one}"') == count, f"{one}: {page.count(one)} times"
print("demo: right")
