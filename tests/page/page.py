#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The page of web/: `built`, that web/page.html is what its sources give, and their own tests; `browser`, each view with
# data (also those of data/, by record_data.py) in Chromium (browser.mjs); `live`, pages of running commands (live.mjs). Without npm, Chromium or the packages (no network) they are left out.
# Usage: page.py built|browser|live BUILD_FOLDER
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WEB = HERE.parents[1] / "web"
NIGH = str(Path(sys.argv[2]).resolve() / "bin" / "nigh")


def skip(why: str) -> None:
    print(f"SKIP: {why}")
    wanted = os.environ.get("NIGH_REQUIRE", "").split(",")
    sys.exit(1 if "page" in wanted or "all" in wanted else 77)


def run(*words: str, **options) -> str:
    got = subprocess.run(words, capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL, **options)
    assert got.returncode == 0, f"{words}: {got.stdout}\n{got.stderr}"
    return got.stdout


def packages() -> None:
    """What package-lock.json names, unless it is there."""
    if not shutil.which("npm"):
        skip("there is no npm here")
    lock, there = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if there.exists() and there.stat().st_mtime >= lock.stat().st_mtime:
        return
    got = subprocess.run(["npm", "ci"], cwd=WEB, capture_output=True, text=True, timeout=280)
    if got.returncode != 0:
        skip(f"npm ci: {(got.stderr or 'failed').strip().splitlines()[0]}")


def built() -> None:
    packages()
    run("npx", "tsc", "--noEmit", cwd=WEB)
    run("npx", "vitest", "run", cwd=WEB)
    with tempfile.TemporaryDirectory() as folder:
        run("npx", "vite", "build", "--outDir", folder, cwd=WEB)
        fresh = (Path(folder) / "page.html").read_bytes()
    assert fresh == (WEB / "page.html").read_bytes(), "web/page.html is not what web/src gives: (cd web && npm run build)"


def compare(name: str, command: list[str], ratio: float) -> dict:
    subject = {"seconds": [1.0, 1.1], "cpu_seconds": [1.0, 1.1], "peak_mib": [10, 10], "foreign": [0, 0]}
    return {"format": "nigh-compare", "version": 1, "output": "equal", "verdict": name,
            "subjects": [{"name": "without", "command": command, **subject},
                         {"name": "with", "command": ["nigh", "run", "--", *command], **subject}],
            **{of: {"median": ratio, "low": ratio * 0.97, "high": ratio * 1.02} for of in ("time_ratio", "cpu_ratio", "memory_ratio")}}


def record(folder: Path, ranks: int, name: str, host: str) -> str:
    """What nigh run --record leaves, of ranks in a square grid, for an hour; rank 1 is late after half of it."""
    job = folder / f"{ranks}-ranks-1"
    job.mkdir(parents=True)
    side = int(ranks ** 0.5)
    reduce = [[0 if rank == 1 and at > 220 else (at * 7919) % 6_000_000 for at in range(450)] for rank in (0, 1)]
    for rank in range(ranks):
        near = [(rank + step) % ranks for step in (-side, -1, 1, side)]
        (job / f"rank-{rank}.json").write_text(json.dumps({
            "format": "nigh-rank", "version": 2, "rank": rank, "ranks": ranks, "complete": True, "host": f"{host}{rank * 4 // ranks}", "package": rank // 2 % 2 * 32,
            "program": name, "started": 1.7e9 + rank / ranks, "seconds": 3600, "interval_seconds": 8.192, "user_seconds": (2500 if rank == 1 else 3500) + rank % 7, "system_seconds": 100,
            "cpu_microseconds": [4_096_000 if rank == 1 and at > 220 else 8_192_000 for at in range(439)], "minor_faults": 123456, "major_faults": 1, "peak_mib": 900 + rank % 100, "resident_mib": 800, "huge_mib": 640, "functions": {
                "MPI_Allreduce": {"calls": 45000, "seconds": sum(reduce[rank == 1]) / 1e6, "longest_seconds": 7.5, "microseconds": reduce[rank == 1]},
                name: {"calls": 10, "seconds": 1, "longest_seconds": 0.5, "microseconds": [0, 1000000]}},
            "communicators": [{"name": name, "size": ranks, "point_to_point": {
                "MPI_Isend": [[to, 8192 * (1 + i), 10, 8000 * i, 9] for i, to in enumerate(near) if to != rank], name: [[near[0], 10, 1, 0, 0]]}},
                              {"name": "rows", "size": side, "collective": {"MPI_Allreduce": [[(rank + 1) % ranks, 64, 3, 64, 3]]}}]}))
    return str(folder)


