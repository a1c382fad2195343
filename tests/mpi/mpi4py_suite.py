#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py_suite.py BUILD KIND [short]: mpi4py's own suite by its wheel (tools/mpi-wheels), on 2 ranks of the library KIND, with nigh
and without: each test of each rank has the same verdict. Left out are files (they hang in Open MPI 5 alone), processes
that are spawned or connect, and what does not communicate. Where the library alone does not end in time, as Open MPI 5
on a busy machine, the tests count that it has ended. `short` leaves out what takes long, or is much the same."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = ("attributes buffer cco_buf cco_buf_inter cco_nb_buf cco_nb_vec cco_ngh_buf cco_ngh_obj cco_obj cco_obj_inter cco_pr_buf "
           "cco_pr_ngh_buf cco_pr_vec cco_vec cco_vec_inter comm comm_inter comm_topo errhandler exceptions grequest group msgzero "
           "op p2p_buf p2p_buf_matched p2p_buf_part p2p_obj p2p_obj_matched request rma rma_nb session status subclass threads "
           "util_pkl5 util_sync win").split()
SHORT = "attributes cco_buf cco_nb_vec cco_pr_buf cco_pr_ngh_buf cco_pr_vec cco_vec comm comm_topo p2p_buf p2p_buf_part p2p_obj request win".split()
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12", "openmpi5": "openmpi/lib/libmpi.so.40", "mpich3": "mpich3/lib/libmpi.so.12",
             "mpich5": "mpich/lib/libmpi.so.12", "intel": "impi-rt/lib/libmpi.so.12"}


def as_rank(folder, results, modules):
    """One rank: the suite, with each verdict in the file RESULTS.RANK as it is known."""
    import unittest

    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    rank = next(os.environ[name] for name in names if name in os.environ)
    out = open(f"{results}.{rank}", "w", buffering=1)

    def noting(method, word):
        def note(self, test, *more):
            out.write(f"{test.id()} {word}\n")
            return method(self, test, *more)
        return note

    for name, word in (("startTest", "unfinished"), ("addSuccess", "ok"), ("addError", "error"), ("addFailure", "failed"),
                       ("addSkip", "skipped"), ("addExpectedFailure", "ok"), ("addUnexpectedSuccess", "unexpected")):
        setattr(unittest.TextTestResult, name, noting(getattr(unittest.TextTestResult, name), word))
    import runpy

    sys.path[0] = folder
    sys.argv = [f"{folder}/main.py", "--no-builddir", "-q", "-i", f"^test_({'|'.join(modules.split(','))}).py$"]
    runpy.run_path(sys.argv[0], run_name="__main__")


def job(build, kind, modules, folder, nigh):
    wheels = build / "mpi"
    results = f"{folder}/{'nigh' if nigh else 'alone'}"
    library = LIBRARIES[kind] if "/" not in LIBRARIES[kind] else str(wheels / LIBRARIES[kind])
    env = dict(os.environ, MPI4PY_LIBMPI=library, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1", PATH=f"{wheels / 'bin'}:{os.environ['PATH']}")
    env.pop("LD_PRELOAD", None)
    words = [str(build / "bin" / "nigh"), "run", "--only", "mpi", "--explain", "--"] if nigh else []
    words += [f"mpirun.{kind}", "-n", "2"] + (["--oversubscribe"] if kind.startswith("openmpi") else [])
    words += [str(wheels / "mpi4py" / "bin" / "python"), __file__, "rank", str(wheels / "mpi4py" / "test"), results, ",".join(modules)]
    done = subprocess.run(["timeout", "-k", "2", "200", *words], env=env, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)
    verdicts = {}
    for rank in range(2):
        try:
            lines = Path(f"{results}.{rank}").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        for line in lines:
            test, word = line.rsplit(" ", 1)
            verdicts[rank, test] = word
    return done, verdicts


def main():
    build, kind = Path(sys.argv[1]).resolve(), sys.argv[2]
    where = build / "mpi" / "mpi4py" / "test" / "main.py"
    present = subprocess.run(["sh", "-c", f"PATH={build / 'mpi' / 'bin'}:$PATH command -v mpirun.{kind}"], capture_output=True, check=False)
    if not where.exists() or present.returncode != 0:
        print("mpi4py's wheel and sources, or the library, are not there (tools/mpi-wheels build/mpi)")
        sys.exit(77)
    short = sys.argv[3:] == ["short"]
    modules = SHORT if short else MODULES
    with tempfile.TemporaryDirectory() as folder:
        alone, theirs = job(build, kind, modules, folder, False)
        ours_done, ours = job(build, kind, modules, folder, True)
    late = alone.returncode == 124
    if late:
        theirs = {test: word for test, word in theirs.items() if word != "unfinished"}
    differing = [f"rank {rank} {test}: {theirs.get((rank, test), 'not run')} alone, {ours.get((rank, test), 'not run')} with nigh"
                 for rank, test in sorted(set(theirs) if late else set(theirs) | set(ours))
                 if theirs.get((rank, test)) != ours.get((rank, test))]
    right = sum(word == "ok" for word in ours.values())
    print(f"{len(ours)} verdicts with nigh, {right} of them ok; exit {ours_done.returncode}, alone {alone.returncode}")
    here = "nigh: MPI: " in ours_done.stderr and " in one copy" in ours_done.stderr
    wanted = 1400 if short else 2000
    if differing or ours_done.returncode != 0 or not (late or alone.returncode == 0) or right < wanted or not here:
        print("\n".join(differing[:20]))
        print(ours_done.stderr[-3000:])
        sys.exit(1)


if len(sys.argv) == 5 and sys.argv[1] == "rank":
    as_rank(*sys.argv[2:])
else:
    main()
