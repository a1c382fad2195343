#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What a trace must have: every PE, runs that are not at the same time on one PE, counters that say the same, and a
footprint that agrees with itself."""
import argparse
import collections
import json


def check_footprint(trace, wanted, memory):
    """`memory`: the counters of each PE, bytes."""
    parts = trace["footprint"]
    assert [part["of"] for part in parts[: wanted.pes]] == [f"PE {pe}" for pe in range(wanted.pes)], parts
    assert len(parts) == wanted.pes + wanted.threads, parts
    found = collections.defaultdict(list)
    for pe, part in enumerate(parts):
        rows = [row for row in part["rows"] if row["name"] != "bags"]
        assert part["most in use"] <= part["most held"], part
        assert part["most in use"] <= sum(row["most bytes"] for row in rows), part
        for row in rows:
            assert 64 * row["messages"] <= row["bytes"] and 64 <= row["most bytes"] <= row["bytes"], row
            assert row["most bytes"] <= part["most in use"], part
            found[row["name"]].append((row["messages"], row["bytes"], row["most bytes"]))
        for now in memory[pe]:
            assert now["in use"] <= now["held"], now
            assert now["in use"] <= part["most in use"] and now["held"] <= part["most held"], (now, part)
    for name, *numbers in wanted.footprint:
        assert found[name] == [tuple(map(int, numbers))], f"{name}: {found[name]}, not {numbers}"
    for name, least in wanted.at_least:
        assert sum(messages for messages, _, _ in found[name]) >= int(least), f"{name}: {found[name]}"
    if wanted.most_in_use is not None:  # beside it at most some of the runtime's messages; and the counters have seen it
        pe = max(range(wanted.pes), key=lambda pe: parts[pe]["most in use"])
        most, seen = parts[pe]["most in use"], max(now["in use"] for now in memory[pe])
        assert 0 <= most - wanted.most_in_use <= 1024 and seen == most, f"PE {pe}: {most}, seen {seen}"


def check_arrows(wanted, events, runs):
    """Messages, each from the PE that sent it to the run that it was for, on another PE and not before."""
    sent = {event["id"]: event for event in events if event["ph"] == "s"}
    ended = {event["id"]: event for event in events if event["ph"] == "f"}
    assert sent.keys() == ended.keys() and len(sent) == sum(event["ph"] == "s" for event in events)
    begun = {(pe, at, name) for pe in runs for at, _, name in runs[pe]}
    last = max((at + took for pe in runs for at, took, _ in runs[pe]), default=0)
    for one, end in ended.items():
        begin = sent[one]
        assert begin["name"] == end["name"] and (end["tid"], end["ts"], end["name"]) in begun, end
        assert begin["tid"] != end["tid"], begin
        # Times of sending are rounded down to 64 ns; clocks of processes are compared to some hundred.
        assert -50 < begin["ts"] < end["ts"] + 1 < last + 2, (begin, end)
    if wanted.arrows is not None:
        least, most = wanted.arrows  # part of all runs
        part = len(ended) / max(1, sum(map(len, runs.values())))
        assert least <= part <= most, f"{len(ended)} messages, {part} of the runs"
        pairs = {(sent[one]["tid"], ended[one]["tid"]) for one in ended}
        assert len(pairs) == wanted.pes * (wanted.pes - 1), pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--pes", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", help="an entry method that has run")
    parser.add_argument("--busy", action="store_true", help="all runs are noted one by one")
    parser.add_argument("--from", dest="sources", action="append", default=[], help="whose messages have come")
    parser.add_argument("--idle", action="store_true", help="some PEs have run nothing")
    parser.add_argument("--arrows", type=float, nargs=2, metavar=("LEAST", "MOST"), help="of all runs, from every PE to every other")
    parser.add_argument("--threads", type=int, default=0, help="communication threads")
    parser.add_argument("--footprint", nargs=4, action="append", default=[], metavar=("NAME", "MESSAGES", "BYTES", "MOST"),
                        help="of the one PE that has any")
    parser.add_argument("--at-least", nargs=2, action="append", default=[], metavar=("NAME", "MESSAGES"))
    parser.add_argument("--most-in-use", type=int, help="bytes, of the PE with the most")
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
        assert busy or wanted.idle, f"PE {pe} has no counters"
        assert all(0 <= args["busy"] <= 100.5 for _, args in busy), f"PE {pe}: {busy}"
        width = busy[1][0] - busy[0][0] if len(busy) > 1 else 100  # us: the shortest
        counted, noted = sum(args["busy"] for _, args in busy) / 100 * width, sum(took for _, took, _ in runs[pe])
        if wanted.busy:
            assert noted > 1000 and abs(counted - noted) < 0.02 * noted, f"PE {pe}: {counted} us, runs: {noted}"
        else:
            assert counted >= 0.98 * noted, f"PE {pe}: {counted} us, runs: {noted}"
        for _, args in counters[f"PE {pe} messages a ms, from"]:
            came.update(args)
    for source in wanted.sources:
        assert came[source] > 0, f"no messages from {source}: {came}"
    memory = collections.defaultdict(list)
    for pe in range(wanted.pes):
        for _, args in counters[f"PE {pe} memory of messages, KiB"]:
            memory[pe].append({name: round(1024 * value) for name, value in args.items()})
        assert memory[pe] or not runs[pe], f"PE {pe} tells nothing of its memory"
    check_footprint(trace, wanted, memory)
    check_arrows(wanted, events, runs)
    if wanted.pes == 1:
        assert came["others"] == came["other processes"] == 0, came


main()
