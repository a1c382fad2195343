#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What is written about the commands stays what they are: every long option that `nigh COMMAND --help` lists is in
# that command's man page and in the bash completion, and neither names an option that does not exist. The man
# pages must also be clean under mandoc's lint. Usage: words.py path/to/nigh
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("machine", "plan", "run", "bench", "report", "watch")


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


def main() -> int:
    nigh = sys.argv[1]
    problems = []
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
