# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""mpi_cases.py BUILD CASE LIBRARY: each MPI library over several hosts, alone and under what of ours runs between nodes: the
interposer, OpenSHMEM, message-driven programs, transposes. Two ranks a host, so that both ways to a peer are taken."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from testing import HERE, Failed, bed, check, main, map_of_four, processes, running, skip, steadily

BUILD, CASE, LIBRARY = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
FILE = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[LIBRARY]  # by which Debian's programs are linked
NIGH = BUILD / "bin" / "nigh"
OUT = BUILD / "tests" / f"hosts-{CASE}-{LIBRARY}"
MPIRUN = f"mpirun.{LIBRARY}"
RIGHT = "all bytes are right"


def build(wrapper, source, *flags):
    told = subprocess.run([wrapper, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", OUT], text=True,
                          capture_output=True)
    check(told.returncode == 0, f"{wrapper}: {told.stderr}")


def jobs(options, command, limit=40):
    told = bed(BUILD, options, command, limit)
    check(told.status == 0, f"{command} on {options}: {told}")
    return told


def placed(told, hosts, each):
    """Every rank once, a host's ranks share memory, others don't."""
    found = sorted(re.findall(r"rank (\d+) of \d+ on (\S+) with (\d+)", told.out), key=lambda x: int(x[0]))
    wanted = [(str(r), f"nigh-{r // each}", str(each)) for r in range(hosts * each)]
    check(found == wanted, f"ranks are not where they should be: {told}")
    check(RIGHT in told.out, f"bytes: {told}")


def ranks():
    build(f"mpicc.{LIBRARY}", HERE / "ranks.c", "-Wno-stringop-overflow")
    # MPICH may not come out of its MPI_Finalize (docs/testing-hosts.md), with many ranks on few CPUs most of all.
    steadily(lambda: placed(jobs("-n 4 --slots 2", [MPIRUN, "-n", 8, OUT]), 4, 2))
    steadily(links)


def links():
    mbit, us = 200, 200
    told = jobs(f"-n 2 --slots 2 --rate {mbit}mbit --delay {us}us", [MPIRUN, "-n", 4, OUT, 12])
    placed(told, 2, 2)
    line = re.search(r"one way (\S+) us, one pair (\S+) Mbit/s, all pairs (\S+) Mbit/s", told.out)
    check(line, f"nothing was measured: {told}")
    print(f"{LIBRARY}, {mbit} Mbit/s, {us} us a link: {line[0]}")
    way, one, every = (float(x) for x in line.groups())
    check(2 * us <= way < 2 * us + 1000, f"{way} us one way over two links of {us} us")
    check(mbit / 2 < one < 1.05 * mbit, f"one pair gets {one} of {mbit} Mbit/s")
    check(mbit / 2 < every < 1.05 * mbit, f"two pairs over one link get {every} of {mbit} Mbit/s")


def messages():
    build(f"mpicc.{LIBRARY}", HERE / "ranks.c", "-Wno-stringop-overflow")
    for ways in ("1", "0"):
        told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit",
                    ["env", f"NIGH_MPI_HIERARCHY={ways}", NIGH, "run", "--mpi", "--explain", "--", MPIRUN, "-n", 4, OUT])
        placed(told, 2, 2)
        # An account of each node: half of the exchanges stay in it and are ours; those that cross are the library's.
        check(len(re.findall(r"2 of 4 ranks share memory on this node", told.err)) == 2, f"not both nodes have us: {told}")
        counts = re.findall(r"MPI_Sendrecv +(\d+) ours, [0-9.]+ MB, (\d+) the library's: distant", told.err)
        check(counts == [("15", "5")] * 2, f"what went how: {counts} {told}")


