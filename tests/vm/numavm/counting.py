# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Memory accesses counted by QEMU itself (plugin/access_count.c): what it is told, and what it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from . import MissingTool, VmError, acpi
from .model import Guest

FILE = "counts"  # in the output folder
# The messages of QEMU where plugins are off, or only those of another time are taken.
_REFUSALS = ("plugin interface not enabled", "API version", "-plugin: invalid option")
START, END = 0x4E00_0000_0000, 0x4E10_0000_0000  # virtual addresses, as in plugin/marker.h


@dataclass
class Count:
    """Options.count: have QEMU load the plugin. The counts are in the output folder, the guest's /out."""

    plugin: Path
    start: int = START
    end: int = END

    def words(self, guest: Guest, mem_per_node: int, folder: Path) -> list[str]:
        """The words for QEMU's command line; the counts go to `folder`."""
        size = mem_per_node * acpi.MIB
        total = size * len(guest.nodes)
        if acpi.low_memory(total) < total:
            raise VmError(f"counting needs all memory below 4 GiB: at most 2815 MiB, not {total // acpi.MIB}")
        cpus = ":".join("-" if node is None else str(node) for node in acpi.node_of_vcpus(guest))
        values = {"out": folder / FILE, "cpus": cpus, "nodes": len(guest.nodes), "node_bytes": size}
        values |= {"from": self.start, "to": self.end}
        words = [f"file={self.plugin}"] + [f"{key}={value}" for key, value in values.items()]
        return ["-plugin", ",".join(word.replace(",", ",,") for word in words)]


def check_refusal(said: str) -> None:
    """A QEMU that takes no plugin is one that is missing; a plugin that fails in another way is our fault."""
    if any(refusal in said for refusal in _REFUSALS):
        raise MissingTool(f"this QEMU can't count accesses: {said}")


@dataclass
class Counted:
    """What was counted between two markers; [node of the CPU][node of the memory]."""

    loads: list[list[int]]
    stores: list[list[int]]
    unknown: int  # accesses to no node's memory

    def accesses(self) -> list[list[int]]:
        return [[a + b for a, b in zip(*rows)] for rows in zip(self.loads, self.stores)]


def read(folder: Path) -> list[Counted]:
    """The counts of a run that kept its output in `folder`, one for each pair of markers."""
    return [Counted(**json.loads(line)) for line in (folder / FILE).read_text().splitlines()]
