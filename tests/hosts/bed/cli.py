# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The command line of the test bed, and its units: rates as tc has them (bits a second), delays in us, ms or s."""

import argparse
import os
import re
import shutil
import sys

from . import agent, bed
from .system import NotHere, Wrong

MOST = 64


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Wrong(message)


def quantity(text, units, example):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    if not match or match[2] not in units:
        raise Wrong(f'"{text}" is not like {example}; units are {", ".join(units)}')
    return round(float(match[1]) * units[match[2]])


def parse(words):
    if "--" not in words:
        words = words + ["--"] if "-h" in words or "--help" in words else words
        if "--" not in words:
            raise Wrong("say what to run: hosts -n 4 -- COMMAND...")
    at = words.index("--")
    parser = Parser(prog="hosts", usage="hosts [options] -- COMMAND... | hosts enter HOST COMMAND...",
                    description="Makes hosts of namespaces and runs COMMAND in the first; docs/testing-hosts.md.")
    parser.add_argument("-n", "--hosts", type=int, default=2, metavar="N", help="how many (default 2)")
    parser.add_argument("--rate", metavar="R", help="of a host's link, in each direction, such as 1gbit or 100mbit")
    parser.add_argument("--delay", metavar="D", help="of a host's link, one way, such as 30us; two links lie between hosts")
    parser.add_argument("--slots", type=int, default=1, metavar="K", help="ranks that a host gets before the next one does")
    parser.add_argument("--cpus", choices=("all", "split"), default="all", help="what a host may use: all CPUs, or a share")
    parser.add_argument("--link", choices=("auto", "tc", "wire"), default="auto",
                        help="by the kernel's tc, or by a process of ours (default: tc where the kernel can)")
    given = parser.parse_args(words[:at])
    if not 1 <= given.hosts <= MOST:
        raise Wrong(f"-n takes 1 to {MOST} hosts, not {given.hosts}")
    if given.slots < 1:
        raise Wrong(f"--slots takes a number from 1 on, not {given.slots}")
    if not words[at + 1:]:
        raise Wrong("say what to run after --")
    rate = quantity(given.rate, {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3}, "1gbit") if given.rate else 0
    delay = quantity(given.delay, {"us": 1e3, "ms": 1e6, "s": 1e9}, "30us") if given.delay else 0
    if given.rate and not 100_000 <= rate <= 100_000_000_000:
        raise Wrong(f"--rate takes 100kbit to 100gbit, not {given.rate}")
    if delay > 10_000_000_000:
        raise Wrong(f"--delay takes at most 10s, not {given.delay}")
    return bed.Bed(given.hosts, rate, delay, given.slots, given.cpus == "split", given.link), words[at + 1:]


def main():
    script = os.path.abspath(sys.argv[0])
    words = sys.argv[1:]
    try:
        if words[:1] == ["enter"]:
            return agent.enter(words[1:])
        made, command = parse(words)
        if os.geteuid() != 0:
            raise NotHere("namespaces with links between them need root")
        for tool in ("ip", "tc"):
            if not shutil.which(tool):
                raise NotHere(f"there is no {tool} here (package iproute2)")
        return bed.run(made, command, script)
    except Wrong as reason:
        print(f"hosts: {reason}", file=sys.stderr)
        return 2
    except NotHere as reason:
        print(f"hosts: {reason}", file=sys.stderr)
        return 77
