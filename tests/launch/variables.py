#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Variables of the environment that hold a number, a size, a list or a word: junk in any of them is told in one sentence
# that names the variable and what it may be, and then it counts as not set (in a library that is loaded into a program,
# which runs as without it), or is refused (by a command). Never is another value taken in silence. And all code reads them
# by the functions that see to it: `sources` fails where somebody calls getenv. Usage: variables.py CASE BUILD_FOLDER
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(sys.argv[2]).resolve()
NIGH = str(BUILD / "bin" / "nigh")
JUNK = ("abc", "", "-1", "99999999999999999999", "nan", "1e9", "0x10", "4 ", " 4", "4\n", "\x1b[31m")
# Variables that everybody may read as they are: texts of any kind, and flags that are set or not.
TEXTS = {"NIGH_EXPLAIN", "NIGH_EXPLAIN_FILE", "NIGH_RECORD", "NIGH_STRIPPED", "NIGH_KEEP_ENV", "NIGH_QUIET", "NIGH_MACHINE", "NIGH_BENCH_DIR",
         "NIGH_SNMALLOC", "NIGH_CURES_OFF", "NIGH_JOB", "NIGH_RANK", "NIGH_FFT_LOCAL", "NIGH_SHMEM_BYTES", "NIGH_MASK", "NIGH_SPACE_LEARNED"}
# Read before libc is there to tell of junk; the first two once more when it is, the third is of nigh run alone.
BEFORE_LIBC = {"NIGH_TEAMS", "NIGH_RANK_SHARE", "NIGH_RANK_SHARES"}
ROOTED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "NIGH_SPACE_HUGE": "lazy"}


def skip(what: str, why: str) -> None:
    print(f"SKIP: {why}")
    wanted = os.environ.get("NIGH_REQUIRE", "").split(",")
    sys.exit(1 if what in wanted or "all" in wanted else 77)


