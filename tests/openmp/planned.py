# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# planned.py PLAN OBSERVED: the plan of `nigh run --dry-run --json` against what the threads saw of themselves
# (observe.c), thread by thread of the innermost level; each must have been met, on its planned PU and no other.
import json
import sys

with open(sys.argv[1]) as f:
    planned = {".".join(map(str, t["path"])): [str(t["pu"])] for t in json.load(f)["plan"]["threads"]}
depth = {path.count(".") for path in planned}
seen = {}
with open(sys.argv[2]) as f:
    for line in f:
        path, separator, pus = line.partition(" :")
        if separator and path.count(".") in depth:
            seen.setdefault(path, []).append(pus.split())
missing = planned.keys() - seen.keys()
wrong = {path: pus for path, pus in seen.items() if any(p != planned.get(path) for p in pus)}
for path in sorted(missing):
    print(f"thread {path} was not seen")
for path, pus in sorted(wrong.items()):
    print(f"thread {path} was on {pus}, planned {planned.get(path)}")
sys.exit(bool(missing or wrong))
