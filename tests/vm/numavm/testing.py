# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What the suites share: facts for the programs in the guest, and how a test that can't run here says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from . import MissingTool, VmError
from .model import Guest

SKIP = 77


def facts(guest: Guest) -> str:
    """The model as suite/expect.hpp reads it."""
    cores: dict[tuple[int, int, int], list[int]] = {}
    for pu in guest.pus:
        cores.setdefault((pu.package, pu.die, pu.core), []).append(pu.number)
    lines = []
    for pu in guest.pus:
        siblings = ",".join(str(n) for n in sorted(cores[pu.package, pu.die, pu.core]))
        lines.append(f"cpu {pu.number} node {pu.node} package {pu.package} siblings {siblings}")
    for node in guest.nodes:
        row = " ".join(str(d) for d in guest.slit[node.number])
        lines.append(f"node {node.number} cpus {len(guest.cpus_of(node.number))} distances {row}")
    for name, matrix in (("latency", guest.latency), ("bandwidth", guest.bandwidth)):
        for i, row_values in enumerate(matrix or []):
            if guest.cpus_of(i):
                lines += [f"{name} {i} {j} {value:g}" for j, value in enumerate(row_values) if value]
    return "\n".join(lines) + "\n"


def required() -> bool:
    return "numa" in os.environ.get("NIGH_REQUIRE", "").split(",")


def skip(reason: str) -> int:
    """A test that can't run here: SKIP and why, or a failure where NIGH_REQUIRE=numa says it must."""
    print(f"{'FAIL (NIGH_REQUIRE=numa)' if required() else 'SKIP'}: {reason}")
    return 1 if required() else SKIP


def soak() -> bool:
    return os.environ.get("NIGH_SOAK", "") not in ("", "0")


def not_now() -> int:
    print("SKIP: a long form (NIGH_SOAK=1 runs it)")
    return SKIP


def main(body: Callable[[], int]) -> int:
    try:
        return body()
    except MissingTool as error:
        return skip(str(error))
    except VmError as error:
        print(f"FAIL: {error}")
        return 1
    finally:
        sys.stdout.flush()
