#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Options and variables whose other tests would also pass if they did nothing: each is seen to do what it says, and without
# it that isn't so. Usage: effects.py CASE BUILD_FOLDER
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[2]).resolve()
NIGH, LIB = str(BUILD / "bin" / "nigh"), BUILD / "lib"
ROOTED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def skip(what: str, why: str) -> None:
    print(f"SKIP: {why}")
    wanted = os.environ.get("NIGH_REQUIRE", "").split(",")
    sys.exit(1 if what in wanted or "all" in wanted else 77)


def run(*words: str, **variables: str) -> subprocess.CompletedProcess:
    got = subprocess.run(words, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                         env={**os.environ, **ROOTED, **variables})
    assert got.returncode == 0, f"{words}: {got}"
    return got


def compiled(compiler: list[str], text: str, folder: str) -> str:
    source, program = Path(folder) / "program.c", Path(folder) / "program"
    source.write_text(text)
    subprocess.run([*compiler, "-O2", "-o", str(program), str(source)], check=True)
    return str(program)


def bind() -> None:
    """`-n` with each --bind, on a machine of two packages."""
    masks = {}
    for how in ("compact", "scatter", "none"):
        told = run(NIGH, "run", "-n", "2", "--bind", how, "--machine", "nehalem-sun", "--dry-run", "--json", "--", "app")
        masks[how] = [rank["mask"] for rank in json.loads(told.stdout)["ranks"]]
    assert len(set(masks["compact"])) == 2 and masks["none"][0] == masks["none"][1] != masks["compact"][0], masks
    four = {}
    for how in ("compact", "scatter"):
        told = run(NIGH, "run", "-n", "4", "--bind", how, "--machine", "nehalem-sun", "--dry-run", "--json", "--", "app")
        four[how] = [rank["mask"] for rank in json.loads(told.stdout)["ranks"]]
    assert sorted(four["compact"]) == sorted(four["scatter"]) and four["compact"] != four["scatter"], four
    usual = run(NIGH, "run", "-n", "2", "--machine", "nehalem-sun", "--dry-run", "--json", "--", "app")
    assert [rank["mask"] for rank in json.loads(usual.stdout)["ranks"]] == masks["compact"]


