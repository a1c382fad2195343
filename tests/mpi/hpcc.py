#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""hpcc.py BUILD [--pairs N] [--ranks N] [--size N]: HPC Challenge with us against without, interleaved, on Open MPI
(what Debian's package is linked to). Prints the median of each figure alone and with us, their ratio, and whether
HPCC's own checks passed."""
import argparse
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from testing import Jobs, need, skip  # noqa: E402

INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
{ranks}            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""
FIGURES = (("AvgPingPongBandwidth_GBytes", 1), ("NaturallyOrderedRingBandwidth_GBytes", 1),
           ("RandomlyOrderedRingBandwidth_GBytes", 1), ("AvgPingPongLatency_usec", -1),
           ("RandomlyOrderedRingLatency_usec", -1), ("PTRANS_GBs", 1), ("MPIFFT_Gflops", 1),
           ("MPIRandomAccess_GUPs", 1), ("MPIRandomAccess_LCG_GUPs", 1), ("HPL_Tflops", 1))


def figures(jobs, preload, n, ranks):
    output = jobs.folder / "hpccoutf.txt"
    output.unlink(missing_ok=True)
    (jobs.folder / "hpccinf.txt").write_text(INPUT.format(n=n, ranks=ranks))
    # The way users start it: a rank a core, spinning, where there are cores enough.
    alone = {"OMPI_MCA_mpi_yield_when_idle": "0", "OMPI_MCA_hwloc_base_binding_policy": "core"}
    result = jobs.run(jobs.command(["hpcc"], ranks, preload), 85, alone if ranks <= os.cpu_count() else None, cwd=jobs.folder)
    text = output.read_text() if output.exists() else ""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line.split("=", 1)[0].isidentifier())
    if result.code != 0 or values.get("Success") != "1" or "FAILED" in text:
        print(f"FAIL: {'with us' if preload else 'alone'}: {result}")
        sys.exit(1)
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", type=int, default=1000)
    given = parser.parse_args()
    need("openmpi")
    if not Path("/usr/bin/hpcc").exists():
        skip("hpcc", "there is no hpcc here")
    jobs = Jobs("openmpi", given.build, given.ranks)
    try:
        runs = {None: [], jobs.preload(): []}
        for pair in range(given.pairs):
            for preload in runs if pair % 2 == 0 else reversed(runs):
                runs[preload].append(figures(jobs, preload, given.size, given.ranks))
        print(f"{'':40} {'alone':>12} {'with us':>12} {'gain':>7}   medians of {given.pairs}")
        for name, sense in FIGURES:
            alone, ours = (statistics.median(float(v[name]) for v in values) for values in runs.values())
            gain = (ours / alone) ** sense if alone > 0 and ours > 0 else float("nan")
            print(f"{name:40} {alone:12.5g} {ours:12.5g} {gain:6.2f}x")
        print("hpcc: its own checks passed, alone and with us")
    finally:
        jobs.close()


if __name__ == "__main__":
    main()