def forwarded():
    """Who names variables for ranks in the launcher's words has ours on all hosts, too; else the promise that
    NIGH_MPI_HIERARCHY is would not be kept, and the job would hang."""
    build(f"mpicc.{LIBRARY}", HERE / "ranks.c", "-Wno-stringop-overflow")
    words = {"openmpi": [["-x", "ANY"], ["--mca", "mca_base_env_list", "ANY"]],
             "mpich": [["-genvlist", "PATH,ANY"], ["-genvnone"], ["-genv", "ANY", "1"]]}[LIBRARY]
    for these in words:
        told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit",
                    ["env", "NIGH_MPI_HIERARCHY=1", "ANY=1", NIGH, "run", "--mpi", "--explain", "--", MPIRUN, *these, "-n", 4, OUT])
        placed(told, 2, 2)
        check(len(re.findall(r"2 of 4 ranks share memory on this node", told.err)) == 2, f"{these}: not both nodes have us: {told}")


def ours(told, function="MPI_Reduce"):
    """(ours, the library's) of each node's account."""
    lines = re.findall(rf"MPI: {function} +(.*)", told.err)
    return [tuple(int((re.search(rf"(\d+) {whose}", line) or [0, 0])[1]) for whose in ("ours", "the library's")) for line in lines]


def census():
    """Ranks find out whether all of them have us; else collectives over several hosts are the library's, and none waits."""
    build(f"mpicc.{LIBRARY}", HERE / "collectives.c")
    options = "-n 2 --slots 2 --delay 30us --rate 1gbit"

    def run(*words, env=(), options=options, ranks=4):
        command = ["env", *env, NIGH, "run", "--only", "mpi", "--explain", "--", MPIRUN, "-n", ranks, *words]
        for last in (False, False, True):
            try:
                told = jobs(options, command, 45)
                break
            except Failed as failed:  # MPICH, in its MPI_Finalize: see ranks()
                if last or LIBRARY != "mpich" or "did not end" not in str(failed) or "all values are right" not in str(failed):
                    raise
                print("once more: MPICH did not come out of MPI_Finalize")
        check("all values are right" in told.out, f"{words} {env}: {told}")
        return {name: ours(told, f"MPI_{name}") for name in ("Allgather", "Gather", "Reduce", "Alltoall", "Scatter", "Allgatherv",
                                                             "Reduce_scatter_block", "Allreduce")}

    def without_us(who):
        return ["sh", "-c", f"if [ {who} ]; then unset LD_PRELOAD; fi; exec {OUT} 2"]

    def had_levels(found, nodes, names):
        for counts in (found[name] for name in names):
            check(len(counts) == nodes and all(mine > 40 for mine, _ in counts), f"{nodes}: not all had levels: {found}")

    # With 2 ranks a node some pay only where they were promised.
    had_levels(run(OUT), 2, ("Allgather", "Gather"))
    promised = ["NIGH_MPI_HIERARCHY=1"]
    found = run(OUT, env=promised)
    had_levels(found, 2, found)
    if LIBRARY != "mpich":  # chains that have a middle; MPICH takes half a minute for it on two CPUs
        found = run(OUT, 3, env=promised, options="-n 3 --slots 2 --delay 30us --rate 1gbit", ranks=6)
        had_levels(found, 3, ("Allgather", "Reduce", "Allreduce"))
    rank = {"openmpi": "$OMPI_COMM_WORLD_RANK", "mpich": "$PMI_RANK"}[LIBRARY]
    for words, env in (([OUT, 2], ["NIGH_MPI_HIERARCHY=0"]),
                       (without_us("$(hostname) = nigh-1"), ()),
                       (without_us(f"{rank} = 3"), ()),
                       (["sh", "-c", f"[ {rank} = 2 ] && export NIGH_MPI_COLL=off; exec {OUT} 2"], ()),
                       (["sh", "-c", f"[ $(hostname) = nigh-1 ] && export NIGH_REPRODUCIBLE=1; exec {OUT} 2"], ()),
                       (["sh", "-c", f"[ {rank} = 1 ] && export NIGH_MPI_CENSUS=junk; exec {OUT} 2"], ()),
                       (["sh", "-c", f"[ {rank} = 1 ] && NIGH_MPI_CENSUS=${{NIGH_MPI_CENSUS%@*}}@10.77.0.1:9,10.77.0.99:9; exec {OUT} 2"], ())):
        found = run(*words, env=env)
        check(found["Reduce"] and found["Allgather"] and all(mine == 0 for counts in found.values() for mine, _ in counts),
              f"{words} {env}: some had levels: {found}")
    census_killed(options)


