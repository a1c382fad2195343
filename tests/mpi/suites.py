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
  NIGH_MPICH_TESTS=DIR  the build folder of MPICH's test/mpi

A program whose verdicts differ is run three times more both ways and counts if any verdict with us is one that the
library alone never gives. What fails alone, too, is listed at the end: a suite all of whose programs fail shows nothing.
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
        self.jobs, self.library, self.worse, self.tried, self.failing = Jobs(library, build), library, 0, 0, []

    def both(self, name, program, ranks, verdict, limit=120, env=None, cwd=None):
        """`verdict` makes of a result what must be the same: (ended well, what else it says)."""

        def once(preload):
            result = self.jobs.run(self.jobs.command(program, ranks, preload), limit, env, cwd=cwd or self.jobs.folder)
            return (verdict(result) if result.ended else "timeout"), result

        ours = self.jobs.preload()
        alone, (said, result) = once(None)[0], once(ours)
        self.tried += 1
        if said != alone:
            usual = {alone, *(once(None)[0] for _ in range(3))}
            again = [once(ours) for _ in range(3)]
            said, result = next(((s, r) for s, r in again if s not in usual), (alone, result))
        if said != alone or result.left:
            self.worse += 1
            print(f"DIFFERENT: {name} on {ranks} ranks: alone {alone}, with us {said} {result.left}\n  {result}", flush=True)
        elif alone == "timeout" or not alone[0]:
            self.failing.append(f"{name} on {ranks} ranks: {alone}")


@suite
def netpipe(comparison):
    program = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}[comparison.library]
    if not any((Path(p) / program).exists() for p in os.environ["PATH"].split(":")):
        return print(f"SKIP: there is no {program} here")
    comparison.both("NetPIPE, integrity", [program, "-i", "-u", 300000], 2,
                    lambda r: (r.code == 0, bool(re.search("[Ff]ail|[Ee]rror|corrupt", r.text))))


def imb_verdict(result):
    """Where a table has the column, the last figure of a line is what the check found: 0.00 where all was right. A
    benchmark that ran out of time has checked too little."""
    checked = wrong = 0
    has_defects = False
    for line in result.text.splitlines():
        if "#repetitions" in line:
            has_defects = line.rstrip().endswith("defects")
        elif has_defects and re.match(r" +\d+ +\d+ +\d", line):
            checked += 1
            wrong += float(line.split()[-1]) != 0
    return result.code == 0, bool(wrong) or " Error " in result.text, "time-out" in result.text, checked


@suite
def imb(comparison):
    where = folder("NIGH_IMB")
    for program in ("IMB-MPI1", "IMB-NBC", "IMB-EXT", "IMB-RMA"):
        if where and (where / program).exists():
            for ranks in (2, 4):
                comparison.both(program, [where / program, "-time", "30", "-iter", 4, "-iter_policy", "off", "-msglog", "20"],
                                ranks, imb_verdict, limit=400)


@suite
def osu(comparison):
    where = folder("NIGH_OSU")
    if not where:
        return
    for program in sorted((where / "c/mpi").glob("*/**/osu_*")):
        if program.is_file() and os.access(program, os.X_OK) and program.suffix == "" and ".libs" not in program.parts:
            ranks = 4 if "collective" in program.parts else 2
            options = ["-i", 20, "-x", 2, "-m", ":1048576"]
            if "startup" in program.parts or "barrier" in program.name:
                options = options[:4] if "barrier" in program.name else []
            elif "one-sided" not in program.parts:
                options.append("-c")
            comparison.both(program.name, [program, *options], ranks,
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


MPICH_FOLDERS = ("pt2pt", "coll", "comm", "datatype", "attr", "errhan", "errors/coll", "errors/comm", "errors/pt2pt",
                 "errors/topo", "group", "init", "topo", "rma", "threads/pt2pt", "threads/comm", "threads/coll", "threads/rma",
                 *(f"{f}/{d}" for f in ("f77", "f90", "f08") for d in ("pt2pt", "coll", "comm", "datatype", "attr", "topo")))


def testlist(where, name):
    """Configured lists lie beside the programs, plain ones in the source."""
    source = re.search(r"^abs_top_srcdir *= *(.*)$", (where / "Makefile").read_text(), re.M)
    for base in (where, Path(source.group(1)) if source else where):
        if (base / name / "testlist").exists():
            return (base / name / "testlist").read_text().splitlines()
    return []


@suite
def mpich_tests(comparison):
    where = folder("NIGH_MPICH_TESTS")
    for name in MPICH_FOLDERS if where else ():
        seen = set()
        for line in testlist(where, name):
            words = line.split("#")[0].split()
            if len(words) < 2 or not words[1].isdigit() or "mem=" in line or not (where / name / words[0]).exists():
                continue
            arguments = [w[4:] for w in words[2:] if w.startswith("arg=")]
            # MPICH's own choices of algorithms change nothing for us: one run of each program and arguments.
            env = dict(w[4:].split("=", 1) for w in words[2:] if w.startswith("env=") and "MPIR_CVAR" not in w)
            if (key := (*words[:2], *arguments)) not in seen:
                seen.add(key)
                comparison.both(f"{name}/{' '.join(words)}", [where / name / words[0], *arguments], int(words[1]),
                                lambda r: (r.code == 0, "no errors" in r.text.lower()), 60, env, where / name)


def main():
    library, build = sys.argv[1:3]
    need(library)
    comparison = Comparison(library, build)
    try:
        for name in sys.argv[3:] or SUITES:
            SUITES[name](comparison)
    finally:
        comparison.jobs.close()
    for line in comparison.failing:
        print(f"fails alone and with us: {line}")
    print(f"{comparison.tried} programs, {comparison.worse} with another verdict, {len(comparison.failing)} that fail alone, too")
    return 1 if comparison.worse else 0 if comparison.tried else 77


if __name__ == "__main__":
    sys.exit(main())
