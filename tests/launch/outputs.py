#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that a command or a job writes where a user says (decision 0025), to names that are no plain files: a FIFO gets
# the text and stays one, one that nobody reads holds nobody up, and a reader that goes ends no job; a device is written to,
# and nothing appears beside it; /dev/stdout is what was printed and then the text; a link that another user has planted in a
# folder of all is not followed, and what lies there under names that are predictable stays.
# Usage: outputs.py CASE BUILD_FOLDER
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv[2]).resolve()
NIGH, CHARE = str(BUILD / "bin" / "nigh"), str(BUILD / "tests" / "chare_cases")
RANK = str(BUILD / "tests" / "space_join_rank")
NOBODY = 65534
# The writers; PATH is the target; a part of the text. `lines`: it appends to a file, and does not replace
# it.
OUTPUTS = {
    "report": ([NIGH, "report", "--no-run", "--machine", "barcelona", "--out", "PATH"], "<html", False),
    "save": ([NIGH, "bench", "transpose-model", "--save", "PATH"], "nigh-bench", False),
    "log": ([NIGH, "watch", "--duration", "0.3", "--quiet", "--log", "PATH", "--", "sleep", "0.2"], "{", True),
    "space": ([NIGH, "run", "-n", "2", "--explain", "--explain-file", "PATH", "--", RANK], "reaches 2 of 2 ranks", True),
    "trace": ([CHARE, "traffic", "--pes", "2", "--chare-trace", "PATH"], "traceEvents", False),
    "trace-processes": ([NIGH, "run", "-n", "2", "--", CHARE, "traffic", "--chare-trace", "PATH"], "traceEvents", False),
    "trace-shm": ([CHARE, "traffic", "--mode", "shm", "--pes", "2", "--chare-trace", "PATH"], "traceEvents", False),
}
for kind in ("openmpi", "mpich"):
    more = ["--oversubscribe"] if kind == "openmpi" else []
    launch = [f"mpirun.{kind}", *more, "-n", "2"]
    OUTPUTS[f"mpi-{kind}"] = ([NIGH, "run", "--mpi", "--explain", "--explain-file", "PATH", "--", *launch, "HELLO"],
                              "2 of 2 ranks share memory", True)
    OUTPUTS[f"trace-{kind}"] = ([*launch, CHARE, "traffic", "--mode", "mpi", "--pes", "1", "--chare-trace", "PATH"], "traceEvents",
                                False)
OUTPUTS["teams"] = ([NIGH, "run", "--teams", "2,compact", "--explain", "--explain-file", "PATH", "--", "TEAMS"], "2,compact", True)


class Output:
    def __init__(self, name: str, folder: Path):
        self.words, self.mark, self.lines = OUTPUTS[name]
        self.folder = folder
        programs = {"HELLO": ["mpicc." + name.split("-")[-1], str(HERE / "hello.c")], "TEAMS": ["gcc", "-fopenmp", "-x", "c", "-"]}
        for word, compiler in programs.items():
            if word in self.words:
                program = str(Path(folder).parent / word)
                text = b"#include <stdio.h>\nint main(void) {\n#pragma omp parallel\n  putchar('.');\n  return 0;\n}\n"
                subprocess.run([*compiler, "-o", program], check=True, input=text)
                self.words = [program if w == word else w for w in self.words]

    def run(self, path: str, status: int = 0) -> subprocess.CompletedProcess:
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        got = subprocess.run([path if w == "PATH" else w for w in self.words], capture_output=True, text=True, timeout=60,
                             stdin=subprocess.DEVNULL, env=environment)
        assert got.returncode == status or (status and got.returncode), f"{path}: {got}"
        return got

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))


def plain(out: Output) -> None:
    file = out.folder / "file"
    out.run(str(file))
    assert out.mark in file.read_text() and out.names() == ["file"], out.names()


