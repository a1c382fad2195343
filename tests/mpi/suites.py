#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""suites.py LIBRARY BUILD [SUITE..]: others' suites: the verdict with us must be the verdict without us. Runs what is
installed (NetPIPE, HPCC, mpi4py's package) and what lies in folders that the environment names, built by the user
for that library; nothing is downloaded. What isn't there is said.

  NIGH_IMB=DIR     IMB-MPI1, IMB-NBC, IMB-RMA, IMB-EXT, built with -DCHECK
  NIGH_OSU=DIR     OSU micro-benchmarks' build folder (c/mpi/...)
  NIGH_NPB=DIR     NPB-MPI's bin folder with cg.S.x, ft.W.x, ..
  NIGH_MPI4PY=DIR  mpi4py's source folder (test/runtests.py); NIGH_MPI4PY_PYTHON a Python that has it for the library
  NIGH_MPICH_TESTS=DIR  the build folder of MPICH's test/mpi, with its testlists beside the programs
"""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from testing import Jobs, need  # noqa: E402

SUITES = {}


def suite(function):
    SUITES[function.__name__] = function
    return function


def folder(name):
    value = os.environ.get(name)
    if not value or not Path(value).is_dir():
        print(f"SKIP: {name} names no folder")
        return None
    return Path(value)


class Comparison:
    def __init__(self, library, build):
        self.jobs, self.library, self.worse, self.tried = Jobs(library, build), library, 0, 0

    def both(self, name, program, ranks, verdict, limit=120, env=None, cwd=None):
        """`verdict` makes of a result what must be the same: True, False or words."""
        results = [self.jobs.run(self.jobs.command(program, ranks, preload), limit, env, cwd=cwd or self.jobs.folder)
                   for preload in (None, self.jobs.preload())]
        said = [verdict(result) if result.ended else "timeout" for result in results]
        self.tried += 1
        if said[0] != said[1] or results[1].left:
            self.worse += 1
            print(f"DIFFERENT: {name} on {ranks} ranks: alone {said[0]}, with us {said[1]} {results[1].left}\n  {results[1]}", flush=True)


def ended_well(result):
    return result.code == 0


@suite
def netpipe(comparison):
    program = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}[comparison.library]
    if not any((Path(p) / program).exists() for p in os.environ["PATH"].split(":")):
        return print(f"SKIP: there is no {program} here")
    comparison.both("NetPIPE, integrity", [program, "-i", "-u", 300000], 2,
                    lambda r: (r.code == 0, bool(re.search("[Ff]ail|[Ee]rror|corrupt", r.text))))


@suite
def imb(comparison):
    where = folder("NIGH_IMB")
    for program in ("IMB-MPI1", "IMB-NBC", "IMB-EXT", "IMB-RMA"):
        if where and (where / program).exists():
            for ranks in (2, 4):
                comparison.both(program, [where / program, "-time", "0.2", "-iter", 20, "-msglog", "20"], ranks,
                                lambda r: (r.code == 0, "Error" in r.text), limit=300)


@suite
def osu(comparison):
    where = folder("NIGH_OSU")
    if not where:
        return
    for program in sorted((where / "c/mpi").glob("*/**/osu_*")):
        if program.is_file() and os.access(program, os.X_OK) and program.suffix == "" and ".libs" not in program.parts:
            ranks = 4 if "collective" in program.parts else 2
            check = [] if program.parent.name in ("startup", "one-sided") else ["-c"]
            comparison.both(program.name, [program, *check, "-i", 20, "-x", 2, "-m", ":1048576"], ranks,
                            lambda r: (r.code == 0, "Fail" in r.text or "DATA_VALIDATION" in r.text))


@suite
def npb(comparison):
    where = folder("NIGH_NPB")
    for program in sorted(where.glob("*.[SWA].x")) if where else []:
        for ranks in (2, 4):
            if program.name[:2] in ("bt", "sp") and ranks == 2:
                continue
            arguments = ["BH"] if program.name.startswith("dt") else []
            comparison.both(program.name, [program, *arguments], ranks, lambda r: (r.code == 0, "SUCCESSFUL" in r.text.upper()), 300)


@suite
def mpi4py(comparison):
    where = folder("NIGH_MPI4PY")
    if where:
        python = os.environ.get("NIGH_MPI4PY_PYTHON", "/usr/bin/python3")
        script = where / "test/runtests.py"
        for ranks in (1, 2, 3):
            comparison.both("mpi4py", [python, script, "--no-builddir", "-e", "spawn", "-e", "dynproc", "-q"], ranks,
                            lambda r: (r.code == 0, sorted(set(re.findall(r"^(?:FAIL|ERROR): (\S+)", r.text, re.M)))), 300, cwd=where)


@suite
def mpich_tests(comparison):
    where = folder("NIGH_MPICH_TESTS")
    for name in ("pt2pt", "coll", "comm", "datatype", "attr", "errhan", "threads/pt2pt", "threads/comm") if where else ():
        for lists in (where / name).glob("testlist"):
            for line in lists.read_text().splitlines():
                words = line.split("#")[0].split()
                if len(words) < 2 or not words[1].isdigit() or "mem=" in line or not (where / name / words[0]).exists():
                    continue
                arguments = [w[4:] for w in words[2:] if w.startswith("arg=")]
                env = dict(w[4:].split("=", 1) for w in words[2:] if w.startswith("env="))
                comparison.both(f"{name}/{' '.join(words)}", [where / name / words[0], *arguments], int(words[1]),
                                lambda r: (r.code == 0, "No Errors" in r.text), 60, env, where / name)


def main():
    library, build = sys.argv[1:3]
    need(library)
    comparison = Comparison(library, build)
    try:
        for name in sys.argv[3:] or SUITES:
            SUITES[name](comparison)
    finally:
        comparison.jobs.close()
    print(f"{comparison.tried} programs, {comparison.worse} with another verdict")
    return 1 if comparison.worse else 0 if comparison.tried else 77


if __name__ == "__main__":
    sys.exit(main())