def run(words: list[str], **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(words, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={**os.environ, **ROOTED, **variables})


def judge(words: list[str], numbers: dict[str, str], choices: dict[str, str] = {}, junk=JUNK, **more: str) -> None:
    """Each of `numbers` and `choices` has junk: it is told once, as what it may be (a pattern), and nothing else happens."""
    right = run(words, **more)
    assert right.returncode == 0, f"{words} without junk: {right}"
    for text in junk:
        told = {**numbers, **(choices if text else {})}
        got = run(words, **more, **{name: text for name in {**numbers, **choices}})
        assert (got.returncode, got.stdout) == (0, right.stdout), f"{text!r}: {got}, and without: {right}"
        lines = got.stderr.splitlines()
        for name, may_be in told.items():
            mine = [line for line in lines if f"{name}='" in line]
            assert len(mine) == 1, f"{name}={text!r} is told {len(mine)} times:\n{got.stderr}"
            assert re.fullmatch(rf"nigh.*: {name}='.*': it may be {may_be}; .+", mine[0]) and mine[0].isprintable(), mine
        rest = [line for line in lines if not any(f"{name}='" in line for name in told)]
        assert rest == right.stderr.splitlines(), f"{text!r}: also told: {rest}"


def compiled(compiler: list[str], text: str, folder: Path) -> str:
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    subprocess.run([*compiler, "-o", str(program), str(source)], check=True)
    return str(program)


def mpi(kind: str) -> None:
    launcher, compiler = f"mpirun.{kind}", f"mpicc.{kind}"
    if not (shutil.which(launcher) and shutil.which(compiler) and (BUILD / "lib" / f"libnigh-mpi-{kind}.so").exists()):
        skip("mpi", f"there is no {launcher} here")
    more = ["--oversubscribe", "--bind-to", "none"] if kind == "openmpi" else []
    switch = {"NIGH_MPI": "off or on", "NIGH_MPI_COLL": "off or on", "NIGH_MPI_P2P": "off or on", "NIGH_MPI_HIERARCHY": "0 or 1",
              "NIGH_REPRODUCIBLE": "0, 1 or library", "NIGH_WAIT": "spin, yield or sleep", "NIGH_SPACE": "off or on",
              "NIGH_SPACE_HUGE": "never, lazy, eager or touch", "NIGH_SPACE_SHARE": "sent or all",
              "NIGH_SPACE_LEARNED": "off or a folder, with its whole path", "NIGH_SHARE": "data"}
    with tempfile.TemporaryDirectory() as name:
        hello = compiled([compiler], (HERE / "hello.c").read_text(), Path(name))
        judge([NIGH, "run", "--mpi", "--", launcher, *more, "-n", "2", hello],
              {"NIGH_MPI_P2P_MIN": "a whole number from 0 to [0-9]+", "NIGH_MPI_P2P_STAGED": "a whole number from 0 to [0-9]+",
               "NIGH_MPI_FAKE_NODES": "a whole number from 1 to 1000000"},
              switch, tuple(text for text in JUNK if text != " 4"))


SHMEM = """#include <shmem.h>
#include <stdio.h>
int main(void) {
  shmem_init();
  void* most = shmem_malloc(60 << 20);  /* of the 64 MiB that there are without the variable */
  if (shmem_my_pe() == 0) printf("%d PEs, %s\\n", shmem_n_pes(), most ? "64 MiB" : "less");
  shmem_finalize();
  return 0;
}
"""


def shmem() -> None:
    size = "a size in bytes up to 64T, such as 1000000, 64M or 1.5G"
    with tempfile.TemporaryDirectory() as name:
        program = compiled([str(BUILD / "bin" / "nigh-oshcc")], SHMEM, Path(name))
        words = [NIGH, "run", "-n", "2", "--", program]
        junk = tuple(JUNK) + ("0", "64MB", "1..5M", "M", "+64M", "65T")
        judge(words, {"SHMEM_SYMMETRIC_SIZE": size}, junk=junk)
        judge(words, {"SMA_SYMMETRIC_SIZE": size})
        for less in ("1M", "1.5m", "1000000"):
            assert run(words, SHMEM_SYMMETRIC_SIZE=less).stdout == "2 PEs, less\n", f"{less} has no effect"


TEAMS = """#include <omp.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel
  if (omp_get_thread_num() == 0) printf("%d threads\\n", omp_get_num_threads());
  return 0;
}
"""


def openmp() -> None:
    if not shutil.which("gcc"):
        skip("gcc", "there is no gcc here")
    pus = "a list of PUs, such as 0-5,8"
    junk = tuple(JUNK) + ("5-3", "1,", ",1", "1-", "1-2-3", "0-99999999999999999999")
    more = {"LD_PRELOAD": str(BUILD / "lib" / "libnigh-openmp.so"), "OMP_NESTING_TEAM_SIZE": "2,compact", "OMP_NUM_THREADS": "2",
            "NIGH_QUIET": "1"}
    with tempfile.TemporaryDirectory() as name:
        program = compiled(["gcc", "-fopenmp"], TEAMS, Path(name))
        judge([program], {"NIGH_MASK": pus, "NIGH_RANK_SHARE": pus}, {"NIGH_TEAMS": "auto, always or off"}, junk=junk, **more)
    load = f"import ctypes; print(ctypes.CDLL({str(BUILD / 'lib' / 'libnigh-pomp2.so')!r}).nigh_omp_set_nesting_info(b'2,compact'))"
    judge([sys.executable, "-c", load], {"NIGH_MASK": pus}, junk=junk)


def chare() -> None:
    cases = str(BUILD / "tests" / "chare_cases")
    got = run([cases, "traffic", "--mode", "mpi"], NIGH_CHARE_MPI="abc")
    assert got.returncode != 0 and "NIGH_CHARE_MPI is 'abc': it may be openmpi or mpich" in got.stderr and got.stderr.count("\n") == 1, got
    for kind in ("openmpi", "mpich"):
        if not shutil.which(f"mpirun.{kind}") or not (BUILD / "lib" / f"libnigh-chare-{kind}.so").exists():
            continue
        more = ["--oversubscribe", "--bind-to", "none"] if kind == "openmpi" else []
        judge([f"mpirun.{kind}", *more, "-n", "2", cases, "how", "mpi", "--mode", "mpi", "--pes", "1"],
              {"NIGH_MPI_FAKE_NODES": "a whole number from 1 to 1000000"}, junk=("abc", "-1", "1e9", "2 "))


def transpose() -> None:
    script = f"""import ctypes
lib = ctypes.CDLL({str(BUILD / 'lib' / 'libnigh-transpose.so')!r})
lib.nigh_transpose_local.restype = ctypes.c_void_p
word, size = ctypes.c_size_t, 512
a, b = ((ctypes.c_double * (size * size))() for _ in "ab")
made = lib.nigh_transpose_local(word(size), word(size), word(8), a, word(size), b, word(size), 2)
assert made
"""
    judge([sys.executable, "-c", script], {}, {"NIGH_TRANSPOSE_BIND": "none, compact or scatter"}, junk=("abc", "-1", "Compact"))


def sources() -> None:
    found, wrong = set(), []
    for file in sorted(ROOT.glob("src/**/*")):
        if file.suffix not in (".c", ".cpp", ".hpp", ".h") or file.name.endswith("_test.cpp"):
            continue
        for line in file.read_text().splitlines():
            for call, name in re.findall(r'(\w+)\((?:environ\w*, |envp, |user, )?"(NIGH_[A-Z0-9_]+)"', line):
                found.add(name)
                if call in ("getenv", "start_environment", "value_of", "lookup") and name not in TEXTS and not (
                        call == "value_of" and name in BEFORE_LIBC):
                    wrong.append(f"{file.relative_to(ROOT)}: {name} is read by {call}(), not by a function of sys/variables.hpp")
    wrong += [f"{name} is in the list of texts, and nobody reads it" for name in sorted(TEXTS - found)]
    assert len(found) > 20, f"only {sorted(found)}: this check can't read the sources"
    assert not wrong, "\n".join(wrong)


CASES = {"openmpi": lambda: mpi("openmpi"), "mpich": lambda: mpi("mpich"), "shmem": shmem, "openmp": openmp, "chare": chare,
         "transpose": transpose, "sources": sources}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
    print(f"variables: {sys.argv[1]}: junk is told, and nothing else")
