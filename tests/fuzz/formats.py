#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tool itself on damaged files of every format that it reads, and on hostile words: it must end by itself, soon, with
# a status of its own and a sentence, and its pages and pictures must hold no markup of others. Built with sanitizers (make fuzz) it
# must have nothing to report. Every failure is printed with its seed. The formats are those of inputs.py.
# Usage: formats.py NIGH CHECKPOINT_PROGRAM COUNT [SEED [PATTERN OF NAMES]]
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from inputs import ROOT, Format, formats

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


def has_markup_of_others(page: str) -> bool:
    """Whether data left their element of the page."""
    shell = (ROOT / "web" / "page.html").read_text()
    start = '<script id="nigh-data" type="application/json">'
    before, _, rest = page.partition(start)
    after = rest.partition("</script>")[2]
    return shell != f"{before}{start}null</script>{after}"


class Trial:
    """One format's files and words, and what running its command on damaged ones tells."""

    def __init__(self, nigh: str, form: Format, folder: Path):
        self.form, self.page = form, folder / "page.html"
        self.file = form.place or folder / f"file{form.suffix}"
        self.program = form.command if form.command[0].startswith("/") else [nigh, *form.command]

    def words(self, data: bytes) -> list[str]:
        text = data.replace(b"\0", b" ").decode(errors="surrogateescape")
        out = []
        for word in self.program:
            out += text.split() if word == "WORDS" else [
                word.replace("TEXT", text) if "TEXT" in word else {"FILE": str(self.file), "PAGE": str(self.page)}.get(word, word)]
        return out

    def run(self, data: bytes) -> subprocess.CompletedProcess:
        self.page.unlink(missing_ok=True)
        self.file.write_bytes(data)
        text = data.replace(b"\0", b" ").decode(errors="surrogateescape")
        environment = dict(os.environ, ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="halt_on_error=1:exitcode=99")
        environment |= {name: {"FILE": str(self.file), "TEXT": text}.get(value, value)
                        for name, value in self.form.environment.items()}
        return subprocess.run(self.words(data), capture_output=True, timeout=LIMIT, env=environment)

    def complaint(self, data: bytes) -> str:
        if self.form.repair:
            data = self.form.repair(data)
        try:
            got = self.run(data)
        except subprocess.TimeoutExpired:
            return f"still running after {LIMIT} s"
        said = got.stderr.decode(errors="replace")
        if got.returncode not in (0, 1, 2, 125):
            return f"status {got.returncode}: {said[-2000:]}"
        if got.returncode != 0 and (said.count("\n") != 1 or not said.startswith("nigh")):
            return f"not one sentence: {said}"
        if any(ord(letter) < 32 and letter != "\n" for letter in said):
            return f"control characters in {said!r}"
        if (self.page.exists() and has_markup_of_others(self.page.read_text())) or (b"<svg" in got.stdout and b"<script" in got.stdout):
            return "the page or the picture has markup of others"
        may = self.form.can_be_sound
        if may and not may(data) and got.returncode == 0 and (not self.form.aside or self.form.aside not in got.stdout + got.stderr):
            return "it is taken, and can't be sound"
        return ""

    def blindness(self) -> str:
        got = self.run(self.form.sound)
        if got.returncode != 0 and self.form.name != "listen":
            return f"the sound one is refused, so this test can't see anything: {got.stderr.decode(errors='replace')}"
        if self.form.aside and self.form.aside in got.stdout + got.stderr:
            return "the sound one is ignored, so this test can't see anything"
        return ""


def installed(nigh: str, folder: Path) -> str:
    """The tool where `nigh run --dry-run` finds what it would preload, which sanitizers' builds lack."""
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    for library in ("mpi", "openmp", "space"):
        (folder / "lib" / f"libnigh-{library}.so").touch()
    return str(shutil.copy(nigh, folder / "bin" / "nigh"))


def main() -> int:
    nigh, program = (str(Path(word).resolve()) for word in sys.argv[1:3])
    count = int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 32)
    only = sys.argv[5] if len(sys.argv) > 5 else ""
    failures = tried = 0
    with tempfile.TemporaryDirectory() as name:
        nigh = installed(nigh, Path(name))
        for form in formats(nigh, program, Path(name)):
            if not re.search(only, form.name):
                continue
            trial = Trial(nigh, form, Path(name))
            for i in range(count + 1):
                rng = random.Random(f"{seed} {form.name} {i}")
                data = form.sound if i == 0 else mutated(rng, form.sound)
                if i > 0 and i % 4 == 0 and form.sound[:1] in (b"{", b"<"):
                    data = evil_texts(rng, form.sound)
                tried += 1
                problem = trial.complaint(data) or (trial.blindness() if i == 0 else "")
                if problem:
                    failures += 1
                    print(f"{form.name}, seed {seed}, number {i}: {' '.join(form.command)}: {problem}", flush=True)
                    (Path(tempfile.gettempdir()) / f"nigh-fuzz-{form.name.replace(' ', '-')}-{i}").write_bytes(data)
            trial.file.write_bytes(form.sound)
    print(f"formats: {tried} inputs, {failures} failures, seed {seed}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
