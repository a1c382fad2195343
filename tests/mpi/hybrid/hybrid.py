#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""hybrid.py LIBRARY RUNTIME BUILD PROGRAMS: MPI and OpenMP in one program, with the OpenMP adapter, the space and the
MPI interposer preloaded at once: right results, the threads of each rank within its own share, and an account that
says so. RUNTIME is gcc (libgomp) or clang (libomp)."""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from testing import Jobs, need, skip  # noqa: E402


def main():
    library, runtime, build, programs = sys.argv[1:5]
    need(library)
    program = Path(programs) / f"{library}-{runtime}-hybrid"
    if not program.exists():
        skip("libomp" if runtime == "clang" else "libgomp", f"no {program.name} was built here")
    jobs = Jobs(library, build)
    try:
        alone = jobs.run(jobs.command([program, 2, 1]))
        if "right 2 ranks" not in alone.text:
            print(f"FAIL: the program alone: {alone}")
            return 1
        nigh = str(Path(build) / "bin" / "nigh")
        for teams, sizes in (("2,scatter", (2, 1)), ("2,scatter,2,subcompact", (2, 2))):
            for ranks in (2, 4):
                command = [nigh, "run", "--mpi", "--teams", teams, "--explain", "--", *jobs.command([program, *sizes], ranks)]
                result = jobs.run(command, 60)
                if result.code != 0 or f"right {ranks} ranks" not in result.text or result.left:
                    print(f"FAIL: {' '.join(command)}: {result} {result.left}")
                    return 1
                shares = {}
                for rank, cpus in re.findall(r"rank (\d+) outer \d+ inner \d+ cpus ([\d,]+)", result.text):
                    shares.setdefault(int(rank), set()).update(int(c) for c in cpus.split(","))
                pus = sorted(os.sched_getaffinity(0))
                if ranks <= len(pus):
                    for a in shares:
                        for b in shares:
                            if a < b and shares[a] & shares[b]:
                                print(f"FAIL: ranks {a} and {b} share CPUs: {shares}\n{result}")
                                return 1
                if not re.search(r"nigh: MPI: .*ours", result.text) or not re.search(r"nigh: (?!MPI)", result.text):
                    print(f"FAIL: the account lacks MPI or OpenMP: {result}")
                    return 1
        print("right, and within their shares")
        return 0
    finally:
        jobs.close()


if __name__ == "__main__":
    sys.exit(main())
