#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/guide.md is a way that can be gone: its programs are written to files, and its commands ("$ ..." in console blocks)
# run one after the other in one folder. Each must end with status 0 (nigh doctor: or 1, where something is in the way) and print
# what the guide shows, but for numbers and names. Usage: guide.py BUILD_FOLDER
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve()
# Lines that depend on the machine, or on how the race goes.
VARIES = ("nigh doctor", "nigh compare", "nigh tune", "nigh run --explain", "nigh run --teams", "nigh plan --ranks")


def blocks(text: str) -> list[tuple[str, list[str]]]:
    return [(kind, body.splitlines()) for kind, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.S | re.M)]


def steps(lines: list[str]) -> list[tuple[str, list[str]]]:
    out = []
    for line in lines:
        if line.startswith("$ "):
            out.append((line[2:], []))
        else:
            out[-1][1].append(line)
    return out


def shape(line: str) -> str:
    return re.sub(r"\d[\d.]*", "0", line).strip()


def main() -> None:
    if not all(map(shutil.which, ("mpicc", "mpirun", "gcc"))):
        print("SKIP: this needs mpicc, mpirun and gcc")
        sys.exit(1 if {"mpi", "all"} & set(os.environ.get("NIGH_REQUIRE", "").split(",")) else 77)
    env = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        env["XDG_CONFIG_HOME"] = env["XDG_CACHE_HOME"] = folder
        for kind, lines in blocks((ROOT / "docs" / "guide.md").read_text()):
            if kind == "c":
                name = re.fullmatch(r"/\* (\w+\.c) \*/", lines[0]).group(1)
                Path(folder, name).write_text("\n".join(lines) + "\n")
                continue
            if kind != "console":
                continue
            for command, shown in steps(lines):
                quick = re.sub(r"--time \d+", "--time 4", command)
                got = subprocess.run(quick, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=150)
                expected = (0, 1) if command == "nigh doctor" else (0,)
                assert got.returncode in expected, f"{quick}: {got}"
                done += 1
                if command.startswith(VARIES):
                    continue
                told = {shape(line) for line in (got.stdout + got.stderr).splitlines()}
                missing = [line for line in shown if shape(line) and shape(line) not in told]
                assert not missing, f"{quick}: the guide shows {missing}; it prints:\n{got.stdout}{got.stderr}"
    assert done >= 10, f"only {done} commands: this check can't read the guide"
    print(f"guide: {done} commands")


main()
