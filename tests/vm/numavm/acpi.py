# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The ACPI tables that make the guest kernel see the model: MADT (PU numbers), SRAT (nodes), SLIT and HMAT.

QEMU numbers CPUs in the order of their sockets and can't say more than its options do. Linux, however, takes tables
from an uncompressed cpio at the head of the initrd (kernel/firmware/acpi/*.aml) instead of the firmware's, or beside
them: it numbers CPUs in the order of the MADT's entries, and nodes in the order in which the SRAT first names their
proximity domain. So all four tables are written here, and QEMU is told of no NUMA at all.

    MADT   an entry per PU, in the order of the model's PU numbers; vCPUs that the model lacks are left out
    SRAT   APIC ids -> nodes, first one (invalid id) for each node so that domains are met in order; then the memory
    SLIT   the distances
    HMAT   latency (ps) and bandwidth (MB/s) of every initiator and target
"""

from __future__ import annotations

import math
import struct
from typing import Optional

from . import VmError
from .model import Guest, Matrix, Pu

MIB = 1 << 20
_HOLE_START, _HOLE_END = 0xA0000, 0x100000  # the PC's legacy hole, cut out of node 0
_GHOST = 0xFE  # an APIC id that no vCPU has


def _table(signature: bytes, revision: int, body: bytes) -> bytes:
    """A table with QEMU's OEM ids and a higher OEM revision, which is what the kernel wants to replace one."""
    head = struct.pack("<4sIBB6s8sI4sI", signature, 36 + len(body), revision, 0, b"BOCHS ", b"BXPC    ", 9, b"NIGH", 1)
    table = bytearray(head + body)
    table[9] = -sum(table) & 0xFF
    return bytes(table)


def _bits(count: int) -> int:
    return (count - 1).bit_length()


def apic_id(guest: Guest, pu: Pu) -> int:
    _, dies, cores, threads = guest.shape()
    number = pu.package
    for part, count in ((pu.die, dies), (pu.core, cores), (pu.thread, threads)):
        number = number << _bits(count) | part
    return number


def _qemu_index(guest: Guest, pu: Pu) -> int:
    _, dies, cores, threads = guest.shape()
    return ((pu.package * dies + pu.die) * cores + pu.core) * threads + pu.thread


def node_of_vcpus(guest: Guest) -> list[Optional[int]]:
    """The node of each vCPU in QEMU's order; None for one that the guest does not show."""
    nodes = {_qemu_index(guest, pu): pu.node for pu in guest.pus}
    return [nodes.get(index) for index in range(math.prod(guest.shape()))]


def madt(guest: Guest) -> bytes:
    body = struct.pack("<II", 0xFEE00000, 1)
    for pu in sorted(guest.pus, key=lambda p: p.number):
        body += struct.pack("<BBBBI", 0, 8, _qemu_index(guest, pu), apic_id(guest, pu), 1)
    body += struct.pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0)  # the I/O APIC
    for source, target, flags in ((0, 2, 0), (5, 5, 13), (9, 9, 13), (10, 10, 13), (11, 11, 13)):
        body += struct.pack("<BBBBIH", 2, 10, 0, source, target, flags)
    body += struct.pack("<BBBHB", 4, 6, 0xFF, 0, 1)  # NMI on LINT1 of all
    return _table(b"APIC", 3, body)


def low_memory(total: int) -> int:
    """Bytes of RAM that q35 puts below 4 GiB."""
    return 0x80000000 if total >= 0xB0000000 else min(total, 0xB0000000)


def memory_ranges(sizes: list[int]) -> list[tuple[int, int, int]]:
    """(node, base, length) of the nodes' memory as q35 lays RAM out: a hole at 640 KiB and one below 4 GiB."""
    low = low_memory(sum(sizes))
    ranges = []
    at = 0
    for node, size in enumerate(sizes):
        for start, end in ((at, min(at + size, low)), (max(at, low), at + size)):
            if start >= end:
                continue
            if start < _HOLE_START < end:
                ranges.append((node, start, _HOLE_START - start))
                start = _HOLE_END
            base = start if start < low else start - low + (1 << 32)
            ranges.append((node, base, end - start))
        at += size
    return ranges


def srat(guest: Guest, sizes: list[int]) -> bytes:
    body = struct.pack("<IQ", 1, 0)

    def cpu(node: int, apic: int) -> bytes:
        low, high = node & 0xFF, node >> 8
        return struct.pack("<BBBBIB3BI", 0, 16, low, apic, 1, 0, high & 0xFF, high >> 8, 0, 0)

    for node in guest.nodes:
        body += cpu(node.number, _GHOST)
    for pu in guest.pus:
        body += cpu(pu.node, apic_id(guest, pu))
    for number, base, length in memory_ranges(sizes):
        body += struct.pack("<BBIHQQIIQ", 1, 40, number, 0, base, length, 0, 1, 0)
    return _table(b"SRAT", 3, body)


def slit(guest: Guest) -> bytes:
    rows = b"".join(bytes(row) for row in guest.slit)
    return _table(b"SLIT", 1, struct.pack("<Q", len(guest.nodes)) + rows)


def _unit(values: list[float], finest: int, what: str) -> int:
    """The smallest base unit (a power of ten from `finest` down) in which all values fit 16 bits."""
    unit = finest
    while max(values) / unit > 0xFFFE:
        unit *= 10
    if unit > 10**12:
        raise VmError(f"links.{what}: {max(values):g} is too large for an HMAT")
    return unit


def _pairs(guest: Guest, kind: int, matrix: Matrix, scale: float, what: str) -> bytes:
    """One latency or bandwidth structure: base unit, initiators, targets, 16-bit entries (0: not known)."""
    initiators = [n.number for n in guest.nodes if guest.cpus_of(n.number)]
    targets = [n.number for n in guest.nodes]
    entries = [[(matrix[i][j] or 0.0) * scale for j in targets] for i in initiators]
    flat = [v for row in entries for v in row]
    if any(v < 0 or not math.isfinite(v) for v in flat):
        raise VmError(f"links.{what}: values must be positive")
    unit = _unit(flat + [1.0], 1, what)
    body = struct.pack(f"<{len(initiators)}I{len(targets)}I", *initiators, *targets)
    body += struct.pack(f"<{len(flat)}H", *(max(1, round(v / unit)) if v else 0 for v in flat))
    head = struct.pack("<HHIBBBBIIIQ", 1, 0, 32 + len(body), 0, kind, 0, 0, len(initiators), len(targets), 0, unit)
    return head + body


def hmat(guest: Guest) -> Optional[bytes]:
    """Type 0 (who is local to the memory), then a matrix of latencies and one of bandwidths, as far as known."""
    if guest.latency is None and guest.bandwidth is None:
        return None
    body = struct.pack("<I", 0)
    for node in guest.nodes:
        local = bool(guest.cpus_of(node.number))
        body += struct.pack("<HHIHHIIIQQ", 0, 0, 40, local, 0, node.number if local else 0, node.number, 0, 0, 0)
    if guest.latency is not None:
        body += _pairs(guest, 0, guest.latency, 1000.0, "latency")
    if guest.bandwidth is not None:
        body += _pairs(guest, 3, guest.bandwidth, 1.0, "bandwidth")
    return _table(b"HMAT", 2, body)


def tables(guest: Guest, sizes: list[int]) -> dict[str, bytes]:
    made = {"madt.aml": madt(guest), "srat.aml": srat(guest, sizes), "slit.aml": slit(guest)}
    matrix = hmat(guest)
    return made | ({"hmat.aml": matrix} if matrix is not None else {})


def check_limits(guest: Guest) -> None:
    """What q35 without an IOMMU, and 8-bit APIC ids, can hold."""
    packages, dies, cores, threads = guest.shape()
    vcpus = packages * dies * cores * threads
    highest = max(apic_id(guest, pu) for pu in guest.pus)
    if vcpus > 255 or highest >= _GHOST:
        raise VmError(
            f"{guest.name} needs {vcpus} vCPUs with APIC ids up to {highest}; a guest takes 254 and ids up to 253 "
            "(QEMU's q35 without an IOMMU): cut it down with --cpus-limit"
        )
    if len(guest.nodes) > 128:
        raise VmError(f"{guest.name} has {len(guest.nodes)} NUMA nodes; a guest takes 128")
