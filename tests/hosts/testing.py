# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of hosts share: a bed is run, its output kept, and what must be gone afterwards is looked for. A test that
fails says what it saw; what can't run here says SKIP and returns 77, unless NIGH_REQUIRE names hosts."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

from bed.system import die_with_parent

HERE = Path(__file__).resolve().parent
HOSTS = HERE / "hosts"


class Failed(Exception):
    pass


def skip(reason, what="hosts"):
    must = os.environ.get("NIGH_REQUIRE", "").split(",")
    print(f"SKIP: {reason}")
    sys.exit(1 if what in must or "all" in must else 77)


def check(right, words):
    if not right:
        raise Failed(words)


def steadily(measure, *arguments):
    """What is timed, up to three times: a busy machine spoils one of them, what is wrong spoils all."""
    for last in (False, False, True):
        try:
            return measure(*arguments)
        except Failed as failed:
            if last:
                raise
            print(f"once more: {failed}")


def map_of_four(build, traffic="0 0 0 9\n0 0 9 0\n0 9 0 0\n9 0 0 0\n"):
    """A map of ranks to two hosts; by default one that no launcher makes by itself: 0 and 3 on nigh-0, 1 and 2 on nigh-1."""
    matrix, written = (Path(build) / "tests" / name for name in ("hosts-matrix", "hosts-map"))
    matrix.write_text(traffic)
    told = subprocess.run([Path(build) / "bin" / "nigh", "plan", "--ranks", matrix, "--nodes", "2", "--hosts", "nigh-0,nigh-1", "--json"],
                          capture_output=True, text=True)
    check(told.returncode == 0, told.stderr)
    written.write_text(told.stdout)
    return written


def environment(build):
    env = {k: v for k, v in os.environ.items() if not re.match(r"(NIGH|OMP|OMPI|PMIX?|MPI\w*|HYDRA|UCX|SLURM)_", k)}
    env.pop("LD_PRELOAD", None)
    env["NIGH_HOSTS_WIRE"] = str(Path(build) / "tests" / "hosts_wire")
    return env


class Told:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return "\n".join([f"status {self.status}", *("  " + x for x in (self.out + self.err).splitlines()[-60:])])


def bed(build, options, command, limit=60):
    """hosts OPTIONS -- COMMAND; a bed that can't be here is a skip, one that does not end a failure."""
    with running(build, options, command) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate(timeout=30)
            raise Failed(f"{command} on {options} did not end in {limit} s\n{out}{err}") from None
    if process.returncode == 77:
        skip(err.strip())
    return Told(process.returncode, out, err)


@contextmanager
def running(build, options, command):
    """A bed beside the test. It ends with the test, however that ends: its wire is real-time."""
    mark = f"bed-{uuid.uuid4()}"  # all of its processes inherit it
    process = subprocess.Popen([HOSTS, *options.split(), "--", *(str(x) for x in command)], text=True,
                               env={**environment(build), "NIGH_HOSTS_MARK": mark}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: die_with_parent(signal.SIGTERM))
    process.mark = mark
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()


def processes(bed):
    """The numbers and the command lines of all that a bed started, its own processes too."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if bed.mark.encode() in (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:  # it ended, or is another user's
                pass
    return found


def traces(bed):
    """What there is of a bed: processes, and with them the namespaces, the folder, mounts, interfaces."""
    name = f"nigh-hosts-{bed.pid}-"
    found = [str(p) for p in Path(tempfile.gettempdir()).glob(f"{name}*")]
    found += [f"process {number}: {line}" for number, line in processes(bed).items()]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if name in line]
    found += [f"interface {x}" for x in os.listdir("/sys/class/net") if re.fullmatch(r"switch|port\d+", x)]
    return found


def until(right, limit=10):
    end = time.monotonic() + limit
    while not (found := right()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def gone(bed):
    until(lambda: not traces(bed))
    check(not (left := traces(bed)), f"left behind: {left}")


def main(test):
    try:
        test()
    except Failed as reason:
        print(f"FAIL: {reason}")
        sys.exit(1)
