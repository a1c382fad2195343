#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tool itself on damaged files of every format that it reads, and on hostile words: it must end by itself, soon, with
# a status of its own and a sentence, and its pages and pictures must hold no markup of others. Built with sanitizers
# (make fuzz) it must have nothing to report. Every failure is printed with its seed. Usage: formats.py NIGH COUNT [SEED]
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 60  # s
EVIL = '<script>"\'&</script>\x1b[31m'
XML_EVIL = b"&lt;script>&quot;'&amp;&lt;/script>"


def mutated(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(7)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at:at + rng.choice((1, 4, 64))]
        elif kind == 2:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
        elif kind == 3:
            out[at:at] = out[at // 2:at // 2 + 200]
        elif kind == 4:
            del out[at:]
        else:  # another number in the place of one
            digits = [i for i, c in enumerate(out) if chr(c).isdigit()]
            if digits:
                i = rng.choice(digits)
                out[i:i + 1] = rng.choice((b"-1", b"0", b"99999999999999999999", b"1e999", b"nan", b"2147483648", b"0.5"))
    return bytes(out)


def evil_texts(rng: random.Random, data: bytes) -> bytes:
    """JSON with hostile text or another type in the place of few or of many texts, or XML with the former in its values."""
    if data[:1] == b"<":
        return re.sub(rb'(?<= value=")[^"]*', lambda found: found[0] + XML_EVIL if rng.random() < 0.5 else found[0], data)

    part = rng.choice((0.02, 0.3))

    def walk(at):
        if isinstance(at, dict):
            return {key: walk(value) for key, value in at.items()}
        if isinstance(at, list):
            return [walk(value) for value in at]
        return rng.choice((EVIL, EVIL, EVIL, 3, None, [])) if isinstance(at, str) and rng.random() < part else at
    return json.dumps(walk(json.loads(data))).encode()


def ours(nigh: str, *words: str) -> bytes:
    return subprocess.run([nigh, *words], capture_output=True, check=True).stdout


def formats(nigh: str, folder: Path):
    """Each format: its name, a sound file, and the command that reads FILE and writes PAGE."""
    record = {"bench": "nested-stream", "case": "2x1 triad libgomp", "subject": "nigh", "size_bytes": 8, "unit": "MB/s",
              "median": 2.0, "low": 1.0, "high": 3.0, "samples": 3, "core_state": "near", "placement": [0],
              "verified": True, "runtime": "libgomp", "teams": "2x1", "result": "triad", "values": [1, 2, 3], "moves": 0}
    save = folder / "save"
    ours(nigh, "bench", "transpose-model", "--save", str(save))
    rates = [dict(record, bench="copy", result=f"copy {size}") for size in ("32 KiB", "2 MiB")]
    steps = [dict(record, bench="transpose-steps", case=f"{hosts} hosts", subject=subject, size_bytes=size, runtime="three-steps",
                  teams="1x2", result="total", unit="ms", median=size * 1e-6)
             for hosts in (2, 4) for subject in ("measured", "predicted") for size in (2000000, 8000000)]
    peers = {"format": "nigh-peers", "version": 1, "machine": "barcelona",
             "runs": [{"case": "4x4", "runtime": "libgomp", "subject": "nigh", "right": True, "how": ["right*"]},
                      {"case": "4x4", "runtime": "libgomp", "subject": "unbound", "right": False, "how": ["moved"]}]}
    xml = (ROOT / "tests/machines/node-in-the-depth.xml").read_bytes()
    xml = re.sub(rb'(<object type="Machine"[^>]*>)', rb'\1<info name="CPUModel" value="a processor"/>', xml, count=1)
    trace = {"traceEvents": [{"ph": "X", "name": "Cell::step", "pid": 0, "tid": 0, "ts": 0, "dur": 5.5},
                             {"ph": "C", "name": "PE 0 busy %", "pid": 0, "tid": 0, "ts": 1, "args": {"busy": 50}}],
             "footprint": [], "otherData": {"written by": "nigh chare"}}
    report = ["report", "--no-run", "--machine", "barcelona", "--out", "PAGE"]
    yield "machine", ours(nigh, "machine", "--model", "winterhawk2", "--json"), ["plan", "--teams", "2,scatter", "--machine", "FILE"]
    yield "machine drawn", ours(nigh, "machine", "--model", "opteron-6272", "--json"), ["machine", "--svg", "--machine", "FILE"]
    yield "machine in XML", xml, ["machine", "--svg", "--machine", "FILE"]
    yield "machine on the page", xml, [*report[:2], "--machine", "FILE", *report[4:]]
    yield "model", ours(nigh, "machine", "--model", "winterhawk2", "--json"), ["plan", "--transpose", "99x99", "--machine", "FILE"]
    yield "bench", save.read_bytes(), [*report, "--bench", "FILE"]
    told = {"where": "a bed", "cpu": "x", "summary": "y", "mask": "0", "kernel": "6", "started": "now"}
    for form, records in {"record": [record], "matrix": [dict(record, bench="mpi-pingpong", result="8 B")], "rates": rates,
                          "steps": steps}.items():
        yield f"bench {form}", json.dumps({"format": "nigh-bench", "version": 1, "machine": told, "records": records,
                                           "absent": []}).encode(), [*report, "--bench", "FILE"]
    yield "peers", json.dumps(peers).encode(), [*report, "--peers", "FILE"]
    yield "trace", json.dumps(trace).encode(), [*report, "--trace", "FILE"]
    yield "account", b"nigh: plan 2,scatter: 2 threads\n", [*report, "--account", "FILE"]
    yield "spec", b"4,scatter,4,subscatter", ["plan", "--model", "barcelona", "--teams", "TEXT"]
    yield "mask", b"0-5,8", ["plan", "--model", "barcelona", "--teams", "2,scatter", "--mask", "TEXT"]
    yield "listen", b"127.0.0.1:9101", ["watch", "--meters", "--json", "--listen", "TEXT"]


def complaint(words: list[str], page: Path) -> str:
    page.unlink(missing_ok=True)
    environment = dict(os.environ, ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="halt_on_error=1:exitcode=99")
    try:
        got = subprocess.run(words, capture_output=True, timeout=LIMIT, env=environment)
    except subprocess.TimeoutExpired:
        return f"still running after {LIMIT} s"
    if got.returncode not in (0, 1, 2, 125):
        return f"status {got.returncode}: {got.stderr[-2000:].decode(errors='replace')}"
    if got.returncode != 0 and got.stderr.count(b"\n") != 1:
        return f"not one sentence: {got.stderr.decode(errors='replace')}"
    if (page.exists() and b"<script" in page.read_bytes()) or (b"<svg" in got.stdout and b"<script" in got.stdout):
        return "the page or the picture has markup of others"
    return ""


def main() -> int:
    nigh, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    failures = tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = folder / "page.html"
        for form, sound, command in formats(nigh, folder):
            file = folder / ("file.xml" if sound[:1] == b"<" else "file.json")
            for i in range(count + 1):
                rng = random.Random(f"{seed} {form} {i}")
                data = sound if i == 0 else mutated(rng, sound)
                if i > 0 and i % 4 == 0 and sound[:1] in b"{<":
                    data = evil_texts(rng, sound)
                file.write_bytes(data)
                text = data.replace(b"\0", b" ").decode(errors="surrogateescape")
                words = [nigh, *(str(file) if w == "FILE" else str(page) if w == "PAGE" else text if w == "TEXT" else w
                                 for w in command)]
                tried += 1
                problem = complaint(words, page)
                if i == 0 and not problem and form not in ("listen",) and "FILE" in command:
                    if subprocess.run(words, capture_output=True).returncode != 0:
                        problem = "the sound file is refused: this test can't see anything"
                if problem:
                    failures += 1
                    print(f"{form}, seed {seed}, number {i}: {' '.join(command)}: {problem}")
                    (Path(tempfile.gettempdir()) / f"nigh-fuzz-{form.replace(' ', '-')}-{i}").write_bytes(data)
    print(f"formats: {tried} inputs, {failures} failures, seed {seed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
