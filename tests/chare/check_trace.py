#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What a trace must have: every PE, runs that are not at the same time on one PE, and counters that say the same."""
import argparse
import collections
import json


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--pes", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", help="an entry method that has run")
    parser.add_argument("--busy", action="store_true", help="all runs are noted one by one")
    parser.add_argument("--from", dest="sources", action="append", default=[], help="whose messages have come")
    wanted = parser.parse_args()
    with open(wanted.file, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    threads = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert threads == set(range(wanted.pes)), threads
    assert len({e["pid"] for e in events}) == wanted.processes
    runs, counters, came = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
    for event in events:
        if event["ph"] == "X":
            runs[event["tid"]].append((event["ts"], event["dur"], event["name"]))
        elif event["ph"] == "C":
            counters[event["name"]].append((event["ts"], event["args"]))
    if wanted.name:
        assert any(name == wanted.name for pe in runs.values() for _, _, name in pe), wanted.name
    for pe in range(wanted.pes):
        last = -1
        for begun, took, name in sorted(runs[pe]):
            assert begun >= last - 0.01, f"PE {pe}: {name} begins before the run before it ends"
            last = begun + took
        busy = counters[f"PE {pe} busy %"]
        assert busy, f"PE {pe} has no counters"
        assert all(0 <= args["busy"] <= 100.5 for _, args in busy), f"PE {pe}: {busy}"
        width = busy[1][0] - busy[0][0] if len(busy) > 1 else 0
        counted, noted = sum(args["busy"] for _, args in busy) / 100 * width, sum(took for _, took, _ in runs[pe])
        if wanted.busy:
            assert noted > 1000 and abs(counted - noted) < 0.02 * noted, f"PE {pe}: {counted} us, runs: {noted}"
        else:
            assert counted > 0.98 * noted, f"PE {pe}: {counted} us, runs: {noted}"
        for _, args in counters[f"PE {pe} messages a ms, from"]:
            came.update(args)
    for source in wanted.sources:
        assert came[source] > 0, f"no messages from {source}: {came}"
    if wanted.pes == 1:
        assert came["others"] == came["other processes"] == 0, came


main()
