#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of numavm that need no guest: reading models, cutting them, the tables' bytes, and what users are told."""

import json
import struct
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from numavm import MissingTool, VmError, acpi, cli, counting, model  # noqa: E402
from numavm.cpio import Archive  # noqa: E402

MACHINES = Path(__file__).resolve().parents[1] / "machines"


def document(tree: dict[str, Any], **more: Any) -> str:
    return json.dumps({"format": "nigh-machine", "version": 1, "name": "m", "tree": tree} | more)


def two_packages(numbers: list[int]) -> str:
    core = {"type": "core", "count": 4, "children": [{"type": "pu", "count": 2}]}
    package = {"type": "package", "count": 2, "children": [{"type": "numa", "children": [core]}]}
    return document({"type": "machine", "children": [package]}, pu_numbers=numbers)


class Reading(unittest.TestCase):
    def test_sun_and_hp_numbering(self) -> None:
        sun, hp = cli.load_machine("nehalem-sun"), cli.load_machine("nehalem-hp")
        for guest, package_of in ((sun, lambda n: n % 8 // 4), (hp, lambda n: n % 2)):
            cores: dict[tuple[int, int], set[int]] = {}
            for pu in guest.pus:
                self.assertEqual(pu.package, package_of(pu.number))
                self.assertEqual(pu.node, pu.package)
                cores.setdefault((pu.package, pu.core), set()).add(pu.number)
            self.assertEqual(sorted(map(sorted, cores.values())), [[n, n + 8] for n in range(8)])

    def test_shapes_of_shipped_models(self) -> None:
        wanted = {
            "barcelona": (4, 1, 4, 1),
            "tigerton": (4, 2, 2, 1),
            "opteron-6272": (4, 2, 8, 1),
            "scalemp": (26, 2, 2, 1),
            "xeon-6980p-snc3": (2, 3, 43, 2),
        }
        for name, shape in wanted.items():
            self.assertEqual(cli.load_machine(name).shape(), shape, name)
        self.assertEqual({p.node for p in cli.load_machine("tigerton").pus}, {0})
        scalemp = cli.load_machine("scalemp")
        self.assertTrue(all(p.node == p.package // 2 for p in scalemp.pus))

    def test_both_written_forms_are_the_same_machine(self) -> None:
        for path in sorted(MACHINES.glob("*.json")):
            guest = cli.load_machine(str(path))
            again = model.parse(json.dumps(model.to_json(guest)), "again")
            self.assertEqual(again.pus, guest.pus, path)
            self.assertEqual(again.nodes, guest.nodes, path)
            self.assertEqual((again.slit, again.latency), (guest.slit, guest.latency), path)

    def test_what_a_wrong_file_gets(self) -> None:
        pu = {"type": "pu"}
        core = {"type": "core", "children": [pu]}
        cases = {
            "not JSON": "{",
            '"format" must be': "{}",
            "version 2": document({}).replace('"version": 1', '"version": 2'),
            "no PUs": document({"type": "machine"}),
            "3 entries, the tree has 16": two_packages([1, 2, 3]),
            "PU numbers must be 0 to 15": two_packages([0] * 16),
            "is in no NUMA node": document(
                {
                    "type": "machine",
                    "children": [
                        {"type": "package", "children": [core]},
                        {"type": "package", "children": [{"type": "numa", "children": [core]}]},
                    ],
                }
            ),
            "links.slit[0][1] is 10": document(
                {"type": "machine", "children": [{"type": "numa", "count": 2, "children": [core]}]},
                links={"slit": [[10, 10], [20, 10]]},
            ),
            "2 rows of 2 values": document(
                {"type": "machine", "children": [{"type": "numa", "count": 2, "children": [core]}]},
                links={"latency": {"values": [[1, 2]]}},
            ),
        }
        for words, text in cases.items():
            with self.assertRaises(VmError) as caught:
                model.parse(text, "file")
            self.assertIn(words, str(caught.exception))

    def test_boot_cpu_comes_first(self) -> None:
        guest = model.parse(two_packages([9, 8, 1, 2, 3, 4, 5, 6, 7, 0, 10, 11, 12, 13, 14, 15]), "file")
        first = next(p for p in guest.pus if p.number == 0)
        self.assertEqual((first.package, first.die, first.core, first.thread), (0, 0, 0, 0))
        self.assertEqual(first.node, 1)


class Cutting(unittest.TestCase):
    def test_equally_in_each_die(self) -> None:
        guest = model.cut(cli.load_machine("opteron-6272"), 16)
        self.assertEqual([guest.cpus_of(n) for n in range(8)], [[2 * n, 2 * n + 1] for n in range(8)])

    def test_siblings_go_last(self) -> None:
        guest = model.cut(model.quick(4, 2, 2), 8)
        self.assertEqual(guest.shape(), (4, 1, 1, 2))
        self.assertEqual(model.cut(model.quick(4, 2, 2), 4).shape(), (4, 1, 1, 1))
        with self.assertRaisesRegex(VmError, "4 dies"):
            model.cut(model.quick(4, 2, 2), 3)


class Tables(unittest.TestCase):
    def test_checksums_and_order(self) -> None:
        guest = cli.load_machine("nehalem-hp")
        for name, table in acpi.tables(guest, [256 << 20] * 2).items():
            self.assertEqual(sum(table) & 0xFF, 0, name)
            self.assertEqual(struct.unpack_from("<I", table, 4)[0], len(table), name)
        entries = [struct.unpack_from("<BBBB", acpi.madt(guest), 44 + 8 * i) for i in range(16)]
        self.assertEqual([e[3] for e in entries[:4]], [0, 8, 2, 10])  # PU 1 is on the other package

    def test_memory_goes_round_the_holes(self) -> None:
        gib = 1 << 30
        ranges = acpi.memory_ranges([gib, gib, gib])
        self.assertEqual(
            ranges,
            [
                (0, 0, 0xA0000),
                (0, 0x100000, gib - 0x100000),
                (1, gib, gib),
                (2, 4 * gib, gib),  # q35 puts what is above 2 GiB beyond 4 GiB when there is so much
            ],
        )
        split = acpi.memory_ranges([3 * gib, gib])
        self.assertEqual(split[1:], [(0, 0x100000, 2 * gib - 0x100000), (0, 4 * gib, gib), (1, 5 * gib, gib)])

    def test_hmat_keeps_fractions(self) -> None:
        table = acpi.hmat(cli.load_machine(str(MACHINES / "cxl.json")))
        assert table is not None
        at = 40 + 4 * 40  # after the four memory structures
        unit = struct.unpack_from("<Q", table, at + 24)[0]
        entries = struct.unpack_from("<8H", table, at + 32 + 4 * (2 + 4))
        self.assertEqual([e * unit for e in entries[:4]], [95500, 152000, 255000, 391000])

    def test_too_large(self) -> None:
        with self.assertRaisesRegex(VmError, "--cpus-limit"):
            acpi.check_limits(cli.load_machine("xeon-6980p-snc3"))
        with self.assertRaisesRegex(VmError, "takes 128"):
            acpi.check_limits(model.quick(129, 1, 1))
        acpi.check_limits(model.cut(cli.load_machine("xeon-6980p-snc3"), 48))


class Counting(unittest.TestCase):
    def test_nodes_are_those_of_qemus_vcpus(self) -> None:
        self.assertEqual(model.scattered(4).cpus_of(1), [3])
        self.assertEqual(acpi.node_of_vcpus(model.scattered(4)), [0, 1, 2, 3])
        lacking = model.quick(2, 2, 1)
        lacking = replace(lacking, pus=lacking.pus[:-1])
        self.assertEqual(acpi.node_of_vcpus(lacking), [0, 0, 1, None])
        words = counting.Count(Path("/a,b.so")).words(lacking, 64, Path("/o"))
        self.assertIn("file=/a,,b.so,out=/o/counts,cpus=0:0:1:-,nodes=2,node_bytes=67108864,", words[1])
        with self.assertRaisesRegex(VmError, "below 4 GiB"):
            counting.Count(Path("p")).words(lacking, 2048, Path("/o"))

    def test_a_qemu_that_takes_no_plugin_is_a_missing_one(self) -> None:
        with self.assertRaises(MissingTool):
            counting.check_refusal("-plugin: plugin interface not enabled in this build")
        counting.check_refusal("Could not load plugin: qemu_plugin_install returned error code 1")


class Cpio(unittest.TestCase):
    def test_parents_come_first_and_all_is_aligned(self) -> None:
        archive = Archive()
        archive.file("a/b/c", b"12345", 0o755)
        data = archive.bytes()
        self.assertEqual(len(data) % 512, 0)
        names = []
        at = 0
        while True:
            self.assertEqual(data[at : at + 6], b"070701")
            size, label = (int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in (6, 11))
            names.append(data[at + 110 : at + 109 + label].decode())
            if names[-1] == "TRAILER!!!":
                break
            at = (at + 110 + label + 3) // 4 * 4
            at = (at + size + 3) // 4 * 4
        self.assertEqual(names, ["a", "a/b", "a/b/c", "TRAILER!!!"])


if __name__ == "__main__":
    unittest.main()
