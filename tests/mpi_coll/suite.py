#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# suite.py CASE LIBRARY FOLDER LIBRARIES: runs a program of this folder with the library alone and with ours, and
# compares what each rank wrote, line by line. Where Open MPI is installed it is the oracle for both: MPICH alone is
# too slow with more ranks than CPUs, and crashes in some legal calls that ours must get right. A run that was not
# ours proves nothing, so the account must say that calls were.
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CASE, LIBRARY, FOLDER, LIBRARIES = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])


def run(library: str, program: str, ranks: int, ours: bool, folder: Path, arguments=(), **environment: str) -> str:
    folder.mkdir(parents=True)
    command = [f"mpirun.{library}"] + (["--oversubscribe"] if library.startswith("openmpi") else []) + ["-n", str(ranks)]
    if ours:
        command += ["env", f"LD_PRELOAD={LIBRARIES}/libnigh-mpi.so", "NIGH_EXPLAIN=1"]
        command += [f"{name}={value}" for name, value in environment.items()]
    command += [str(FOLDER / f"{program}-{library}"), str(folder), *arguments]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=90)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    if ours and not re.search(r"MPI_\w+ +\d+ ours", done.stderr):
        sys.exit(f"{' '.join(command)}\nwas not ours:\n{done.stderr[-3000:]}")
    return done.stderr


def compare(oracle: Path, result: Path, ranks: int) -> None:
    for rank in range(ranks):
        expected = (oracle / f"rank{rank}").read_text().splitlines()
        found = (result / f"rank{rank}").read_text().splitlines()
        if not expected:
            sys.exit(f"rank {rank} wrote nothing")
        for number, (a, b) in enumerate(zip(expected, found), 1):
            if a != b:
                sys.exit(f"rank {rank} of {ranks}, line {number}: alone\n  {a}\nwith ours\n  {b}")
        if len(expected) != len(found):
            sys.exit(f"rank {rank} of {ranks}: {len(expected)} lines alone, {len(found)} with ours")


def with_and_without(program: str, counts, arguments=(), ours_only=(), alone_only=(), word="MPI_", oracle="",
                     **environment: str) -> None:
    oracle = oracle or ("openmpi" if shutil.which("mpirun.openmpi") and (FOLDER / f"{program}-openmpi").exists() else LIBRARY)
    tame = ["tame"] if oracle == "mpich" and program in ("reduce", "neighbors") else []
    with tempfile.TemporaryDirectory() as place:
        for ranks in counts:
            alone, ours = Path(place) / f"alone{ranks}", Path(place) / f"ours{ranks}"
            run(oracle, program, ranks, False, alone, [*arguments, *tame, *alone_only])
            account = run(LIBRARY, program, ranks, True, ours, [*arguments, *tame, *ours_only], **environment)
            if not re.search(rf"{word}\w* +\d+ ours", account):
                sys.exit(f"{program}: no {word} was ours:\n{account}")
            compare(alone, ours, ranks)


def situations() -> None:
    with tempfile.TemporaryDirectory() as place:
        for name in ("owed", "blocked", "making", "away", "comms", "crowd", "threads"):
            # Every message by the library itself: its rendezvous needs both sides.
            more = {"NIGH_MPI_P2P_MIN": "1000000000"} if name == "owed" else {}
            account = run(LIBRARY, "situations", 2 if name in ("comms", "crowd") else 3, True, Path(place) / name, [name], **more)
            if name == "crowd" and re.search(r"MPI_(Allreduce|Bcast) .*the library's", account):
                sys.exit(f"communicators in a crowd are not ours:\n{account}")
        for name in ("blocked", "away"):
            run(LIBRARY, "situations", 2, True, Path(place) / f"{name}-off", [name], NIGH_MPI_P2P="off")
        run(LIBRARY, "situations", 2, True, Path(place) / "looks", ["looks"])
        run(LIBRARY, "situations", 2, False, Path(place) / "alone", ["errors"])
        run(LIBRARY, "situations", 2, True, Path(place) / "errors", ["errors"])
        compare(Path(place) / "alone", Path(place) / "errors", 2)


def wrong() -> None:  # each library has errors of its own
    with tempfile.TemporaryDirectory() as place:
        for ranks in (2, 3):
            run(LIBRARY, "wrong", ranks, False, Path(place) / f"alone{ranks}")
            run(LIBRARY, "wrong", ranks, True, Path(place) / f"ours{ranks}")
            compare(Path(place) / f"alone{ranks}", Path(place) / f"ours{ranks}", ranks)


def main() -> None:
    if not shutil.which(f"mpirun.{LIBRARY}"):
        print(f"SKIP: no mpirun.{LIBRARY}")
        sys.exit(1 if LIBRARY in os.environ.get("NIGH_REQUIRE", "") else 77)
    if CASE == "situations":
        situations()
    elif CASE == "wrong":
        wrong()
    elif CASE == "nonblocking":
        with_and_without("nonblocking", (2, 4), ["20"], ["ours"])
        with_and_without("nonblocking", (2,), ["20"], ["ours"], NIGH_MPI_P2P="off")  # their requests stay ours
    elif CASE == "levels":  # two pretended nodes
        with_and_without("reduce", (4,), ["levels"], NIGH_MPI_HIERARCHY="1", NIGH_MPI_FAKE_NODES="2")
        with_and_without("move", (4,), NIGH_MPI_HIERARCHY="1", NIGH_MPI_FAKE_NODES="2")
    elif CASE == "persistent":
        with_and_without("persistent", (2, 3), alone_only=["oracle"], word="MPI_Alltoallw_init")
        with_and_without("persistent", (2,), alone_only=["oracle"], word="MPI_Bcast_init", NIGH_MPI_P2P="off")
    elif CASE == "neighbors":  # each library matches several edges of a pair in its own way
        with_and_without("neighbors", (2, 4), word="MPI_Neighbor_alltoallw", oracle=LIBRARY)
    else:
        with_and_without(CASE, (2, 5) if CASE == "move" else (3,))


main()
