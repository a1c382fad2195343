# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tests/vm/numa-vm."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Optional

from . import VmError, guest as vm, model

ROOT = Path(__file__).resolve().parents[3]

DESCRIPTION = """Runs a command of this computer inside a virtual machine that has the NUMA nodes, cores, PU numbers
and distances of a machine model. The host's / is visible (changes are lost at the end), the working folder and the
environment are the caller's, /out ($NUMA_VM_OUT) is the output folder. The exit status is the command's; 125: the
guest gave none."""


def find_nigh() -> str:
    given = os.environ.get("NIGH")
    built = ROOT / "build" / "bin" / "nigh"
    installed = Path(__file__).resolve().parents[4] / "bin" / "nigh"  # PREFIX/libexec/nigh/vm/numavm
    near = next((str(p) for p in (built, installed) if p.is_file()), "")
    return given or near or shutil.which("nigh") or ""


def load_machine(name: str) -> model.Guest:
    """A machine file, or the name of a shipped model."""
    path = Path(name)
    if not path.is_file() and "/" not in name:
        path = ROOT / "src" / "machine" / "models" / f"{name}.json"
    if path.is_file():
        return model.parse(path.read_text(), str(path))
    nigh = find_nigh()
    if nigh and "/" not in name:
        done = subprocess.run([nigh, "machine", "--model", name, "--json"], capture_output=True, text=True)
        if done.returncode == 0:
            return model.parse(done.stdout, f"nigh machine --model {name}")
    raise VmError(f"{name}: neither a machine file (docs/machine-json.md) nor the name of a shipped model")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser("numa-vm", description=DESCRIPTION, usage="%(prog)s [options] -- COMMAND [ARGUMENT...]")
    p.add_argument("--machine", metavar="MODEL", help="a machine file, or a shipped model's name")
    p.add_argument("--nodes", type=int, default=0, help="quick form: that many packages of one node each")
    p.add_argument("--cores", type=int, default=1, help="quick form: cores of each node (default 1)")
    p.add_argument("--smt", type=int, default=1, help="quick form: hardware threads of each core (default 1)")
    p.add_argument("--cpus-limit", type=int, metavar="N", help="cut the machine to at most N CPUs, equally in each die")
    p.add_argument("--mem-per-node", type=int, default=256, metavar="MIB", help="memory of each node (default 256)")
    p.add_argument("--timeout", type=float, default=300, metavar="S", help="seconds for boot and commands (default 300)")
    p.add_argument("--run", action="append", default=[], metavar="LINE", help="a shell line to run; may be repeated")
    p.add_argument("--script", metavar="FILE", help="run each line of FILE (# starts a comment), in one boot")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="set in the commands' environment")
    p.add_argument("--out", metavar="FOLDER", help="keep stdout, stderr, status and what is written to /out here")
    p.add_argument("--keep", action="store_true", help="the same, in ./numa-vm-out")
    p.add_argument("--console", action="store_true", help="show the guest kernel's console on stderr")
    p.add_argument("--numa-balancing", action="store_true", help="leave the kernel's automatic page moving on")
    p.add_argument("--kernel-args", default="", metavar="WORDS", help="more words for the guest's kernel")
    p.add_argument("--accel", default=os.environ.get("NIGH_VM_ACCEL", "tcg"), help="tcg (default) or kvm")
    p.add_argument("--print-machine", action="store_true", help="only print the machine file of what the guest shows")
    p.add_argument("command", nargs="*", help=argparse.SUPPRESS)
    return p


def _machine(options: argparse.Namespace) -> model.Guest:
    if bool(options.machine) == bool(options.nodes):
        raise VmError("say which machine: either --machine MODEL or --nodes N [--cores M] [--smt T]")
    made = load_machine(options.machine) if options.machine else model.quick(options.nodes, options.cores, options.smt)
    return model.cut(made, options.cpus_limit) if options.cpus_limit else made


def _commands(options: argparse.Namespace) -> list[vm.Command]:
    env = {}
    for word in options.env:
        key, equals, value = word.partition("=")
        if not equals:
            raise VmError(f"--env {word}: write it as NAME=VALUE")
        env[key] = value
    commands = [vm.Command(line, env) for line in options.run]
    if options.script:
        try:
            lines = Path(options.script).read_text().splitlines()
        except OSError as error:
            raise VmError(f"{options.script}: {error.strerror}") from None
        commands += [vm.Command(line, env) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if options.command:
        commands.append(vm.Command.of(options.command, env=env))
    if not commands:
        raise VmError("no command: give one after --, or by --run or --script")
    return commands


def _options(options: argparse.Namespace) -> vm.Options:
    out: Optional[str] = options.out or ("numa-vm-out" if options.keep else None)
    return vm.Options(
        mem_per_node=options.mem_per_node,
        timeout=options.timeout,
        numa_balancing=options.numa_balancing,
        console=options.console,
        relay=True,
        accel=options.accel,
        kernel_args=options.kernel_args,
        out=Path(out).resolve() if out else None,
    )


def _terminated(number: int, _frame: Optional[FrameType]) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    options = parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        machine = _machine(options)
        if options.print_machine:
            print(json.dumps(model.to_json(machine), indent=1))
            return 0
        results = vm.run(machine, _commands(options), _options(options))
    except VmError as error:
        print(f"numa-vm: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130
    return next((result.status for result in results if result.status != 0), 0)
