#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py LIBRARY RANKS BUILD PROGRAMS [SECONDS]: random traffic with us; when it finds something, the same seed
without us says whose fault it is. With NIGH_SOAK=1 a quarter of an hour, so that the four forms are the hour."""
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from testing import Jobs, need  # noqa: E402


def digest(result):
    return [line for line in result.text.splitlines() if line.startswith("soak: ok")]


def main():
    library, ranks, build, programs = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    need(library)
    long = os.environ.get("NIGH_SOAK", "0") not in ("", "0")
    seconds = 900 if long else float(sys.argv[5]) if len(sys.argv) > 5 else 13
    seed = int(os.environ.get("NIGH_SOAK_SEED", time.time() if long else 1))
    jobs = Jobs(library, build, ranks)
    env = {"SOAK_STALL": "60"}
    try:
        program = [programs / f"{library}-soak", "--seed", seed]
        # First a few batches both ways: the digests of all that was received must be the same.
        few = ["--batches", 12]
        alone = jobs.run(jobs.command(program + few), 120, env)
        with_us = jobs.run(jobs.command(program + few, preload=jobs.preload()), 120, env)
        if alone.code == 0 and digest(alone) != digest(with_us):
            print(f"FAIL: seed {seed}: alone {digest(alone)}, with us\n  {with_us}")
            return 1
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            program[2] = seed
            left = int(max(2, min(end - time.monotonic(), 120)))
            with_us = jobs.run(jobs.command(program + ["--seconds", left], preload=jobs.preload()), left + 150, env)
            if with_us.code != 0:
                alone = jobs.run(jobs.command(program + ["--seconds", 2 * left]), 2 * left + 150, env)
                if alone.code == 0:
                    print(f"FAIL: seed {seed} with us, alone it is right: {with_us}")
                    return 1
                print(f"seed {seed}: the library alone fails as well: {alone}")
            else:
                print("\n".join(digest(with_us)))
            if with_us.left:
                print(f"FAIL: left behind: {with_us.left}")
                return 1
            seed += 1
        return 0
    finally:
        jobs.close()


if __name__ == "__main__":
    sys.exit(main())