def fifo(out: Output) -> None:
    path, texts = out.folder / "fifo", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: texts.append(path.read_text()))
    reader.start()
    out.run(str(path))
    reader.join(20)
    assert not reader.is_alive() and out.mark in texts[0], "the reader got nothing"
    assert stat.S_ISFIFO(path.stat().st_mode) and out.names() == ["fifo"], out.names()
    # Nobody reads: told, in bounded time, and a job's status is its own.
    got = out.run(str(path), status=1 if out.words[1] in ("report", "bench", "watch") else 0)
    assert str(path) in got.stderr and ("nobody reads" in got.stderr or "No such device" in got.stderr), got.stderr
    assert stat.S_ISFIFO(path.stat().st_mode) and out.names() == ["fifo"], out.names()


# Its standard error is a pipe that nobody reads any more, as of `program 2>&1 | head -1`.
GONE = """import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
reads, writes = os.pipe()
os.close(reads)
os.dup2(writes, 2)
os.execv(sys.argv[1], sys.argv[1:])"""


def gone(out: Output) -> None:
    """Who reads what a job says may go; the job goes on."""
    if "--explain-file" not in out.words:
        return
    at = out.words.index("--explain-file")
    words = out.words[:at] + out.words[at + 2:]
    out.words = [*words[:-1], sys.executable, "-c", GONE, words[-1]]
    out.run("unused")


def device(out: Output) -> None:
    if os.geteuid() != 0:
        return
    path = out.folder / "null"
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    out.run(str(path))
    assert stat.S_ISCHR(path.stat().st_mode) and out.names() == ["null"], out.names()


def standard_output(out: Output) -> None:
    before = set(os.listdir("/dev"))
    assert out.mark in out.run("/dev/stdout").stdout
    assert set(os.listdir("/dev")) - before <= {name for name in os.listdir("/dev") if not name.startswith(("stdout", ".nigh"))}


def planted(out: Output) -> None:
    """Names that may be guessed: the output's own with a number behind it."""
    victim, path = out.folder.parent / "victim", out.folder / "file"
    victim.write_text("mine")
    for end in (".0", ".1", ".nigh-1", ".nigh-" + str(os.getpid())):
        (out.folder / f"file{end}").symlink_to(victim)
    (out.folder / "file.2").write_text("a result")
    before = out.names()
    out.run(str(path))
    assert victim.read_text() == "mine" and (out.folder / "file.2").read_text() == "a result"
    assert out.names() == sorted([*before, "file"]) and all((out.folder / n).is_symlink() for n in before if n != "file.2")
    link = out.folder / "link"  # of our own: followed
    link.symlink_to(out.folder / "real")
    out.run(str(link))
    assert link.is_symlink() and out.mark in (out.folder / "real").read_text()
    if os.geteuid() != 0:
        return
    os.chmod(out.folder, 0o1777)
    link = out.folder / "theirs"
    link.symlink_to(victim)
    os.lchown(link, NOBODY, NOBODY)
    out.run(str(link), status=1 if out.words[1] in ("report", "bench", "watch") else 0)
    assert victim.read_text() == "mine" and link.is_symlink(), "another user's link was followed"


def main() -> int:
    name = sys.argv[1]
    launcher = f"mpirun.{name.split('-')[-1]}"
    if name.split("-")[-1] in ("openmpi", "mpich") and not (shutil.which(launcher) and shutil.which(launcher.replace("run", "cc"))):
        print(f"SKIP: there is no {launcher} here")
        return 1 if {"mpi", "all"} & set(os.environ.get("NIGH_REQUIRE", "").split(",")) else 77
    if name == "log" and len([n for n in os.listdir("/sys/devices/system/node") if n.startswith("node")]) < 2:
        print("SKIP: nigh watch logs nothing on one NUMA node")
        return 77
    for case in (plain, fifo, gone, device, standard_output, planted):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "out").mkdir()
            case(Output(name, Path(folder) / "out"))
    print(f"outputs: {name}: nothing is replaced, no link is followed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
