# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What the MPI suites share: how each library's ranks are started, with us or without, within a time limit, and what
they leave behind. A test prints what failed and returns 1; what can't run here says SKIP and returns 77, unless
NIGH_REQUIRE names it."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

LIBRARIES = ("openmpi", "mpich")


def skip(what, reason):
    must = os.environ.get("NIGH_REQUIRE", "").split(",")
    print(f"SKIP: {reason}")
    sys.exit(1 if what in must or "all" in must else 77)


def need(library):
    if not shutil.which(f"mpirun.{library}"):
        skip("mpi", f"there is no mpirun.{library} here")


class Result:
    def __init__(self, code, text, seconds, left):
        self.code, self.text, self.seconds, self.left = code, text, seconds, left

    @property
    def ended(self):
        return self.code is not None

    def ours(self):
        """Our lines; what ranks write at once may be glued together or indented by the launcher."""
        return [line for line in self.text.splitlines() if re.search(r"\bnigh: ", line)]

    def __str__(self):
        code = "timeout" if self.code is None else self.code
        return f"status {code} after {self.seconds:.1f} s\n" + "\n".join("    " + x for x in self.text.splitlines()[-25:])


def tagged(tag):
    """The processes that carry this run's mark in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if tag in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                    state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                    if state not in "ZX":
                        found.append(int(process.name))
            except (OSError, IndexError):
                pass
    return found


def shared_memory():
    return {entry.name for entry in Path("/dev/shm").iterdir() if "nigh" in entry.name and entry.name != "nigh-bound-pus"}


class Jobs:
    """Runs of one library's ranks. `build` is the build folder."""

    def __init__(self, library, build, ranks=2):
        self.library, self.build, self.ranks = library, Path(build), ranks
        self.lib = self.build / "lib"
        self.folder = Path(tempfile.mkdtemp(prefix="mpi-test-"))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def preload(self):
        return str(self.lib / "libnigh-mpi.so")

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items() if not re.match(r"(NIGH|OMP|KMP|GOMP|OMPI|PMIX?|MPI\w*)_", k)}
        env.pop("LD_PRELOAD", None)
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                   OMPI_MCA_hwloc_base_binding_policy="none", HWLOC_HIDE_ERRORS="2", TMPDIR=str(self.folder))
        env.update(extra or {})
        return env

    def command(self, program, ranks=None, preload=None, launcher=()):
        """`program` is a list; a preload goes to the ranks only, not to the launcher."""
        command = [f"mpirun.{self.library}", *launcher, "-n", str(ranks or self.ranks)]
        if preload:
            command += ["env", f"LD_PRELOAD={preload}"]
        return command + [str(part) for part in program]

    def run(self, command, limit=30, env=None, **more):
        tag = f"NIGH_TESTRUN={uuid.uuid4().hex}"
        environment = self.environment(env)
        environment[tag.split("=")[0]] = tag.split("=")[1]
        before, start = shared_memory(), time.monotonic()
        files = set(os.listdir(self.folder))
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, **more}
        process = subprocess.Popen(command, env=environment, start_new_session=True, text=True, errors="replace", **more)
        try:
            text = process.communicate(timeout=limit)[0] or ""
            code = process.returncode
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - start
        for _ in range(30):  # the launchers end their ranks a moment later
            left = tagged(tag.encode())
            if not left or code is None:
                break
            time.sleep(0.1)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if code is None:
            text = process.communicate()[0] or ""
            left = []
        found = [f"process {pid}" for pid in left]
        found += [f"/dev/shm/{name}" for name in shared_memory() - before]
        found += [f"a file {name} in TMPDIR" for name in set(os.listdir(self.folder)) - files if "nigh" in name]
        return Result(code, text, seconds, found)