def quiet() -> None:
    """What is said without it, and isn't with it; the account that was asked for still comes."""
    words = [NIGH, "run", "--teams", "2,scatter", "--", "true"]
    assert "took OMP_PROC_BIND=close" in run(*words, OMP_PROC_BIND="close").stderr
    assert run(*words[:2], "--quiet", *words[2:], OMP_PROC_BIND="close").stderr == ""
    if not shutil.which("gcc"):
        return
    one = str(min(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(["gcc", "-fopenmp"], MASKS, folder)
        words = [NIGH, "run", "--teams", "2,compact", "--mask", one, "--", program]
        assert "2 threads of the plan share 1 PU" in run(*words).stderr
        assert run(*words[:2], "--quiet", *words[2:]).stderr == ""


def hybrid() -> None:
    """--nodes, --cores and --transpose of --auto-hybrid are what it counts with, and what the launcher is told."""
    start = [NIGH, "run", "--auto-hybrid", "--dry-run"]
    command = ["--", "mpirun.openmpi", "./app"]
    told = run(*start, "--nodes", "3", "--cores", "2", "--transpose", "600x900,float", *command)
    assert "3 nodes x 2 cores (--nodes), a matrix of 600x900 float:" in told.stderr and "assumed" not in told.stderr, told
    ranks, threads = map(int, re.search(r": (\d+) ranks? x (\d+) threads?", told.stderr).groups())
    assert ranks * threads == 2 and f"--map-by ppr:{ranks}:node:PE={threads}" in told.stdout, told
    assert f"-n {3 * ranks} ./app" in told.stdout and f"OMP_NUM_THREADS={threads}" in told.stdout, told
    plain = run(*start, *command)
    assert "1 node x" in plain.stderr and "8192x8192 double, assumed" in plain.stderr, plain


def watch() -> None:
    """On one node it is said that there is nothing to do; the kernel's policy is set where there are several."""
    nodes = len([n for n in os.listdir("/sys/devices/system/node") if re.fullmatch(r"node\d+", n)])
    got = run(NIGH, "run", "--watch", "--", "cat", "/proc/self/numa_maps")
    if nodes < 2:
        assert "--watch" in got.stderr or "one NUMA node" in got.stderr, got
    else:
        assert "bind" in got.stdout, got


SENDS = """#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef STATIC
  static char data[100000];
#else
  char* data = malloc(100000);
#endif
  for (int i = 0; i < 5; i++) {
    if (rank == 0) MPI_Send(data, 3000, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_Send(data, 100000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) for (int k = 0; k < 2; k++) MPI_Recv(data, 100000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""
BLOCKS = """#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int shared(void* block) { return (uintptr_t)block >> 39 >= 64 && (uintptr_t)block >> 39 < 169; }
static int rank;
static void send(void* block) {
  if (rank == 0) MPI_Send(block, 100000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(block, 100000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/* Three calls of malloc, so three places. */
static int kept(void) { char* block = memset(malloc(1000000), 1, 1000000); int is = shared(block); return free(block), is; }
static int sent(void) { char* block = malloc(1000000); int is = shared(block); return send(block), free(block), is; }
static int late(void) { char* block = malloc(80 << 20); int is = shared(block); return send(block), free(block), is; }
int main(int argc, char** argv) {
  int early = shared(malloc(1000000));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("early %d, small %d", early, shared(malloc(3000)));
  for (int i = 0; i < 4; i++) { int is = sent(); if (rank == 0) printf("%s%d", i ? " " : ", sent ", is); }
  for (int i = 0; i < 4; i++) { int is = kept(); if (rank == 0) printf("%s%d", i ? " " : ", kept ", is); }
  for (int i = 0; i < 3; i++) { int is = late(); if (rank == 0) printf("%s%d", i ? " " : ", late ", is); }
  char* grown = NULL;
  for (size_t bytes = 1000; bytes <= 16000000; bytes *= 2) {
    grown = realloc(grown, bytes);
    if (bytes > 1000 && grown[bytes / 2 - 1] != 7) return printf("lost at %zu\\n", bytes), 1;
    memset(grown, 7, bytes);
  }
  free(grown);
  if (rank == 0) puts("");
  MPI_Finalize();
  return 0;
}
"""
TOP = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
/* A large block that libc may not see, then heaps of smaller ones: libc should keep the top of its heap as it does alone. */
static void heaps(int times) {
  char* blocks[4];
  while (times-- > 0) {
    for (int i = 0; i < 4; i++) blocks[i] = malloc(1 << 20), memset(blocks[i], 1, 1 << 20);
    for (int i = 3; i >= 0; i--) free(blocks[i]);
  }
}
int main(int argc, char** argv) {
  struct rusage before, after;
  MPI_Init(&argc, &argv);
  char* volatile large = malloc(6 << 20);
  free(large);
  heaps(10);
  getrusage(RUSAGE_SELF, &before);
  heaps(50);
  getrusage(RUSAGE_SELF, &after);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%ld\\n", after.ru_minflt - before.ru_minflt);
  MPI_Finalize();
  return 0;
}
"""
SUMS = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {  /* (large + 1) - large is 0 or 1, as it is added up */
  const double values[] = {1e16, 1, -1e16};
  int rank, zero = 0, one = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int turn = 0; turn < 6; turn++) {
    double mine = values[(turn < 3 ? rank + turn : 5 - rank - turn + 3) % 3], sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    zero |= sum == 0, one |= sum == 1;
  }
  if (rank == 0) printf("%d results\\n", zero + one);
  MPI_Finalize();
  return 0;
}
"""


# A hash of the results of each function that reduces: numbers whose sums round.
BITS = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { most = 30000 };
static double in[most], out[4 * most];
static long long integers[most], integers_out[most];
static int rank, ranks;
static void tell(const char* name, const void* data, size_t bytes) {
  unsigned long hash = 14695981039346656037ul;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211ul;
  unsigned long all[8];
  MPI_Gather(&hash, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) for (int i = 0; i < ranks; ++i) printf("%s %lx\\n", name, all[i]);
}
static void add(void* from, void* to, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((double*)to)[i] += ((double*)from)[i];
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  srand48(rank + 1);
  for (int i = 0; i < most; ++i) in[i] = (drand48() - 0.5) * (i % 3 ? 1 : 1e9), integers[i] = lrand48();
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  const int counts[] = {1, 10, 1000, most};
  for (int c = 0; c < 4; ++c) {
    const int n = counts[c];
    int each[8];
    for (int i = 0; i < 8; ++i) each[i] = n / ranks;
    const size_t bytes = n * sizeof(double);
    MPI_Request request;
    memset(out, 0, sizeof out);
    MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), tell("Allreduce", out, bytes);
    MPI_Allreduce(in, out, 2 * n, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD), tell("maximum", out, bytes);
    MPI_Allreduce(in, out, n / 2, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD), tell("complex", out, bytes / 2);
    MPI_Allreduce(in, out, n, MPI_DOUBLE, own, MPI_COMM_WORLD), tell("own", out, bytes);
    MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE), tell("Iallreduce", out, bytes);
    memset(out, 0, sizeof out);
    MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD), tell("Reduce", out, bytes);
    memset(out, 0, sizeof out);
    MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), tell("Scan", out, bytes);
    memset(out, 0, sizeof out);
    MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), tell("Exscan", out, bytes);
    MPI_Reduce_scatter(in, out, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), tell("Reduce_scatter", out, each[0] * sizeof(double));
    MPI_Reduce_scatter_block(in, out, each[0], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), tell("Reduce_scatter_block", out, each[0] * sizeof(double));
    MPI_Allreduce(integers, integers_out, n, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD), tell("integers", integers_out, bytes);
  }
  MPI_Finalize();
  return 0;
}
"""


def mpi(kind: str) -> None:
    launcher, compiler = f"mpirun.{kind}", f"mpicc.{kind}"
    if not (shutil.which(launcher) and shutil.which(compiler) and (LIB / f"libnigh-mpi-{kind}.so").exists()):
        skip("mpi", f"there is no {launcher} here")
    more = ["--oversubscribe"] if kind == "openmpi" else []

    def ours(least: str, most: str = "0") -> int:
        got = run(NIGH, "run", "--mpi", "--explain", "--", launcher, *more, "-n", "2", program,
                  NIGH_MPI_P2P_MIN=least, NIGH_MPI_P2P_STAGED=most)
        found = re.search(r"MPI_Send +(\d+) ours", got.stderr)
        return int(found.group(1)) if found else 0

    with tempfile.TemporaryDirectory() as folder:
        program = compiled([compiler], SENDS, folder)
        counts = [ours(least) for least in ("1000", "50000", "1000000000", "18446744073709551615")]
        assert counts == [10, 5, 0, 0], f"NIGH_MPI_P2P_MIN: {counts} sends of 5 small and 5 large ones are ours"
        program = compiled([compiler, "-DSTATIC"], SENDS, folder)
        counts = [ours("1000", most) for most in ("0", "50000", "10000000")]
        assert counts == [0, 5, 10], f"NIGH_MPI_P2P_STAGED: {counts} sends of 5 small and 5 large private ones are ours"
        program = compiled([compiler], BLOCKS, folder)
        words = [NIGH, "run", "--mpi", "--", launcher, *more, "-n", "2", program]
        told = {how: run(*words, NIGH_SPACE_HUGE="never", **({"NIGH_SPACE_SHARE": how} if how else {})).stdout for how in ("", "sent", "all")}
        # The second block of 80 MiB takes the whole budget for new pages.
        learned = "early 0, small 0, sent 1 1 1 1, kept 1 0 0 0, late 0 1 0\n"
        assert told == {"": learned, "sent": learned, "all": "early 1, small 1, sent 1 1 1 1, kept 1 1 1 1, late 1 1 1\n"}, told
        program = compiled([compiler, "-fno-builtin"], TOP, folder)
        faults = int(run(NIGH, "run", "--mpi", "--", launcher, *more, "-n", "2", program, NIGH_SPACE_HUGE="never").stdout)
        assert faults < 20000, f"{faults} faults for 4 MiB that are allocated 50 times, 51200 if libc returns them each time"
        program = compiled([compiler], SUMS, folder)
        words = [NIGH, "run", "--mpi", "--", launcher, *more, "-n", "3", program]
        plain, fixed = run(*words).stdout, run(*words, NIGH_REPRODUCIBLE="1").stdout
        assert fixed == "1 results\n", f"NIGH_REPRODUCIBLE=1: {fixed}"
        assert plain == "2 results\n", f"without NIGH_REPRODUCIBLE: {plain}, so this test shows nothing"
        assert run(*words, NIGH_REPRODUCIBLE="0").stdout == plain
        program = compiled([compiler, "-O1"], BITS, folder)
        differ = 0
        for ranks in ("2", "3", "4"):
            job = [launcher, *more, "-n", ranks, program]
            alone, plain = run(*job).stdout, run(NIGH, "run", "--mpi", "--", *job).stdout
            same = run(NIGH, "run", "--mpi", "--explain", "--", *job, NIGH_REPRODUCIBLE="library")
            assert same.stdout == alone, f"NIGH_REPRODUCIBLE=library on {ranks} ranks: {same.stdout}, without nigh: {alone}"
            differ += plain != alone
            assert re.search(r"MPI_Allreduce +\d+ ours, .* the library's: order \d+", same.stderr), same.stderr  # integers stay ours
        assert differ, "sums are the same bits without NIGH_REPRODUCIBLE=library, too: this test shows nothing"
        half = [*job[:-3], "-n", "2", program, ":", "-n", "2", "env", "NIGH_REPRODUCIBLE=library", program]
        assert run(NIGH, "run", "--mpi", "--", *half).stdout == alone, "one rank that asks for the library's order is enough"


def fft() -> None:
    script = f"""import ctypes
lib = ctypes.CDLL({str(LIB / 'libnigh-fft.so')!r})
lib.nigh_fft_plan.restype = ctypes.c_void_p
n, text = (ctypes.c_size_t * 1)(4096), ctypes.create_string_buffer(1000)
data = (ctypes.c_double * 8192)()
bytes = ctypes.c_size_t(ctypes.sizeof(data))
plan = lib.nigh_fft_plan(1, n, -1, ctypes.c_uint(0), data, bytes, data, bytes, 1)
lib.nigh_fft_explain(ctypes.c_void_p(plan), text, ctypes.c_size_t(1000))
print(text.value.decode())
"""
    plain = run(sys.executable, "-c", script).stdout
    chosen = run(sys.executable, "-c", script, NIGH_FFT_LOCAL="pocketfft").stdout
    if "(8 x 8" not in plain:
        skip("vectors", f"nigh has no kernels for this processor: {plain}")
    assert chosen.startswith("1-D complex") and "(8 x 8" not in chosen, f"NIGH_FFT_LOCAL: {chosen}, without: {plain}"
    wrong = run(sys.executable, "-c", script, NIGH_FFT_LOCAL="abc")
    assert wrong.stdout == plain and wrong.stderr.count("\n") == 1 and "NIGH_FFT_LOCAL=abc" in wrong.stderr, wrong


BLOCKS_OFTEN = """#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
int main(void) {
  struct rusage used;
  for (int i = 0; i < 5000000; i++) free(malloc(i % 10000)), free(calloc(1, i % 100)), free(realloc(NULL, i % 10000));
  getrusage(RUSAGE_SELF, &used);
  printf("%ld\\n", used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec);
  return 0;
}
"""


def aside() -> None:
    """Without a space malloc costs no system call: 15 million calls of it would take more than a second of system time."""
    if not shutil.which("gcc"):
        skip("gcc", "this needs gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(["gcc", "-fno-builtin"], BLOCKS_OFTEN, folder)
        times = [int(run(program, LD_PRELOAD=str(LIB / "libnigh-space.so"), NIGH_SPACE=how).stdout) for how in ("off", "")]
        assert max(times) < 500_000, f"{times} us of system time"


MASKS = """#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel
  {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
#pragma omp critical
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, &mask)) printf("%d\\n", cpu);
  }
  return 0;
}
"""


def mask() -> None:
    """NIGH_MASK holds although the process may use more (its MPI library may have widened the mask again)."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not shutil.which("gcc"):
        skip("gcc", "this needs two CPUs and gcc")
    load = {"LD_PRELOAD": str(LIB / "libnigh-openmp.so"), "OMP_NESTING_TEAM_SIZE": "2,compact", "OMP_NUM_THREADS": "2"}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(["gcc", "-fopenmp"], MASKS, folder)
        assert len(set(run(program, **load).stdout.split())) == 2
        for cpu in map(str, cpus[:2]):
            seen = set(run(program, **load, NIGH_MASK=cpu, NIGH_QUIET="1").stdout.split())
            assert seen == {cpu}, f"NIGH_MASK={cpu}: threads on {seen}"


def record() -> None:
    """--record: with or without --mpi, from another folder, of a relative name; nothing else writes there."""
    kind = next((kind for kind in ("openmpi", "mpich") if shutil.which(f"mpirun.{kind}") and shutil.which(f"mpicc.{kind}")), "")
    if not kind or not (LIB / f"libnigh-mpi-{kind}.so").exists():
        skip("mpi", "there is no MPI here")
    job = [f"mpirun.{kind}", *(["--oversubscribe"] if kind == "openmpi" else []), "-n", "2"]

    def refused(*words: str) -> str:
        got = subprocess.run([NIGH, "run", *words, "--", "true"], capture_output=True, text=True, timeout=100)
        assert got.returncode == 125 and got.stderr.count("\n") == 1, got
        return got.stderr

    with tempfile.TemporaryDirectory() as folder:
        program = compiled([f"mpicc.{kind}"], SENDS, folder)
        os.chdir(folder)
        for how in ([], ["--mpi"], ["--only", "mpi"]):
            shutil.rmtree("talk", ignore_errors=True)
            run(NIGH, "run", *how, "--dry-run", "--record", "talk/new", "--", *job, program)
            assert not Path("talk").exists(), "a dry run made the folder"
            run(NIGH, "run", *how, "--record", "talk/new", "--", "sh", "-c", f"cd /; {' '.join(job)} {program}")
            assert sorted(os.listdir("talk/new/2-ranks-1")) == ["rank-0.json", "rank-1.json"], how
            told = run(NIGH, "plan", "--ranks", "talk/new", "--nodes", "2", "--json")
            assert json.loads(told.stdout)["bytes"] == 5 * 103000, told
        assert "talk/new holds a record already; name another folder" in refused("--record", "talk/new")
        for how in (["--off", "mpi"], ["--only", "teams"], ["--teams", "2,compact"]):
            assert "--record counts what MPI ranks send each other" in refused("--record", "x", *how), how
        Path("file").touch()
        assert "file is no folder" in refused("--record", "file")
        assert "can't make /proc/nigh/x" in refused("--record", "/proc/nigh/x")
        os.mkdir("empty")
        none = subprocess.run([NIGH, "plan", "--ranks", "empty"], capture_output=True, text=True, timeout=100)
        assert none.returncode == 1 and "empty holds no record (nigh run --record empty -- mpirun ...)" in none.stderr, none
        os.chdir("/")


def rank_map() -> None:
    """--rank-map: ranks change places, in the words of each library that is there; what contradicts it is refused."""
    def planned(*words: str) -> str:
        return run(NIGH, "plan", "--ranks", "matrix", "--json", *words).stdout

    def refused(*words: str, status: int = 125) -> str:
        got = subprocess.run([NIGH, "run", *words], capture_output=True, text=True, timeout=100, env={**os.environ, **ROOTED})
        assert got.returncode == status and got.stderr.count("\n") == 1, got
        return got.stderr

    def shown(*words: str) -> str:
        return run(NIGH, "run", "--dry-run", "--rank-map", "map", "--", *words).stdout.splitlines()[0]

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("matrix").write_text("0 0 0 9\n0 0 9 0\n0 9 0 0\n9 0 0 0\n")
        Path("map").write_text(planned("--nodes", "2", "--hosts", "a,b"))
        hosts = [one["host"] for one in json.loads(Path("map").read_text())["ranks"]]
        assert hosts == ["a", "b", "b", "a"], hosts
        # MPICH's launcher may not know of ranks that are not consecutive; this map has none.
        Path("matrix").write_text("0 9 0 0\n9 0 0 0\n0 0 0 9\n0 0 9 0\n")
        Path("map").write_text(planned("--nodes", "2", "--hosts", "a,b"))
        for kind, words in (("openmpi", "--rankfile /proc/self/fd/"), ("mpich", "-f /proc/self/fd/")):
            if not shutil.which(f"mpirun.{kind}"):
                continue
            assert words in shown(f"mpirun.{kind}", "./app") and "-n 4" in shown(f"mpirun.{kind}", "./app")
            assert "it is a map of 4 ranks, and the command starts 2" in refused("--rank-map", "map", "--", f"mpirun.{kind}", "-n", "2", "true")
            assert "places the ranks already" in refused("--rank-map", "map", "--", f"mpirun.{kind}", "--map-by", "node", "true")
        assert "'true' is none of them" in refused("--rank-map", "map", "--", "true")
        kind = next((kind for kind in ("openmpi", "mpich") if shutil.which(f"mpirun.{kind}")), "")
        if not kind:
            skip("mpi", "there is no MPI here")
        assert "can't open none" in refused("--rank-map", "none", "--", f"mpirun.{kind}", "true")
        assert "matrix: it is not a map of ranks" in refused("--rank-map", "matrix", "--", f"mpirun.{kind}", "true")
        Path("map").write_text(planned("--nodes", "2"))
        assert "names no hosts: plan it with --hosts" in refused("--rank-map", "map", "--", f"mpirun.{kind}", "true")
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) == 2 and shutil.which("mpirun.openmpi"):
            Path("map").write_text('{"format": "nigh-rank-map", "version": 1, "ranks": [{"rank": 0, "node": 0, "slot": "0:1"}, '
                                   '{"rank": 1, "node": 0, "slot": "0:0"}]}')
            for more in ([], ["--off", "mpi,teams"], ["--mpi"]):
                told = run(NIGH, "run", *more, "--rank-map", "map", "--", "mpirun.openmpi", "sh", "-c",
                           "echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)")
                assert sorted(line.split()[::2] for line in told.stdout.splitlines()) == [["0", str(cpus[1])], ["1", str(cpus[0])]], told
        os.chdir("/")


CASES = {"bind": bind, "record": record, "rank_map": rank_map, "quiet": quiet, "hybrid": hybrid, "watch": watch, "openmpi": lambda: mpi("openmpi"),
         "mpich": lambda: mpi("mpich"), "fft": fft, "mask": mask, "aside": aside}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
    print(f"effects: {sys.argv[1]}: right")
