#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Texts about the commands stay true: every long option that `nigh COMMAND --help` lists is in
# that command's man page and in the bash completion, and neither names an option that does not exist. The man
# pages must also be clean under mandoc's lint. Every command that a help text or a page of the docs shows has only
# options that the parser knows; and no option that takes a number takes what is none. Every variable that a source reads
# is in the table of `nigh settings`, and docs/settings.md is made of it. Prose of the docs has at most 120
# columns, and comments begin with their subject. Usage: words.py path/to/nigh
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_COLUMNS = 120
COMMANDS = ("run", "compare", "tune", "doctor", "settings", "ps", "machine", "plan", "bench", "report", "watch")


def options_of_help(nigh: str, command: str) -> set[str]:
    text = subprocess.run([nigh, command, "--help"], capture_output=True, text=True, check=True).stdout
    return {o for line in text.splitlines() if re.match(r"\s+-", line)
            for o in re.findall(r"--([a-z][a-z-]+)", line.split("  ")[1] if line.startswith("  ") else line)} - {"help"}


def options_of_man(command: str) -> set[str]:
    text = (ROOT / "docs" / "man" / f"nigh-{command}.1").read_text()
    text = "\n".join(l for l in text.splitlines() if l.startswith((".It Fl", ".Op", ".Fl", ".Nm")))
    return set(re.findall(r"Fl -([a-z][a-z-]+)", text)) | set(re.findall(r"--([a-z][a-z-]+)", text))


def options_of_completion(command: str) -> set[str]:
    text = (ROOT / "completions" / "nigh.bash").read_text()
    found = re.search(rf'^\s+{command}\) options="([^"]*)"', text, re.M)
    return set(re.findall(r"--([a-z][a-z-]+)", found.group(1))) if found else set()


def help_of(nigh: str, command: str) -> str:
    return subprocess.run([nigh, command, "--help"], capture_output=True, text=True, check=True).stdout


def settings_page(nigh: str) -> tuple[str, set[str]]:
    """docs/settings.md as the table of `nigh settings` gives it, and all names that the table has."""
    told = json.loads(subprocess.run([nigh, "settings", "--json"], capture_output=True, text=True, check=True).stdout)
    lines = ["# Settings", "", "Variables of the environment that nigh reads; `nigh settings` shows their values here. A value that is none of",
             "those listed counts as not set, which is said once. (This page is made from that table:",
             "`NIGH_UPDATE=1 tests/checks/words.py build/bin/nigh`.)"]
    for at, one in enumerate(told["settings"]):
        if at == 0 or one["group"] != told["settings"][at - 1]["group"]:
            lines += ["", f"## {one['group']}", "| variable | values | default | |", "|---|---|---|---|"]
        values = ", ".join(f"`{word}`" for word in one["values"]) or one["values_in_words"]
        lines.append(f"| `{one['name']}` | {values} | {one['default']} | {one['sentence']} |")
    own = ", ".join(f"`{name}`" for name in told["own"])
    lines += ["", "## Set by nigh itself", *textwrap.wrap(f"For what it starts; not to be set by users: {own}.", MOST_COLUMNS)]
    return "\n".join(lines) + "\n", {one["name"] for one in told["settings"]} | set(told["own"])


def wrong_settings(nigh: str) -> list[str]:
    """Variables that sources read and the table lacks, or has and nobody reads; the page, where it differs."""
    page, known = settings_page(nigh)
    place = ROOT / "docs" / "settings.md"
    if os.environ.get("NIGH_UPDATE"):
        place.write_text(page)
    out = [] if place.exists() and place.read_text() == page else ["docs/settings.md is not what nigh settings says: NIGH_UPDATE=1"]
    read, texts = set(), []
    for folder in ("src", "include"):
        for file in sorted((ROOT / folder).rglob("*")):
            of_tests = re.search(r"_test\.|test_|_trial|thread_ranks|settings_table", file.name) or "queues" in file.parts
            if file.suffix in (".cpp", ".hpp", ".c", ".h", ".S") and not of_tests:
                texts.append(file.read_text())
                read |= set(re.findall(r'"(NIGH_[A-Z0-9_]+)"', texts[-1]))
    read -= {name for name in read if re.match(r"NIGH_(CHARM_|SNMALLOC|BENCH_DIR|SOAK|SEED|TEST)", name)}  # of benchmarks and tests
    out += [f"{name} is read, and nigh settings does not have it" for name in sorted(read - known)]
    whole = "\n".join(texts)
    out += [f"{name} stands in nigh settings, and no source has it" for name in sorted(known)
            if name not in read and not re.search(rf"\b{name}\b", whole) and name != "NIGH_SHMEM_MPI_LIBRARY"]  # made of two words
    return out


def long_lines() -> list[str]:
    """Prose of the pages, without tables, code, and one command or format that is longer."""
    out = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        fenced = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            fenced ^= line.startswith("```")
            if len(line) > MOST_COLUMNS and not fenced and not line.startswith(("|", "    ")) and " " in re.sub(r"`[^`]*`", "", line).strip():
                out.append(f"{page.relative_to(ROOT)}:{number}: {len(line)} columns, more than {MOST_COLUMNS}")
    return out