def census_killed(options):
    """It is gone before a rank asks: the others may have been told, so the job ends, with a word."""
    go = Path(str(OUT) + ".go")
    go.unlink(missing_ok=True)
    words = [NIGH, "run", "--only", "mpi", "--", MPIRUN, "-n", 4, "sh", "-c", f"exec {OUT} 3 {go}"]
    with running(BUILD, options, words) as process:
        def of_nigh():
            return [pid for pid, line in processes(process).items() if line.startswith(f"{NIGH} run")]

        end = time.monotonic() + 30
        while time.monotonic() < end and not of_nigh():
            time.sleep(0.5)
        time.sleep(3)  # all have entered, none has asked: that is the eighth call, the first round has four
        found = of_nigh()
        check(len(found) == 1, f"beside the launcher there is one process of nigh run: {processes(process)}")
        os.kill(found[0], signal.SIGKILL)
        go.write_text("")
        out, err = process.communicate(timeout=60)
    check(process.returncode != 0 and "the census of the job" in err, f"status {process.returncode}: {out} {err}")


def bench():
    """`nigh bench mpi-nodes`: every subject by turns, and a wrong result is found."""
    told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit",
                [NIGH, "bench", "mpi-nodes", "--quick", "--samples", 1, "--size", 8, "--json", "--", MPIRUN, "-n", 4], 120)
    file = json.loads(told.out)
    check((file["machine"]["ranks"], file["machine"]["nodes"]) == (4, 2) and not file["absent"], f"{told}")
    subjects = {"nigh", "library"} | ({"coll/han"} if LIBRARY == "openmpi" else set())
    names = {(one["subject"], one["result"]) for one in file["records"] if one["verified"] and one["median"] > 0 and one["teams"] == "4"}
    check(len(names) == 12 * len(subjects) and {subject for subject, _ in names} == subjects, f"records: {sorted(names)} {told.err}")
    for subject in subjects:
        check({"barrier", "bcast 8 B", "alltoallv 8 B"} <= {result for who, result in names if who == subject}, f"{subject}: {names}")
    words = "void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm"
    wrong = Path(str(OUT) + ".c")
    wrong.write_text(f"#include <mpi.h>\nint MPI_Scan(const void *from, {words}) {{\n  const int code = PMPI_Scan(from, to, n, type, op, comm);\n"
                     "  *(double *)to += 1;\n  return code;\n}\n")
    build(f"mpicc.{LIBRARY}", wrong, "-shared", "-fPIC")
    told = jobs("-n 1 --slots 2", [MPIRUN, "-n", 2, "env", f"LD_PRELOAD={OUT}", BUILD / "bench" / f"mpi-nodes-{FILE}", "--quick"])
    check('"verified":false' in told.out and "scan of 8 bytes: rank 0 has 1 in block 0 at 0, not 0" in told.out, f"{told}")


def shmem():
    oshcc = BUILD / "bin" / "nigh-oshcc"
    build(oshcc, HERE.parent / "shmem" / "pes.c")
    told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 4, OUT])
    check(told.out.count("ok") >= 7, f"the PEs say: {told}")
    build(oshcc, HERE.parent / "shmem" / "storm.c")
    told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 4, OUT, 3, 4711])
    check(told.out.strip() == "ok storm 3 rounds", f"the storm says: {told}")


def chare():
    cases = BUILD / "tests" / "chare_cases"
    jobs("-n 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 2, cases, "moving", "--mode", "mpi", "--pes", 2, "--comm-thread"])
    # Nodes of two processes, and that they end: MPICH's MPI_Finalize may not.
    jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 4, cases, "arguments", "--mode", "mpi", "--pes", 1])
    # The measurement of the job at its start.
    told = jobs("-n 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 2, cases, "traffic", "--mode", "mpi", "--pes", 2,
                                                   "--chare-progress", 10])
    line = re.search(r"between nodes in frames .*", told.err)
    check(line, f"what is measured between nodes is not told: {told}")
    print(line[0])


