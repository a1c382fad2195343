# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""A machine file, seen as what a guest needs: for each PU its number, package, die, core, thread and NUMA node.

The tree of a machine file may be any depth; a PC only has packages, dies, cores and threads, so this module picks
the level inside the package that becomes the die (where the guest will show a shared L3), and keeps the rest only
as far as the NUMA tables can say it. PU numbers are kept exactly: acpi.py makes the guest kernel count that way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from . import VmError

Matrix = list[list[Optional[float]]]


@dataclass(frozen=True)
class Pu:
    """Where a PU sits; package counts over the machine, die, core and thread within their parent."""

    number: int
    package: int
    die: int
    core: int
    thread: int
    node: int


@dataclass(frozen=True)
class Node:
    number: int
    bytes: int = 0


@dataclass(frozen=True)
class Guest:
    name: str
    pus: tuple[Pu, ...]  # in the order of (package, die, core, thread)
    nodes: tuple[Node, ...]  # by number
    slit: tuple[tuple[int, ...], ...]
    shared_l3: bool = True  # the cores of a die share a cache
    latency: Optional[Matrix] = None  # ns
    bandwidth: Optional[Matrix] = None  # MB/s
    notes: tuple[str, ...] = ()

    def shape(self) -> tuple[int, int, int, int]:
        """Packages, dies per package, cores per die, threads per core: the largest of each (QEMU's are uniform)."""
        pus = self.pus
        return (
            1 + max(p.package for p in pus),
            1 + max(p.die for p in pus),
            1 + max(p.core for p in pus),
            1 + max(p.thread for p in pus),
        )

    def cpus_of(self, node: int) -> list[int]:
        return sorted(p.number for p in self.pus if p.node == node)


@dataclass
class _Object:
    kind: str
    os_index: Optional[int]
    bytes: int
    children: list["_Object"] = field(default_factory=list)
    parent: Optional["_Object"] = field(default=None, repr=False)

    def leaves(self) -> list["_Object"]:
        if self.kind == "pu":
            return [self]
        return [pu for child in self.children for pu in child.leaves()]

    def find(self, kind: str) -> list["_Object"]:
        found = [self] if self.kind == kind else []
        for child in self.children:
            found += child.find(kind)
        return found

    def ancestor(self, kind: str) -> Optional["_Object"]:
        at = self.parent
        while at is not None and at.kind != kind:
            at = at.parent
        return at


def _expand(raw: Any, where: str) -> list[_Object]:
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise VmError(f"{where}: a tree object needs a \"type\"")
    count = raw.get("count", 1)
    if not isinstance(count, int) or count < 1:
        raise VmError(f"{where}.count: must be a whole number above 0")
    copies = []
    for _ in range(count):
        one = _Object(raw["type"], raw.get("os_index"), int(raw.get("bytes", 0)))
        for i, child in enumerate(raw.get("children", [])):
            one.children += _expand(child, f"{where}.children[{i}]")
        for child_object in one.children:
            child_object.parent = one
        copies.append(one)
    return copies


def _number(objects: list[_Object]) -> None:
    for i, one in enumerate(objects):
        if one.os_index is None:
            one.os_index = i


def _unique(numbers: list[int], what: str) -> None:
    if sorted(numbers) != list(range(len(numbers))):
        raise VmError(
            f"{what} numbers must be 0 to {len(numbers) - 1}, each once, for a guest: Linux numbers them without gaps"
        )


def _node_of(pu: _Object, root: _Object) -> int:
    node = pu.ancestor("numa")
    at = pu.parent
    while node is None and at is not None:
        # A file may put one node beside several packages: then the nearest such node is theirs.
        beside = [c for c in at.children if c.kind == "numa" and not c.children]
        node = min(beside, key=lambda n: n.os_index or 0) if beside else None
        at = at.parent
    if node is None:
        if root.find("numa"):
            raise VmError(f"PU {pu.os_index} is in no NUMA node: put its package into one")
        return 0
    return node.os_index or 0


def _die_kind(package: _Object) -> str:
    """The level that becomes QEMU's die, whose cores share the guest's L3; "" when the package is one die."""
    for kind in ("l3", "numa", "die"):
        if len([o for o in package.find(kind) if o.leaves()]) > 1:
            return kind
    caches = [o for o in package.find("l2") if len(o.find("core")) > 1]
    return "l2" if len(caches) > 1 and not package.find("l3") else ""


def _holds_pu0(one: _Object) -> bool:
    return any(pu.os_index == 0 for pu in one.leaves())


