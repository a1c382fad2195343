#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# suite.py CASE LIBRARY FOLDER LIBRARIES: runs a program of this folder with ours. The programs know what is right, since
# several libraries alone are not (MPICH 4.0 with derived types, Open MPI with pairs, Intel MPI with large elements): what these
# must serve is left out for them. The account must say that operations were ours; wrong calls are compared with the library alone.
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CASE, LIBRARY, FOLDER, LIBRARIES = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])


def run(program: str, ranks: int, *arguments: str, ours: bool = True, fails: bool = False, **environment: str) -> tuple[str, str]:
    command = [f"mpirun.{LIBRARY}"] + (["--oversubscribe"] if LIBRARY.startswith("openmpi") else []) + ["-n", str(ranks)]
    if ours:
        command += ["env", f"LD_PRELOAD={LIBRARIES}/libnigh-mpi.so", "NIGH_EXPLAIN=1"]
        command += [f"{name}={value}" for name, value in environment.items()]
    command += [str(FOLDER / f"{program}-{LIBRARY}"), *arguments]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=90, errors="replace")
    if done.returncode != 0 and not fails:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    return done.stdout, done.stderr


def check_ours(account: str, *functions: str) -> None:
    for function in functions:
        if not re.search(rf"MPI_{function} +[1-9]\d* ours", account):
            sys.exit(f"no call of MPI_{function} was ours:\n{account}")


def check_left(account: str, *functions: str) -> None:
    for function in functions:
        if re.search(rf"MPI_{function} +[1-9]\d* ours", account):
            sys.exit(f"a call of MPI_{function} was ours:\n{account}")


def move() -> None:
    tame = ["tame"] if LIBRARY == "mpich" else []
    check_ours(run("move", 2, "15", *tame)[1], "Put", "Get", "Rput", "Rget", "Win_lock", "Win_lock_all")
    if LIBRARY.endswith("abi"):
        return
    check_ours(run("move", 3, "6", *tame)[1], "Put", "Get", "Rput", "Rget", "Win_lock", "Win_lock_all")
    # Members on two nodes: the library keeps passive epochs, and what goes between the nodes.
    plain = ["bytes"] if LIBRARY == "mpich" else []
    account = run("move", 4, "2", *plain, NIGH_MPI_FAKE_NODES="2")[1]
    check_ours(account, "Put", "Get")
    check_left(account, "Rput", "Win_lock", "Win_lock_all")
    check_left(run("move", 2, "3", *plain, NIGH_MPI_RMA="off")[1], "Put", "Get", "Rput", "Rget", "Win_lock")


def atomic() -> None:
    calls = ("Accumulate", "Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")
    for ranks in (2,) if LIBRARY.endswith("abi") else (2, 4):
        check_ours(run("atomic", ranks, "plain", "ours")[1], *calls)
    if LIBRARY == "mpich5":
        check_ours(run("atomic", 2, "plain")[1], *calls)


def threads() -> None:
    for ranks in (2, 3):
        check_ours(run("atomic", ranks, "threads", "ours")[1], "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")


def errors() -> None:
    said = re.compile(r"^.*: (?:no error|an error|RMA_SYNC)$", re.M)
    alone = said.findall(run("rest", 2, "errors", ours=False, fails=True)[0])
    ours = said.findall(run("rest", 2, "errors", fails=True)[0])
    if len(alone) < 15 or ours[:len(alone)] != alone:  # a library may end in the middle of it
        sys.exit("\n".join(["alone", *alone, "", "with ours", *ours]))


def main() -> None:
    if not shutil.which(f"mpirun.{LIBRARY}"):
        print(f"SKIP: no mpirun.{LIBRARY}")
        sys.exit(1 if LIBRARY in os.environ.get("NIGH_REQUIRE", "") else 77)
    if CASE == "life":
        for ranks in (2, 3):
            check_ours(run("rest", ranks, "life")[1], "Accumulate")
    elif CASE == "progress":
        for ranks in (2, 3):
            check_ours(run("rest", ranks, "progress")[1], "Get", "Fetch_and_op", "Accumulate")
    else:
        {"move": move, "atomic": atomic, "threads": threads, "errors": errors}[CASE]()


main()
