# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the guest's kernel shows (init.sh writes it to /out/guest) with the model, before any result counts."""

from __future__ import annotations

import re

from . import VmError
from .model import Guest


def _siblings(guest: Guest) -> dict[int, list[int]]:
    cores: dict[tuple[int, int, int], list[int]] = {}
    for pu in guest.pus:
        cores.setdefault((pu.package, pu.die, pu.core), []).append(pu.number)
    return {number: sorted(core) for core in cores.values() for number in core}


def parse_list(text: str) -> list[int]:
    """A kernel CPU list: "0-3,8"."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _read(text: str) -> dict[str, str]:
    """/sys path (from devices/system) -> value."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {path: value.strip() for path, colon, value in pairs if colon}


def _numbers(seen: dict[str, str], pattern: str) -> list[int]:
    found = (re.match(pattern, path) for path in seen)
    return sorted(int(match.group(1)) for match in found if match)


def _check_cpus(guest: Guest, seen: dict[str, str]) -> None:
    shown = _numbers(seen, r"cpu/cpu(\d+)/topology/physical_package_id")
    if shown != sorted(p.number for p in guest.pus):
        raise VmError(f"the guest shows CPUs {shown}, the model has {len(guest.pus)}")
    siblings = _siblings(guest)
    for pu in guest.pus:
        at = f"cpu/cpu{pu.number}/topology"
        got = (int(seen[f"{at}/physical_package_id"]), parse_list(seen[f"{at}/thread_siblings_list"]))
        wanted = (pu.package, siblings[pu.number])
        if got != wanted:
            raise VmError(f"CPU {pu.number} of the guest has (package, siblings) {got}, the model says {wanted}")


def _check_nodes(guest: Guest, mem_per_node: int, seen: dict[str, str]) -> None:
    shown = _numbers(seen, r"node/node(\d+)/distance")
    if shown != [n.number for n in guest.nodes]:
        raise VmError(f"the guest shows NUMA nodes {shown}, the model has {len(guest.nodes)}")
    for number in shown:
        cpus = parse_list(seen.get(f"node/node{number}/cpulist", ""))
        if cpus != guest.cpus_of(number):
            raise VmError(f"node {number} of the guest has CPUs {cpus}, the model says {guest.cpus_of(number)}")
        distances = [int(value) for value in seen[f"node/node{number}/distance"].split()]
        if distances != list(guest.slit[number]):
            raise VmError(f"node {number} of the guest has distances {distances}, the model says {guest.slit[number]}")
        kib = int(seen[f"node/node{number}/meminfo"].split()[-2])
        if not mem_per_node * 1024 * 0.4 < kib <= mem_per_node * 1024:
            raise VmError(f"node {number} of the guest has {kib} KiB of memory, not {mem_per_node} MiB")


def check(guest: Guest, mem_per_node: int, text: str) -> None:
    seen = _read(text)
    _check_cpus(guest, seen)
    _check_nodes(guest, mem_per_node, seen)
