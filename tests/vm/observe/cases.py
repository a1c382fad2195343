# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of nigh in a guest, and, where the rules fix it, the literal answer.

The literal maps are those of the IWOMP 2010 slides (5, 10, 11), as PU numbers by thread, nested as the teams are; the
planner was not asked for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

FOUR = "4,scatter,4,subscatter"


@dataclass(frozen=True)
class Case:
    name: str
    spec: str
    mask: Optional[str] = None
    literal: Any = None  # nested lists of PU numbers
    shuffled: bool = False  # libomp keeps no inner teams, so that its pool hands out other threads each time

    @property
    def sizes(self) -> list[int]:
        return [int(word) for word in self.spec.split(",")[::2]]


def blocks(teams: int, size: int) -> list[list[int]]:
    return [[team * size + i for i in range(size)] for team in range(teams)]


# The cases in which peers are compared, too, all on 4 packages of 4 cores.
COMMON = [
    Case("4x4", FOUR, literal=blocks(4, 4)),
    Case(
        "4x4 across",
        "4,scatter,4,scatter",
        literal=[[0, 5, 10, 15], [4, 9, 14, 3], [8, 13, 2, 7], [12, 1, 6, 11]],
    ),
    Case("2x8", "2,scatter,8,subscatter", literal=blocks(2, 8)),
    Case("3x5", "3,scatter,5,subscatter"),
    Case("4x2 masked", "4,scatter,2,subscatter", mask="0-5,8,12-15"),
    Case("2x2x4", "2,scatter,2,subscatter,4,subcompact", literal=[blocks(4, 4)[:2], blocks(4, 4)[2:]]),
]

_ONE_LEVEL = [Case("4 close", "4,compact", literal=[0, 1, 2, 3]), Case("4 apart", "4,scatter", literal=[0, 4, 8, 12])]


def _nehalem(compact: list[int], scatter: list[int], two: list[list[int]], eight: list[list[int]]) -> list[Case]:
    return [
        Case("4 close", "4,compact", literal=compact),
        Case("4 apart", "4,scatter", literal=scatter),
        Case("2x4", "2,scatter,4,subcompact", literal=two),
        Case("2x8 smt", "2,scatter,8,subcompact", literal=eight),
        Case("2x2x4", "2,scatter,2,subscatter,4,subcompact"),
    ]


_SHUFFLED = Case("4x4 shuffled", FOUR, literal=blocks(4, 4), shuffled=True)

CASES = {
    "barcelona": [*_ONE_LEVEL, *COMMON, _SHUFFLED],
    "nehalem-sun": _nehalem(
        [0, 1, 2, 3],
        [0, 2, 4, 6],
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]],
    ),
    "nehalem-hp": _nehalem(
        [0, 2, 4, 6],
        [0, 4, 1, 5],
        [[0, 2, 4, 6], [1, 3, 5, 7]],
        [[0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]],
    ),
    "opteron-6272": [
        Case("8x2", "8,scatter,2,subcompact", literal=blocks(8, 2)),
        Case("4x4", FOUR, literal=blocks(4, 4)),
        _SHUFFLED,
        Case("4x4 across", "4,scatter,4,scatter"),
        Case("3x5", "3,scatter,5,subscatter"),
        Case("4x2 masked", "4,scatter,2,subscatter", mask="0-5,8,12-15"),
        Case("2x2x4", "2,scatter,2,subscatter,4,subcompact", literal=[blocks(4, 4)[:2], blocks(4, 4)[2:]]),
    ],
    "sixteen-nodes": [
        Case("16x2", "16,scatter,2,subcompact", literal=blocks(16, 2)),
        Case("4x4", FOUR),
        Case("2x8", "2,scatter,8,subscatter"),
        Case("3x5", "3,scatter,5,subscatter"),
        Case("2x2x4", "2,scatter,2,subscatter,4,subcompact"),
    ],
}

CPUS_LIMIT = {"opteron-6272": 16}


def flat(literal: Any, path: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """Nested lists to path -> PU."""
    if isinstance(literal, int):
        return {path: literal}
    return {key: pu for i, one in enumerate(literal) for key, pu in flat(one, (*path, i)).items()}