def _boot_first(objects: list[_Object]) -> list[_Object]:
    """The boot CPU is always PU 0, so what holds PU 0 comes first at every level."""
    return sorted(objects, key=lambda o: not _holds_pu0(o))


def _groups(package: _Object) -> tuple[list[_Object], str]:
    kind = _die_kind(package)
    return ([o for o in package.find(kind) if o.leaves()] if kind else [package]), kind


def _place(root: _Object) -> tuple[list[Pu], bool]:
    packages = [p for p in root.find("package") if p.leaves()] or [root]
    by_number = sorted(packages, key=lambda p: p.os_index or 0)
    pus: list[Pu] = []
    shared = False
    for at, package in enumerate(_boot_first(by_number)):
        dies, kind = _groups(package)
        if sum(len(d.leaves()) for d in dies) != len(package.leaves()):
            dies, kind = [package], ""
        shared = shared or kind in ("l3", "l2") or bool(package.find("l3"))
        for die_at, die in enumerate(_boot_first(dies)):
            cores = die.find("core") or die.leaves()
            for core_at, core in enumerate(_boot_first(cores)):
                for thread, pu in enumerate(_boot_first(core.leaves())):
                    pus.append(Pu(pu.os_index or 0, at, die_at, core_at, thread, _node_of(pu, root)))
    return pus, shared


def _square(raw: Any, size: int, where: str) -> Matrix:
    if not isinstance(raw, list) or len(raw) != size or any(not isinstance(r, list) or len(r) != size for r in raw):
        raise VmError(f"{where}: must have {size} rows of {size} values, one for each NUMA node")
    return [[None if v is None else float(v) for v in row] for row in raw]


def default_slit(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(10 if i == j else 20 for j in range(size)) for i in range(size))


def _slit(raw: Any, size: int) -> tuple[tuple[int, ...], ...]:
    """The SLIT, its unknown entries taken from the other direction, else 20."""
    if raw is None:
        return default_slit(size)
    given = _square(raw, size, "links.slit")
    rows = []
    for i in range(size):
        row = []
        for j in range(size):
            value = given[i][j] if given[i][j] is not None else given[j][i]
            number = int(value) if value is not None else (10 if i == j else 20)
            if (number != 10) if i == j else not 11 <= number <= 254:
                raise VmError(
                    f"links.slit[{i}][{j}] is {number}: Linux takes a SLIT only with 10 on the diagonal and 11 to 254 off it"
                )
            row.append(number)
        rows.append(tuple(row))
    return tuple(rows)


def _links(document: dict[str, Any], size: int) -> dict[str, Any]:
    links = document.get("links", {})
    found: dict[str, Any] = {"slit": _slit(links.get("slit"), size)}
    for key in ("latency", "bandwidth"):
        if key in links:
            found[key] = _square(links[key].get("values"), size, f"links.{key}.values")
    return found