def transpose():
    told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 4, BUILD / "tests" / f"transpose_ranks.{LIBRARY}",
                                                             "few", 1, "2 of them on this node"])
    check("all transposes are right" in told.out and "messages of up to" in told.out, f"the ranks say: {told}")
    # One that dies while others wait for its messages ends the job.
    told = bed(BUILD, "-n 2 --slots 2 --delay 30us --rate 1gbit", [MPIRUN, "-n", 4, BUILD / "tests" / f"transpose_ranks.{LIBRARY}",
                                                                  "dies", 1], 60)
    check("rank 3 dies" in told.err and told.status not in (0, 124), f"a rank died: {told}")


def hybrid():
    """`nigh run --auto-hybrid`: as many ranks on each host, with as many threads, as it says, and no others."""
    says = "echo rank on $(hostname) with ${OMP_NUM_THREADS:-none} threads"
    run = [NIGH, "run", "--auto-hybrid", "--transpose", "1000x1000"]
    told = jobs("-n 2 --slots 4", [*run, "--", MPIRUN, "-n", 99, "sh", "-c", says])
    chosen = re.search(r"2 nodes x 4 cores .*?: (\d) ranks? x (\d) threads?,", told.err)
    check(chosen and "-n 99 becomes" in told.err, f"it does not say what it chose: {told}")
    ranks, threads = (int(x) for x in chosen.groups())
    found = sorted(re.findall(r"rank on (\S+) with (\S+) threads", told.out))
    check(ranks * threads == 4 and found == sorted([(f"nigh-{h}", str(threads)) for h in range(2)] * ranks),
          f"{ranks} x {threads} was chosen: {told}")
    fixed = {"openmpi": ["--map-by", "ppr:2:node"], "mpich": ["-ppn", 2]}[LIBRARY]
    told = jobs("-n 2 --slots 4", [*run, "--", MPIRUN, *fixed, "-n", 4, "sh", "-c", says])
    check("nothing is changed" in told.err and told.out.count("with none threads") == 4, f"it does not stand aside: {told}")


def mapped():
    """`nigh run --rank-map`: ranks on the hosts that the map says, those of a host beside each other for us, too."""
    build(f"mpicc.{LIBRARY}", HERE / "ranks.c", "-Wno-stringop-overflow")
    run = [NIGH, "run", "--rank-map", map_of_four(BUILD), "--", MPIRUN, OUT]
    if LIBRARY == "mpich" and "-rankmap" not in subprocess.run([MPIRUN, "--help"], capture_output=True, text=True).stdout:
        told = bed(BUILD, "-n 2 --slots 2", run, 40)
        check(told.status == 125 and "the ranks of host nigh-0 are not consecutive" in told.err, f"it starts what MPICH takes for three nodes: {told}")
        run[3] = map_of_four(BUILD, "0 9 0 0\n9 0 0 0\n0 0 0 9\n0 0 9 0\n")
        return placed(jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", run), 2, 2)
    told = jobs("-n 2 --slots 2 --delay 30us --rate 1gbit", run)
    found = sorted(re.findall(r"rank (\d) of 4 on (\S+) with 2", told.out))
    check(found == [("0", "nigh-0"), ("1", "nigh-1"), ("2", "nigh-1"), ("3", "nigh-0")] and RIGHT in told.out, f"ranks: {told}")


def test():
    if not shutil.which(MPIRUN) or not shutil.which(f"mpicc.{LIBRARY}"):
        skip(f"there is no {MPIRUN} here", "mpi")
    {f.__name__: f for f in (ranks, messages, forwarded, census, bench, shmem, chare, transpose, hybrid, mapped)}[CASE]()


main(test)
