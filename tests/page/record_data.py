#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""record_data.py BUILD [guest] [watch] [hosts]: makes tests/page/data, what the page's tests draw: what nigh told of

guest   a NUMA guest of 8 nodes with 16 CPUs (docs/vm.md): the machine, a plan, `nigh ps` of a nested program, the record of 4 ranks
watch   `nigh watch` of two programs in such a guest
hosts   a job of 8 ranks on 4 hosts (docs/testing-hosts.md), recorded, with the account of each host

Kept, since to make them anew takes ten minutes, and root. The figures are those of emulated CPUs and of namespaces.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "vm")]

from numavm import cli, guest as vm, model  # noqa: E402

DATA = HERE / "data"
BUILD = Path(sys.argv[1]).resolve()
NIGH = BUILD / "bin" / "nigh"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": "/tmp"}


def keep(record: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(record, to)


def in_guest(line: str, balancing: bool = False) -> Path:
    out = BUILD / "page-data"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    machine = model.cut(cli.load_machine("opteron-6272"), 16)
    options = vm.Options(numa_balancing=balancing, timeout=560, out=out)
    (result,) = vm.run(machine, [vm.Command(line, env=MPI)], options)
    print(result.out, result.err, result.status)
    return out


def guest() -> None:
    observer = BUILD / "tests" / "vm_observer_gcc"
    out = in_guest(f"""set -e
        {NIGH} machine --json >/out/machine.json
        {NIGH} plan --teams 8,scatter,2,compact --json >/out/plan.json
        {NIGH} run --teams 8,scatter,2,compact -- {observer} 8,2 2000 >/dev/null &
        sleep 15
        {NIGH} ps --memory --json >/out/ps.json
        kill $!
        cd /tmp
        {NIGH} run --record /out/record -- mpirun.openmpi --mca btl self,vader -n 4 {BUILD}/bench/molecules-openmpi 4 6""")
    for name in ("machine", "plan", "ps"):
        text = (out / f"{name}.json").read_text().replace(f"{BUILD.parent}/", "")  # no folder of this machine
        (DATA / f"guest-{name}.json").write_text(text)
    keep(out / "record" / "4-ranks-1", DATA / "guest-record" / "4-ranks-1")


def watch() -> None:
    share = BUILD / "tests" / "vm_watch_share"
    out = in_guest(f"""mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
        cd /sys/kernel/debug/sched/numa_balancing
        echo 100 >scan_delay_ms; echo 200 >scan_period_min_ms; echo 400 >scan_period_max_ms
        {NIGH} run --watch --memory 5 -- {share} 720 4 0,5:5 >/dev/null &
        one=$!
        {NIGH} run --watch --memory 6 -- {share} 720 4 3,6:6 1,7:6 >/dev/null &
        two=$!
        sleep 1
        {NIGH} watch -p $one,$two --quiet --log /out/log --policy paper --pages live --cost 60""", balancing=True)
    shutil.copy(out / "log", DATA / "guest-watch.log")


def hosts() -> None:
    out = BUILD / "page-data"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    words = [HERE.parent / "hosts" / "hosts", "-n", "4", "--slots", "2", "--", NIGH, "run", "--explain", "--json", "--explain-file",
             out / "account-%p", "--record", out / "record", "--", "mpirun.openmpi", "-n", "8", BUILD / "bench" / "molecules-openmpi", "8", "40"]
    subprocess.run(words, check=True, env=os.environ | MPI)
    keep(out / "record" / "8-ranks-1", DATA / "hosts-record" / "8-ranks-1")
    accounts = [json.loads(line) for file in sorted(out.glob("account-*")) for line in file.read_text().splitlines()]
    accounts = [one for one in accounts if one.get("format") == "nigh-mpi-account"]
    for number, one in enumerate(sorted(accounts, key=lambda one: one["host"])):
        (DATA / f"hosts-account-{number}.json").write_text(json.dumps(one, indent=1) + "\n")


DATA.mkdir(exist_ok=True)
for part in sys.argv[2:] or ("guest", "watch", "hosts"):
    {"guest": guest, "watch": watch, "hosts": hosts}[part]()