def parse(text: str, where: str) -> Guest:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise VmError(f"{where}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != "nigh-machine":
        raise VmError(f"{where}: not a machine file (\"format\" must be \"nigh-machine\", see docs/machine-json.md)")
    if document.get("version") != 1:
        raise VmError(f"{where}: version {document.get('version')} of the machine file is not known here (1 is)")
    root = _expand(document.get("tree"), "tree")[0]
    leaves = root.leaves()
    if not leaves:
        raise VmError(f"{where}: the machine has no PUs")
    numbers = document.get("pu_numbers")
    if numbers is not None:
        if len(numbers) != len(leaves):
            raise VmError(f"{where}: pu_numbers has {len(numbers)} entries, the tree has {len(leaves)} PUs")
        for pu, number in zip(leaves, numbers):
            pu.os_index = number
    for kind in ("package", "numa", "pu"):
        _number(root.find(kind))
    _unique([pu.os_index or 0 for pu in leaves], "PU")
    nodes = sorted((Node(n.os_index or 0, n.bytes) for n in root.find("numa")), key=lambda n: n.number) or [Node(0)]
    _unique([n.number for n in nodes], "NUMA node")
    pus, shared = _place(root)
    return Guest(
        name=str(document.get("name", "machine")),
        pus=tuple(pus),
        nodes=tuple(nodes),
        shared_l3=shared,
        **_links(document, len(nodes)),
    )


def quick(nodes: int, cores: int, smt: int) -> Guest:
    """A machine of equal packages, one node each; siblings are numbered side by side."""
    if min(nodes, cores, smt) < 1:
        raise VmError("--nodes, --cores and --smt must be at least 1")
    pus = [
        Pu((n * cores + c) * smt + t, n, 0, c, t, n) for n in range(nodes) for c in range(cores) for t in range(smt)
    ]
    return Guest(f"{nodes}x{cores}x{smt}", tuple(pus), tuple(Node(n) for n in range(nodes)), default_slit(nodes))


def scattered(nodes: int) -> Guest:
    """One CPU a node, but CPU 1 on the last and so on: what takes one number for the other is found out."""
    made = quick(nodes, 1, 1)
    return replace(made, pus=tuple(replace(pu, number=-pu.number % nodes) for pu in made.pus))


def cut(guest: Guest, limit: int) -> Guest:
    """The same machine with fewer cores in each die (then without SMT), so that at most `limit` PUs remain."""
    if len(guest.pus) <= limit:
        return guest
    _, _, cores, threads = guest.shape()
    kept: list[Pu] = []
    for c, t in [(c, threads) for c in range(cores - 1, 0, -1)] + [(1, 1)]:
        kept = [p for p in guest.pus if p.core < c and p.thread < t]
        if len(kept) <= limit:
            break
    if len(kept) > limit:
        raise VmError(f"{guest.name} can't be cut to {limit} PUs: it has {len(kept)} dies, and each needs one")
    rank = {number: i for i, number in enumerate(sorted(p.number for p in kept))}
    note = f"cut from {len(guest.pus)} to {len(kept)} PUs"
    pus = tuple(replace(p, number=rank[p.number]) for p in kept)
    return replace(guest, name=f"{guest.name}-{len(kept)}", pus=pus, notes=guest.notes + (note,))


def to_json(guest: Guest) -> dict[str, Any]:
    """The machine file of what the guest shows: packages, nodes, dies with their L3, cores and PUs."""
    objects: list[tuple[str, int, frozenset[int], int]] = []
    rank = {"machine": 0, "package": 1, "numa": 2, "l3": 3, "core": 4, "pu": 5}

    def add(kind: str, keys: dict[Any, list[int]], memory: Optional[dict[int, int]] = None) -> None:
        for index, (key, pus) in enumerate(sorted(keys.items())):
            number = key if kind in ("numa", "package") else index
            objects.append((kind, number, frozenset(pus), (memory or {}).get(number, 0)))

    def by(*names: str) -> dict[Any, list[int]]:
        groups: dict[Any, list[int]] = {}
        for pu in guest.pus:
            values = tuple(getattr(pu, name) for name in names)
            groups.setdefault(values[0] if len(values) == 1 else values, []).append(pu.number)
        return groups

    add("package", by("package"))
    add("numa", by("node"), {n.number: n.bytes for n in guest.nodes})
    if guest.shared_l3:
        add("l3", by("package", "die"))
    add("core", by("package", "die", "core"))
    objects.sort(key=lambda o: (-len(o[2]), rank[o[0]]))
    return _document(guest, objects)


def _document(guest: Guest, objects: list[tuple[str, int, frozenset[int], int]]) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "machine", "children": []}
    placed: list[tuple[frozenset[int], dict[str, Any]]] = [(frozenset(p.number for p in guest.pus), root)]
    order = {p.number: i for i, p in enumerate(guest.pus)}
    for kind, number, pus, size in sorted(objects, key=lambda o: (-len(o[2]), min(order[p] for p in o[2]))):
        parent = [at for held, at in placed if pus <= held][-1]
        one: dict[str, Any] = {"type": kind}
        if kind in ("numa", "package"):
            one["os_index"] = number
        if size:
            one["bytes"] = size
        one["children"] = []
        parent["children"].append(one)
        placed.append((pus, one))
    for pu in guest.pus:
        core = [at for held, at in placed if pu.number in held][-1]
        core["children"].append({"type": "pu", "os_index": pu.number})
    for node in guest.nodes:
        if not guest.cpus_of(node.number):
            root["children"].append({"type": "numa", "os_index": node.number, "bytes": node.bytes})
    document: dict[str, Any] = {"format": "nigh-machine", "version": 1, "name": guest.name, "tree": root}
    links: dict[str, Any] = {"slit": [list(row) for row in guest.slit]}
    for key, unit, values in (("bandwidth", "MB/s", guest.bandwidth), ("latency", "ns", guest.latency)):
        if values is not None:
            links[key] = {"unit": unit, "values": values, "source": "hmat"}
    return document | {"links": links}