NO_SUBJECT = re.compile(r"\s*(?://|/\*\*?)\s+(?:What(?:ever)?|Who(?:ever|m|se)?|Whether|Of|As|Where|Which|How)\b")


def comments_without_subject() -> list[str]:
    """Comments that begin with a clause have to be read twice: the subject comes first."""
    out = []
    folders = [(ROOT / "src", "*.[ch]*"), (ROOT / "include", "*.h*"), (ROOT / "web" / "src", "*.ts*")]
    for path in sorted(path for folder, names in folders for path in folder.rglob(names) if path.is_file() and "third_party" not in path.parts):
        before = ""
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if NO_SUBJECT.match(line) and (not re.match(r"\s*//", before) or before.strip() == "//"):
                out.append(f"{path.relative_to(ROOT)}:{number}: subject first: {line.strip()[:60]}")
            before = line
    return out


def shown_commands(text: str) -> list[tuple[str, str]]:
    """Commands of ours in a text, each up to the end of its line or quotation, or to the program that it starts."""
    found = re.findall(r"\bnigh (" + "|".join(COMMANDS) + r")((?:\\\n|[^`\n|;)])*)", text)
    return [(command, re.split(r"\s--(?:\s|$)", rest)[0]) for command, rest in found]


OF_PROGRAMS = {"chare-trace"}  # options of programs written for us


def wrong_options(nigh: str) -> list[str]:
    known = {command: set(re.findall(r"--([a-z][a-z-]+)", help_of(nigh, command))) for command in COMMANDS}
    listed = {command: options_of_help(nigh, command) | {"help", "version"} for command in COMMANDS}
    texts = {f"nigh {command} --help": help_of(nigh, command) for command in COMMANDS}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts |= {str(page.relative_to(ROOT)): page.read_text() for page in pages}
    out = []
    for where, text in texts.items():
        for command, rest in shown_commands(text):
            named = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", rest))
            out += [f"{where}: nigh {command}{rest.rstrip()}: there is no --{o}" for o in sorted(named - listed[command])]
    for command in COMMANDS:  # help texts also name options without the command
        out += [f"nigh {command} --help speaks of --{o}, which it does not list"
                for o in sorted(known[command] - set().union(OF_PROGRAMS, *listed.values()))]
    return out


HOSTILE = ("nan", "-nan", "inf", "-inf", "1e999", "-1e999", "99999999999999999999999", "-1", "0x", "1 2", "")
# The options that a number needs beside it.
WITH = {("plan", "nodes"): ["--transpose", "10x10"], ("plan", "cores"): ["--transpose", "10x10"],
        ("plan", "flops"): ["--transpose", "10x10"], ("plan", "ranks-per-node"): ["--ranks", "matrix"],
        ("plan", "root"): ["--teams", "2,scatter"],
        ("run", "nodes"): ["--auto-hybrid", "--transpose", "10x10"],
        ("run", "cores"): ["--auto-hybrid", "--transpose", "10x10"]}


def numbers_taken(nigh: str) -> list[str]:
    out, options = [], 0
    for command in COMMANDS:
        numeric = re.findall(r"--([a-z][a-z-]+) N\b", help_of(nigh, command))
        options += len(numeric)
        for option in numeric:
            for value in HOSTILE:
                words = [nigh, command, *WITH.get((command, option), []), f"--{option}={value}"]
                got = subprocess.run(words, capture_output=True, text=True, timeout=20)
                if got.returncode not in (2, 125) or got.stdout or got.stderr.count("\n") != 1:
                    out.append(f"{' '.join(words[1:])}: status {got.returncode}, says {got.stderr!r}")
                elif option not in got.stderr:
                    out.append(f"{' '.join(words[1:])}: refused for something else: {got.stderr!r}")
    return out if options >= 10 else [*out, f"only {options} options that take numbers: this check can't read the help"]


def main() -> int:
    nigh = sys.argv[1]
    problems = wrong_options(nigh) + numbers_taken(nigh) + wrong_settings(nigh) + long_lines() + comments_without_subject()
    for command in COMMANDS:
        real = options_of_help(nigh, command)
        if not real:
            problems.append(f"nigh {command} --help lists no option: this check can't read it")
        for where, named in (("man page", options_of_man(command)), ("completion", options_of_completion(command))):
            problems += [f"nigh {command}: --{o} is missing from the {where}" for o in sorted(real - named)]
            problems += [f"nigh {command}: the {where} names --{o}, which does not exist" for o in sorted(named - real)]
    pages = sorted((ROOT / "docs" / "man").glob("*.1"))
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True)
        problems += lint.stdout.splitlines()
    problems += [l for l in subprocess.run(["bash", "-n", ROOT / "completions" / "nigh.bash"], capture_output=True,
                                           text=True).stderr.splitlines()]
    print("\n".join(problems) or f"words: {len(COMMANDS)} commands, {len(pages)} man pages agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
