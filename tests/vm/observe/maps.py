# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what an observer printed, compares it with a plan, and puts a name to what is wrong.

A map that has other PU numbers than the plan may still be as good; so a peer's map counts as right, too, when no
thread is loose, no PU holds more threads than it must, and every team spans as many NUMA nodes as the plan's does.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from numavm import VmError
from numavm.model import Guest
from numavm.verify import parse_list

Path = tuple[int, ...]
Map = dict[Path, int]


@dataclass
class Seen:
    """All that was seen at one path: how often each mask, which CPUs, and how many OS threads served it at most."""

    masks: Counter[frozenset[int]] = field(default_factory=Counter)
    cpus: set[int] = field(default_factory=set)
    threads: int = 0


def read(text: str) -> dict[Path, Seen]:
    sights: dict[Path, Seen] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 10 or words[0] != "path":
            raise VmError(f"the observer printed a line that is no sight: {line!r}")
        seen = sights.setdefault(tuple(int(n) for n in words[1].split(".")), Seen())
        seen.masks[frozenset(parse_list(words[3]))] += int(words[5])
        seen.cpus |= set(parse_list(words[7]))
        seen.threads = max(seen.threads, int(words[9]))
    return sights


def planned(nigh: str, spec: str, machine: str, mask: str | None) -> Map:
    """What `nigh plan` says: path -> PU, of the innermost threads."""
    line = [nigh, "plan", "--teams", spec, "--machine", machine, "--json"]
    line += ["--mask", mask] if mask else []
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        raise VmError(f"{' '.join(line)}: status {done.returncode}: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    depth = len(spec.split(",")) // 2
    return {tuple(t["path"]): t["pu"] for t in document["threads"] if len(t["path"]) == depth}


def first_below(plan: Map, path: Path) -> int:
    """A thread that opens a team is its thread 0: both are on the same PU."""
    depth = len(next(iter(plan)))
    return plan[path + (0,) * (depth - len(path))]


def differences(sights: dict[Path, Seen], plan: Map, repeats: int) -> list[str]:
    """One sentence for each path that was not, every time, on exactly its planned PU."""
    depth = len(next(iter(plan)))
    found = []
    leaves = {path for path in sights if len(path) == depth}
    if leaves != set(plan):
        found.append(f"paths {sorted(leaves ^ set(plan))} are only in one of plan and observation")
    for path, seen in sorted(sights.items()):
        if path not in plan and path + (0,) * (depth - len(path)) not in plan:
            continue
        pu = first_below(plan, path)
        name = ".".join(map(str, path))
        if set(seen.masks) != {frozenset([pu])}:
            masks = ", ".join(f"{sorted(mask)} ({times} times)" for mask, times in seen.masks.items())
            found.append(f"{name}: planned on {pu}, bound to {masks}")
        elif seen.cpus != {pu}:
            found.append(f"{name}: planned on {pu}, ran on {sorted(seen.cpus)}")
        elif sum(seen.masks.values()) != repeats:
            found.append(f"{name}: seen {sum(seen.masks.values())} times, not {repeats}")
    return found


def _nodes(guest: Guest) -> dict[int, int]:
    return {pu.number: pu.node for pu in guest.pus}


def _teams(paths: list[Path]) -> dict[Path, list[Path]]:
    """For every level: the path of a team's opener -> all innermost threads below it."""
    teams: dict[Path, list[Path]] = {}
    for path in paths:
        for level in range(len(path)):
            teams.setdefault(path[:level], []).append(path)
    return teams


def _crowding(where: Map, within: bool) -> int:
    """Pairs of innermost threads on one PU: of one team, or of different ones."""
    pairs = 0
    for pu in set(where.values()):
        here = [path[:-1] for path, other in where.items() if other == pu]
        same = sum(n * (n - 1) // 2 for n in Counter(here).values())
        pairs += same if within else len(here) * (len(here) - 1) // 2 - same
    return pairs


def judge(sights: dict[Path, Seen], plan: Map, guest: Guest) -> tuple[bool, list[str]]:
    """(right, how it differs): "other PUs" alone is still right."""
    inner = {path: seen for path, seen in sights.items() if path in plan}
    if set(inner) != set(plan):
        return False, ["teams of other sizes"]
    if any(len(mask) > 1 for seen in inner.values() for mask in seen.masks):
        return False, ["unbound"]
    how = []
    if any(len(seen.masks) > 1 for seen in inner.values()):
        how.append("unstable")
    where = {path: min(seen.masks.most_common(1)[0][0]) for path, seen in inner.items()}
    if _crowding(where, True) > _crowding(plan, True):
        how.append("stacks")
    if _crowding(where, False) > _crowding(plan, False):
        how.append("overlaps")
    node = _nodes(guest)
    for team in _teams(list(plan)).values():
        spans = len({node[where[path]] for path in team}) - len({node[plan[path]] for path in team})
        word = "straddles" if spans > 0 else "bunches"
        if spans != 0 and word not in how:
            how.append(word)
    if not how and where != plan:
        return True, ["other PUs"]
    return not how, how