def machine_of_512(name: str) -> dict:
    """A host of 8 packages, each a NUMA node of 32 cores of 2 PUs."""
    core = {"type": "core", "count": 32, "children": [{"type": "pu", "count": 2}]}
    package = {"type": "package", "count": 8, "children": [{"type": "numa", "bytes": 2 ** 36, "children": [core]}]}
    return {"format": "nigh-machine", "version": 1, "name": name, "tree": {"type": "machine", "children": [package]},
            "links": {"slit": [[10 if i == j else 21 for j in range(8)] for i in range(8)]}}


def chromium_here() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        skip("there is no Chromium here")
    return found


def live() -> None:
    chromium = chromium_here()
    packages()
    print(run("node", str(HERE / "live.mjs"), NIGH, chromium, os.environ.get("NIGH_PAGE_SHOTS", ""), cwd=WEB))


def browser() -> None:
    chromium = chromium_here()
    packages()
    shots = os.environ.get("NIGH_PAGE_SHOTS", "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def page(out: str, *files: str, machine: str = "opteron-6272") -> str:
            run(NIGH, "report", "--out", str(folder / out), "--machine", machine, *files, cwd=folder)
            return str(folder / out)

        def write(out: str, document: dict) -> str:
            (folder / out).write_text(json.dumps(document))
            return out

        bench = {"format": "nigh-bench", "version": 1, "machine": {"cpu": "a CPU"}, "absent": [], "records": [
            {"bench": kind, "case": f"2 {result}", "subject": subject, "size_bytes": 0, "unit": "us", "median": base * (i + 1) * (1 + (subject == "library")),
             "low": base * (i + 0.8), "high": base * (i + 3), "samples": 5, "core_state": state, "placement": [0, 1], "verified": True, "runtime": "openmpi",
             "teams": "2", "result": result, **({"ratio_to_unbound": {"median": 2, "low": 1.5, "high": 2.5}} if subject == "nigh" else {})}
            for kind, results in (("mpi-pingpong", ["64 B", "4 KiB", "1 MiB"]), ("nested-sync", ["barrier", "reduction"]))
            for state, base in (("near", 1), ("far", 3)) for subject in ("nigh", "library", "CMA") for i, result in enumerate(results)]}
        run(NIGH, "bench", "placement", "--save", str(folder / "placement.json"))
        files = [write("app.json", compare("faster", ["mpirun", "-n", "4", "./app"], 0.65)), write("other.json", compare("slower", ["./other"], 1.05)),
                 write("bench.json", bench), record(folder / "record", 16, "MPI_COMM_WORLD", "node"), "placement.json",
                 write("account.json", {"format": "nigh-mpi-account", "version": 1, "host": "node0", "library": "Open MPI v4.1.4", "verdict": "83 % of 12.3 GB in one copy", "ranks": 4,
                                        "sharing": 4, "space": ["rank 0: space"], "functions": {
                                            "MPI_Isend": {"bytes": 9e9, "ours": 8000, "small": 5, "unshared": 70, "left_bytes": {"small": 900, "unshared": 2e9}},
                                            "MPI_Alltoallw": {"bytes": 0, "ours": 0, "uncovered": 4, "left_bytes": {"uncovered": 1e9}}}})]
        (folder / "map.json").write_text(run(NIGH, "plan", "--ranks", str(folder / "record"), "--nodes", "4", "--machine", "opteron-6272", "--json"))
        (folder / "demo.json").write_text(run(NIGH, "watch", "--demo", "--json"))
        events = json.loads((folder / "demo.json").read_text())["events"]
        (folder / "watch.log").write_text("".join(json.dumps(event) + "\n" for event in events))
        for model in ("slide5", "transpose-model"):
            run(NIGH, "bench", model, "--save", str(folder / f"{model}.json"))
        (folder / "plan.json").write_text(run(NIGH, "plan", "--transpose", "4096x4096", "--nodes", "4", "--machine", "winterhawk2", "--curves", "--json"))
        trace = {"traceEvents": [event for pe in range(8) for step in range(200) for event in (
            {"ph": "C", "pid": 0, "name": f"PE {pe} busy %", "ts": step * 1000, "args": {"busy": (step * (pe + 1)) % 101}},
            {"ph": "X", "pid": 0, "tid": pe, "ts": step * 1000, "dur": 400, "name": "Cell::step"},
            {"ph": "s", "pid": 0, "tid": (pe + 1) % 8, "id": 200 * pe + step, "ts": step * 1000 - 600 - 30000 * (step == 150 and pe == 5), "name": "Cell::step"},
            {"ph": "f", "pid": 0, "tid": pe, "id": 200 * pe + step, "ts": step * 1000, "name": "Cell::step"})],
            "footprint": [{"of": "PE 0", "most held": 2 ** 20, "rows": [{"name": "Cell::step", "messages": 3, "bytes": 4096, "most bytes": 2048}]}]}
        peers = {"format": "nigh-peers", "version": 1, "machine": "barcelona", "runs": [
            {"case": "4x4", "runtime": "libgomp", "subject": subject, "right": subject == "nigh", "how": []} for subject in ("nigh", "unbound")]}
        steps = {"format": "nigh-bench", "version": 1, "machine": {"where": "a bed"}, "absent": [], "records": [
            {**bench["records"][0], "bench": "transpose-steps", "case": f"{hosts} hosts x 2 slots", "subject": subject, "size_bytes": size, "unit": "ms",
             "runtime": "three-steps", "teams": "1x2", "result": "total", "core_state": "n/a", "median": size / 1e6 / hosts, "low": size / 1.1e6 / hosts, "high": size / 1e6}
            for hosts in (2, 4) for size in (2000000, 8000000) for subject in ("measured", "predicted")]}
        real = page("page.html", *files, "map.json", "demo.json", "watch.log", "slide5.json", "transpose-model.json", "plan.json", write("steps.json", steps),
                    "--trace", write("trace.json", trace), "--peers", write("peers.json", peers), "--account", write("account.txt", {"a": "text"}))

        evil = "<img src=x onerror=hacked=1></script><script>hacked=1</script>"
        broken = {"format": "nigh-bench", "version": 1, "machine": {"cpu": evil}, "records": [{**bench["records"][0], "subject": evil, "result": evil, "unit": evil}], "absent": []}
        hostile = page("hostile.html", write("evil.json", compare(evil, [evil], 0.5)), write("broken.json", broken),
                       write("account2.json", {"format": "nigh-mpi-account", "version": 1, "host": evil, "library": evil, "verdict": evil, "functions": {evil: {"bytes": evil, "ours": 1, "small": 2}}}),
                       write("map2.json", {"format": "nigh-rank-map", "version": 1, "maps": [5], "levels": [], "ranks": [], "verdict": evil}),
                       write("watch.json", {"format": "nigh-watch", "version": 1, "machine": evil, "meter": {"name": evil, "level": evil}, "nodes": [{"node": evil}],
                                            "links": [evil], "applications": [{"name": evil, "threads": evil, "traffic": [evil]}], "said": [evil]}),
                       "--trace", write("evil.trace", {"traceEvents": [{"ph": "C", "pid": 0, "name": "PE 0 busy %", "ts": at, "args": {"busy": 5}} for at in (0, 9)]
                                                       + [{"ph": "X", "pid": 0, "tid": 0, "ts": 0, "dur": 5, "name": evil}]
                                                       + [{"ph": kind, "pid": 0, "tid": 0, "id": 1, "ts": at, "name": evil} for kind, at in (("s", 0), ("f", 5))]}),
                       "--peers", write("evil.peers", {"format": "nigh-peers", "machine": evil, "runs": [{"case": evil, "subject": evil, "right": evil, "how": [evil]}]}),
                       "--account", write("evil.account", [evil]), write("evil.transpose", {"format": "nigh-transpose", "version": 1, "machine": evil, "ways": [{"method": evil}], "rests_on": [evil]}),
                       write("evil.log", {"elapsed": 1, "kind": evil, "sentence": evil, "moves": [{"application": evil, "nodes": []}]}),
                       record(folder / "evil", 4, evil, evil))
        hosts = [write(f"node{i}.json", machine_of_512(f"node{i}")) for i in range(64)]
        large = page("large.html", record(folder / "large", 4096, "MPI_COMM_WORLD", "node"), *hosts)
        # Data of a guest with 8 nodes, and of a job on 4 hosts (record_data.py).
        data = HERE / "data"
        guest = page("guest.html", *(str(data / f"guest-{one}") for one in ("plan.json", "ps.json", "record", "watch.log")), machine=str(data / "guest-machine.json"))
        hosts = page("hosts.html", str(data / "hosts-record"), *map(str, sorted(data.glob("hosts-account-*.json"))))
        # Beside the packages, where Node looks for them.
        print(run("node", str(HERE / "browser.mjs"), real, hostile, large, guest, hosts, chromium, shots, cwd=WEB))


{"built": built, "browser": browser, "live": live}[sys.argv[1]]()
print(f"page: {sys.argv[1]}: right")
