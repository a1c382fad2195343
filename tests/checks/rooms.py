#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Proves the arrows of docs/architecture.md: its table of rooms is read, and every #include "room/file" below
# src/ must go from a room to itself or to a room that its line names; rooms and headers must form no cycle;
# no #include may climb with "../". Also: every source file starts with the two-line header, and only the
# room sys makes system calls or opens files of /proc and /sys.
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".c", ".cpp", ".h", ".hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def rooms_table(text: str) -> dict[str, set[str]]:
    """Room -> rooms it may include, from the lines `| \\`room\\` | ... | a b c |` of the first such table."""
    rooms: dict[str, set[str]] = {}
    for line in text.splitlines():
        if rooms and not line.startswith("|"):
            break
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`\w+`", cells[0]):
            name = cells[0].strip("`")
            allowed = set(rooms) if cells[2] == "all" else set(re.findall(r"\w+", cells[2]))
            rooms[name] = allowed
    return rooms


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    state: dict[str, int] = {}
    path: list[str] = []

    def visit(node: str) -> list[str]:
        state[node] = 1
        path.append(node)
        for other in sorted(graph.get(node, ())):
            if state.get(other) == 1:
                return path[path.index(other):] + [other]
            if other not in state and (cycle := visit(other)):
                return cycle
        path.pop()
        state[node] = 2
        return []

    for start in sorted(graph):
        if start not in state and (cycle := visit(start)):
            return cycle
    return []


def check_includes(src: Path, rooms: dict[str, set[str]]) -> list[str]:
    problems: list[str] = []
    headers: dict[str, set[str]] = {}
    for path in sorted(p for p in src.rglob("*") if p.suffix in SOURCES):
        name = path.relative_to(src).as_posix()
        room = name.split("/")[0]
        if room not in rooms:
            problems.append(f"src/{name}: room '{room}' is not in the table of docs/architecture.md")
            continue
        for target in INCLUDE.findall(path.read_text(errors="replace")):
            if target.startswith("."):
                problems.append(f'src/{name}: include "{target}" climbs; write it from src/')
                continue
            other = target.split("/")[0]
            if other == "nigh":  # public headers, include/nigh
                continue
            if other != room and other not in rooms.get(room, set()):
                problems.append(f"src/{name}: room '{room}' may not include '{target}'")
            headers.setdefault(name, set()).add(target)
    if cycle := find_cycle({r: a - {r} for r, a in rooms.items()}):
        problems.append("rooms form a cycle: " + " -> ".join(cycle))
    if cycle := find_cycle(headers):
        problems.append("includes form a cycle: " + " -> ".join(cycle))
    return problems


def check_headers(files: list[Path]) -> list[str]:
    problems = []
    for path in files:
        head = "\n".join(path.read_text(errors="replace").splitlines()[:4])
        if "Copyright (c)" not in head or "SPDX-License-Identifier: BSD-3-Clause" not in head:
            problems.append(f"{path.relative_to(ROOT)}: lacks the two-line header (copyright, SPDX)")
    return problems


def check_door(src: Path) -> list[str]:
    """Only src/sys talks to the kernel. The preloaded code does it through sys/raw.h."""
    call = re.compile(r'\bsyscall\s*\(\s*(?:SYS_|__NR_)|(?:fopen|open|ifstream)\s*\(?\s*"/(?:proc|sys)/')
    problems = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in SOURCES):
        room = path.relative_to(src).parts[0]
        if room == "sys" or path.stem.endswith("_test"):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if call.search(line):
                problems.append(f"{path.relative_to(ROOT)}:{number}: goes past the room sys to the kernel")
    return problems


def self_test() -> list[str]:
    """The check itself must be able to fail."""
    rooms = rooms_table("| `a` | x | - |\n| `b` | y | a |\n| `c` | z | all |\n\n| `d` | - | all |\n")
    ok = rooms == {"a": set(), "b": {"a"}, "c": {"a", "b"}}
    ok = ok and find_cycle({"a": {"b"}, "b": {"a"}}) and not find_cycle(rooms)
    return [] if ok else ["rooms.py: its own self-test fails"]


def main() -> int:
    table = rooms_table((ROOT / "docs" / "architecture.md").read_text())
    files = [p for d in ("src", "include", "bench", "tests") for p in sorted((ROOT / d).rglob("*"))
             if p.suffix in SOURCES | {".f90", ".py", ".sh"}]
    problems = self_test() + check_includes(ROOT / "src", table) + check_headers(files) + check_door(ROOT / "src")
    for p in problems:
        print(p, file=sys.stderr)
    print(f"rooms: {len(table)} rooms, {len(files)} files, {len(problems)} problems")
    return 1 if problems or not table else 0


if __name__ == "__main__":
    sys.exit(main())
