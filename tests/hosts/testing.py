# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of hosts share: a bed is run, its output kept, and what must be gone afterwards is looked for. A test that
fails says what it saw; what can't run here says SKIP and returns 77, unless NIGH_REQUIRE names hosts."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def environment(build):
    env = {k: v for k, v in os.environ.items() if not re.match(r"(NIGH|OMP|OMPI|PMIX?|MPI\w*|HYDRA|UCX|SLURM)_", k)}
    env.pop("LD_PRELOAD", None)
    env["NIGH_HOSTS_WIRE"] = str(Path(build) / "tests" / "hosts_wire")
    return env


class Told:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return "\n".join([f"status {self.status}", *("  " + x for x in (self.out + self.err).splitlines()[-25:])])


def bed(build, options, command, limit=60):
    """hosts OPTIONS -- COMMAND; a bed that can't be here is a skip, one that does not end a failure."""
    process = start(build, options, command)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate(timeout=30)
        raise Failed(f"{command} on {options} did not end in {limit} s\n{out}{err}") from None
    if process.returncode == 77:
        skip(err.strip())
    return Told(process.returncode, out, err)


def start(build, options, command):
    return subprocess.Popen([HOSTS, *options.split(), "--", *(str(x) for x in command)], env=environment(build), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def traces(pid):
    """What there is of the bed that this process made: processes that know its folder, the folder, mounts, interfaces."""
    mark = f"nigh-hosts-{pid}-".encode()
    found = [str(p) for p in Path(tempfile.gettempdir()).glob(f"nigh-hosts-{pid}-*")]
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                words = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
                if mark in words or process.name == str(pid):
                    found.append(f"process {process.name}")
            except OSError:
                pass
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if mark.decode() in line]
    found += [f"interface {x}" for x in os.listdir("/sys/class/net") if re.fullmatch(r"switch|port\d+", x)]
    return found


def namespaces():
    return {os.readlink(f"/proc/{p}/ns/net") for p in os.listdir("/proc") if p.isdigit() and os.path.exists(f"/proc/{p}/ns/net")}


def gone(pid, limit=10):
    end = time.monotonic() + limit
    while (left := traces(pid)) and time.monotonic() < end:
        time.sleep(0.1)
    check(not left, f"left behind: {left}")


def main(test):
    try:
        test()
    except Failed as reason:
        print(f"FAIL: {reason}")
        sys.exit(1)
