#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs under mpirun with and without libnigh-mpi.so: the same output and nothing on stderr, and --explain shows
# that the calls were ours. One case a run: front.py CASE LIBRARY (openmpi, mpich) FOLDER-OF-PROGRAMS LIBDIR.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # the one that Debian's mpi4py belongs to


class Failed(Exception):
    pass


class Skip(Exception):
    pass


def expect(true, what):
    if not true:
        raise Failed(what)


class Mpi:
    def __init__(self, library, programs, libdir):
        self.library, self.programs, self.libdir = library, Path(programs), Path(libdir)
        self.known = {}
        self.front = str(self.libdir / "libnigh-mpi.so")
        if library.startswith("intel"):  # its messages of 256 KiB and more alone are ours by default
            os.environ["NIGH_MPI_P2P_MIN"] = "8192"

    def program(self, name):
        path = self.programs / f"{name}-{self.library}"
        return [str(path)]

    def launcher(self):
        path = shutil.which(f"mpirun.{self.library}") or shutil.which("mpirun")
        return [path] + (["--oversubscribe"] if self.library.startswith("openmpi") else [])

    def run(self, parts, timeout=120, options=(), before=()):
        """parts: (ranks, environment, command) each. Returns status, sorted lines of stdout, stderr."""
        line = [*before, *self.launcher(), *options]
        for i, (ranks, env, command) in enumerate(parts):
            line += ([":"] if i else []) + ["-n", str(ranks), "env", *[f"{k}={v}" for k, v in env.items()], *command]
        whole = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                     OMPI_MCA_btl_vader_backing_directory=os.environ.get("TMPDIR", "/tmp"))
        done = subprocess.run(line, env=whole, capture_output=True, text=True, timeout=timeout)
        return done.returncode, sorted(done.stdout.splitlines()), done.stderr

    def account(self, ranks, command, **env):
        """stdout and what --explain tells, as JSON: {} when no rank had anything to tell."""
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "account"
            env = dict(LD_PRELOAD=self.front, NIGH_EXPLAIN="json", NIGH_EXPLAIN_FILE=str(told), **env)
            status, out, err = self.run([(ranks, env, command)])
            expect(status == 0 and err == "", f"status {status}, stderr: {err}")
            text = told.read_text() if told.exists() else ""
        accounts = [json.loads(line) for line in text.splitlines()]
        return out, accounts

    def plain(self, ranks, command):
        """Without us, once for each program."""
        key = (ranks, *command)
        if key not in self.known:
            self.known[key] = self.run([(ranks, {}, command)])
            expect(self.known[key][0] == 0 and self.known[key][1], f"without nigh: {self.known[key]}")
        return self.known[key]

    def same(self, ranks, command, **env):
        """The same with and without; returns the accounts, which go to a file, so that stderr shows what is said."""
        plain = self.plain(ranks, command)
        out, accounts = self.account(ranks, command, **env)
        expect(out == plain[1], f"with nigh:\n{out}\nwithout:\n{plain[1]}")
        expect(len(accounts) >= 1, "no account")
        return accounts


def ours(account, function):
    return account.get("functions", {}).get(f"MPI_{function}", {}).get("ours", 0)


def expect_ours(account, *functions):
    for function in functions:
        expect(ours(account, function) > 0, f"no call of MPI_{function} was ours: {account}")


def languages(mpi, program, functions):
    for ranks in (2, 4):
        accounts = mpi.same(ranks, mpi.program(program))
        expect(len(accounts) == 1 and accounts[0]["sharing"] == ranks, f"accounts: {accounts}")
        expect_ours(accounts[0], *functions)


FORTRAN = ("Allreduce", "Bcast", "Barrier", "Reduce", "Comm_dup", "Comm_split", "Isend", "Sendrecv", "Iallreduce")


def case_c(mpi):
    languages(mpi, "calls", ("Allreduce", "Bcast", "Barrier", "Alltoall", "Allgather", "Isend", "Sendrecv", "Comm_split",
                             "Comm_dup", "Cart_create", "Cart_sub", "Comm_create_group", "Intercomm_create",
                             "Intercomm_merge", "Dist_graph_create_adjacent", "Sendrecv_replace"))
    calls = mpi.program("calls")
    mpi.same(3, calls + ["multiple"])
    quiet = mpi.run([(2, dict(LD_PRELOAD=mpi.front), calls)])
    expect(quiet == mpi.plain(2, calls), f"something is said by default: {quiet}")


def case_mpif(mpi):
    languages(mpi, "mpif", FORTRAN + ("Send", "Cart_create"))


def case_module(mpi):
    languages(mpi, "module", FORTRAN + ("Send", "Cart_create"))


def case_f08(mpi):
    languages(mpi, "f08", FORTRAN)


def case_switches(mpi):
    calls = mpi.program("calls")
    account = mpi.same(2, calls, NIGH_MPI_COLL="off")[0]
    expect(ours(account, "Allreduce") == 0 and ours(account, "Isend") > 0, f"NIGH_MPI_COLL=off: {account}")
    account = mpi.same(2, calls, NIGH_MPI_P2P="off")[0]
    expect(ours(account, "Allreduce") > 0 and ours(account, "Isend") == 0, f"NIGH_MPI_P2P=off: {account}")
    out, accounts = mpi.account(2, calls, NIGH_MPI="off")
    expect(out and not accounts, f"NIGH_MPI=off: {accounts}")
    # One rank without point-to-point: nobody sends it a descriptor.
    plain = mpi.plain(2, calls)
    mixed = mpi.run([(1, dict(LD_PRELOAD=mpi.front), calls),
                     (1, dict(LD_PRELOAD=mpi.front, NIGH_MPI_P2P="off"), calls)])
    expect(mixed == plain, f"one rank with NIGH_MPI_P2P=off: {mixed}")


def case_mixed(mpi):
    """Ranks with and without us in one job."""
    calls = mpi.program("calls")
    plain = mpi.plain(3, calls)
    for with_us in ((1, 0, 0), (0, 1, 1), (1, 0, 1)):
        parts = [(1, dict(LD_PRELOAD=mpi.front) if one else {}, calls) for one in with_us]
        expect(mpi.run(parts) == plain, f"ranks with us: {with_us}")


def case_nodes(mpi):
    """Ranks that pretend to sit on several nodes."""
    calls = mpi.program("calls")
    accounts = mpi.same(4, calls, NIGH_MPI_FAKE_NODES="2")
    expect(len(accounts) == 2 and all(a["sharing"] == 2 for a in accounts), f"two nodes: {accounts}")
    expect_ours(accounts[0], "Isend")
    accounts = mpi.same(4, calls, NIGH_MPI_FAKE_NODES="2", NIGH_MPI_HIERARCHY="1")
    expect_ours(accounts[0], "Allreduce", "Bcast", "Barrier", "Isend")
    mpi.same(3, calls, NIGH_MPI_FAKE_NODES="3", NIGH_MPI_HIERARCHY="1")


def case_tools(mpi):
    """PMPI tools see every call, wherever they are loaded, and their calls are ours."""
    calls, linked = mpi.program("calls"), mpi.program("linked")
    tool = str(mpi.programs / f"libtool-{mpi.library}.so")
    plain = mpi.run([(2, dict(LD_PRELOAD=tool), calls)])
    expect(any("tool saw" in line for line in plain[1]), f"the tool alone: {plain}")
    for preload, command in ((f"{tool}:{mpi.front}", calls), (f"{mpi.front}:{tool}", calls), (mpi.front, linked)):
        expect(mpi.run([(2, dict(LD_PRELOAD=preload), command)]) == plain, f"LD_PRELOAD={preload} {command}")
    _, accounts = mpi.account(2, linked)
    expect_ours(accounts[0], "Allreduce", "Isend")


def case_cost(mpi):
    """A call that is not ours costs one instruction more: the jump."""
    steps = mpi.program("steps")

    def count(**env):
        done = subprocess.run(steps, env=dict(os.environ, **env), capture_output=True, text=True, timeout=60)
        if not done.stdout.strip():
            raise Skip("this system lets no process step another")
        return int(done.stdout)

    plain, preloaded = count(), count(STEPS_PRELOAD=mpi.front)
    limit = 1 if os.uname().machine == "x86_64" else 3
    print(f"instructions of one call: {plain} without, {preloaded} with nigh")
    expect(0 <= preloaded - plain <= limit, f"{plain} instructions without, {preloaded} with nigh")


def case_broken(mpi):
    """No half, a torn half, another version's: the program runs as without us, and one line says why."""
    calls = mpi.program("calls")
    plain = mpi.plain(2, calls)
    half = f"libnigh-mpi-{mpi.library}.so"
    with tempfile.TemporaryDirectory() as folder:
        front = Path(folder) / "libnigh-mpi.so"
        shutil.copy(mpi.front, front)
        for what in ("missing", "torn", "foreign"):
            if what == "torn":
                (Path(folder) / half).write_bytes((mpi.libdir / half).read_bytes()[:20000])
            if what == "foreign":
                other = "mpich" if mpi.library == "openmpi" else "openmpi"
                if not (mpi.libdir / f"libnigh-mpi-{other}.so").exists():
                    continue
                shutil.copy(mpi.libdir / f"libnigh-mpi-{other}.so", Path(folder) / half)
            status, out, err = mpi.run([(2, dict(LD_PRELOAD=str(front)), calls)])
            expect((status, out) == plain[:2], f"{what} half: {status} {out} {err}")
            lines = err.splitlines()
            expect(len(lines) == 1 and lines[0].startswith("nigh: MPI runs as without nigh: "), f"{what} half: {err}")


def case_none(mpi):
    """No MPI library, one of few functions, one rank, a process that never calls MPI."""
    env = dict(os.environ, LD_PRELOAD=mpi.front)
    nothing = [str(mpi.programs / "nothing")]
    few = [str(mpi.programs / "few"), str(mpi.programs / "libfew-plugin.so")]
    for command in nothing, few:
        for where in dict(os.environ), env:
            done = subprocess.run(command, env=where, capture_output=True, text=True, timeout=20)
            expect((done.returncode, done.stdout, done.stderr) == (42, "", ""), f"weak references: {done}")
    done = subprocess.run([*nothing, "more"], env=env, capture_output=True, text=True, timeout=20)
    expect(done.returncode == -6 and "MPI_Barrier" in done.stderr, f"no library: {done}")
    done = subprocess.run([*few, "more"], env=env, capture_output=True, text=True, timeout=20)
    expect(done.returncode == -6 and "MPI_Send_c was called, but the MPI library" in done.stderr, f"few functions: {done}")
    done = subprocess.run(["/bin/echo", "word"], env=env, capture_output=True, text=True, timeout=20)
    expect((done.returncode, done.stdout, done.stderr) == (0, "word\n", ""), f"echo: {done}")
    reduce = mpi.program("f08")
    alone = subprocess.run(reduce, capture_output=True, text=True, timeout=30, env=dict(os.environ))
    with_us = subprocess.run(reduce, capture_output=True, text=True, timeout=30, env=env)
    expect((alone.returncode, alone.stdout, alone.stderr) == (with_us.returncode, with_us.stdout, with_us.stderr),
           f"one process: {alone} {with_us}")


def case_symbols(mpi):
    """A half takes nothing from outside but the C library and MPI, and shows one symbol."""
    half = mpi.libdir / f"libnigh-mpi-{mpi.library}.so"
    text = subprocess.run(["nm", "-D", half], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in text.splitlines()]
    shown = [line[-1] for line in lines if line[-2] in "TWVDBR" and len(line) == 3]
    expect(shown == ["nigh_mpi_half"], f"exports {shown}")
    wanted = [line[-1] for line in lines if line[-2] == "U" and "@GLIBC" not in line[-1] and "@GCC" not in line[-1]]
    strange = [name for name in wanted if not name.lower().startswith(("ompi_", "mpi_", "mpir_"))]
    expect(not strange, f"needs {strange}")


def case_line(mpi):
    """One line for the job, for people who look on; none where it was switched off."""
    program = mpi.program("account")
    env = dict(LD_PRELOAD=mpi.front, NIGH_EXPLAIN="line", NIGH_SPACE_SHARE="all")
    status, _, err = mpi.run([(2, env, program)])
    # A receiver that was late got a copy of what was sent to it.
    usual = r"nigh: 2 ranks; (35 %|2 %) of 307 kB in one copy(, 33 % in two)?; largest rest: 200 kB of MPI_Issend \(unshared\)\n"
    expect(status == 0 and re.fullmatch(usual, err), err)
    status, _, err = mpi.run([(2, dict(env, NIGH_MPI="off"), program)])
    expect(status == 0 and err == "", err)
    # Both libraries: the one for teams hands the wish on, and both tell in the form that was asked for.
    both = f"{mpi.front}:{Path(mpi.front).with_name('libnigh-openmp.so')}"
    status, _, err = mpi.run([(2, dict(env, LD_PRELOAD=both, NIGH_TEAMS="auto", NIGH_EXPLAIN="json"), program)])
    told = [json.loads(line) for line in err.splitlines()]
    expect(status == 0 and any("message_bytes" in one for one in told), err)


def case_account(mpi):
    """Bytes of each function, whoever moved them; one verdict; and an account of a job that ends early."""
    program = mpi.program("account")
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            told = mpi.account(2, program, NIGH_SPACE_SHARE="all")[1][0]
            files = mpi.account(2, program + ["files"], NIGH_SPACE_SHARE="all")[1][0]
        finally:
            os.chdir(before)
    functions = told["functions"]

    def moved(function, reason=None):
        row = functions.get(f"MPI_{function}", {})
        return row.get("bytes", 0) if reason is None else row.get("left_bytes", {}).get(reason, 0)

    want = {"Isend self": 200000, "Issend unshared": 200000, "Ssend": 100000, "Bcast": 1000, "Alltoall": 4000, "Alltoallv": 240,
            "Alltoallw": 240, "Reduce": 500, "Allreduce alone": 1400, "Put": 600, "Neighbor_allgather": 200,
            "Neighbor_alltoall uncovered": 60}
    seen = {key: moved(*key.split()) for key in want}
    expect(seen == want, f"bytes: {seen}, not {want}: {told}")
    messages = sum(want.values()) - 200000 - 1400  # to itself, alone
    one_copy = 100000 + 1000 + 4000 + 240 + 240 + 500 + 600 + 200
    copied = told["one_copy_bytes"] + told["two_copy_bytes"]  # twice where the receiver was late
    expect((told["message_bytes"], copied) == (messages, one_copy), f"{told} is not {messages}, {one_copy}")
    expect(told["verdict"].endswith("; largest rest: 200 kB of MPI_Issend (unshared)"), told["verdict"])
    written = files["functions"]["MPI_File_write_at_all"]
    expect(written["left_bytes"]["uncovered"] == 1200 and "File" not in files["verdict"], f"a file: {files}")
    for how, words in (("abort", "rank 1 called MPI_Abort"), ("exit", "rank 1 ended without MPI_Finalize")):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "account"
            env = dict(LD_PRELOAD=mpi.front, NIGH_EXPLAIN="json", NIGH_EXPLAIN_FILE=str(file), NIGH_SPACE_SHARE="all")
            status = mpi.run([(2, env, program + [how])])[0]
            lines = file.read_text().splitlines() if file.exists() else []
        expect(status != 0 and len(lines) == 1, f"{how}: status {status}, {len(lines)} accounts")
        early = json.loads(lines[0])
        expect(early.get("early") == words and early["functions"]["MPI_Ssend"]["bytes"] == 100000, f"{how}: {early}")


def recorded(mpi, words, **env):
    """way -> {(from, to): (bytes, messages)} of all communicators, and their names by rank; function -> (bytes, messages) that nigh carried."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(LD_PRELOAD=mpi.front, NIGH_RECORD=folder + "/here", **env)
        for job in ("1", "2"):  # the second job of the same size has a folder of its own
            status, _, err = mpi.run([(4, env, mpi.program("record") + words)])
            expect(status == 0 and err == "", f"status {status}: {err}")
        ways, names, carried = {}, {}, {}
        for rank in range(4):
            texts = [json.loads((Path(folder) / "here" / f"4-ranks-{job}" / f"rank-{rank}.json").read_text()) for job in (1, 2)]
            expect(texts[0]["communicators"] == texts[1]["communicators"], f"{texts[0]} and {texts[1]}")
            told = texts[0]
            expect((told["format"], told["version"], told["rank"], told["ranks"], told["complete"]) == ("nigh-rank", 2, rank, 4, True), told)
            expect(told.get("package", 0) >= 0, told)
            names[rank] = sorted(one["name"] for one in told["communicators"])
            for one in told["communicators"]:
                for way in ("point_to_point", "collective", "put", "get"):
                    for function, to, size, messages, ours, our_messages in ((name, *row) for name, rows in one.get(way, {}).items() for row in rows):
                        expect(ours <= size and our_messages <= messages, f"{function}: {ours} of {size}")
                        for sums, key, more in ((ways.setdefault(way, {}), (rank, to), (size, messages)), (carried, function, (ours, our_messages))):
                            before = sums.get(key, (0, 0))
                            sums[key] = (before[0] + more[0], before[1] + more[1])
        plan = subprocess.run([mpi.libdir.parent / "bin" / "nigh", "plan", "--json", "--nodes", "2", "--ranks", folder + "/here/4-ranks-1"],
                              capture_output=True, text=True)
        (Path(folder) / "here/4-ranks-2/rank-2.json").write_text("")  # as of a rank that was killed
        killed = subprocess.run([mpi.libdir.parent / "bin" / "nigh", "plan", "--ranks", folder + "/here/4-ranks-2"], capture_output=True, text=True)
        several = subprocess.run([mpi.libdir.parent / "bin" / "nigh", "plan", "--ranks", folder + "/here"], capture_output=True, text=True)
    expect(several.returncode == 1 and "holds 2 jobs: name one" in several.stderr, several.stderr)
    expect(killed.returncode == 1 and "rank 2 of 4 left no record" in killed.stderr, killed.stderr)
    expect(plan.returncode == 0, plan.stderr)
    total = sum(size for way in ways.values() for (a, b), (size, _) in way.items() if a != b)
    expect(json.loads(plan.stdout)["bytes"] == total, f"{plan.stdout[:300]}, not {total} bytes")
    return ways, names, carried


def case_times(mpi):
    """NIGH_RECORD: how long a rank is in which function, and when, whoever moves the messages."""
    for env in ({}, {"NIGH_MPI_P2P": "off", "NIGH_MPI_COLL": "off"}):
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = mpi.run([(2, dict(LD_PRELOAD=mpi.front, NIGH_RECORD=folder, **env), mpi.program("times"))])
            expect(status == 0 and err == "", f"status {status}: {err}")
            ranks = [json.loads((Path(folder) / "2-ranks-1" / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
        for told in ranks:
            expect(told["program"].startswith("times-") and told["minor_faults"] > 0 and told["peak_mib"] > 1, told)
            length, seconds = told["interval_seconds"], told["seconds"]
            # More than half of the intervals are in use: the run outlasts 512 of 1 ms.
            expect(length >= 0.002 and seconds <= 512 * length * 1.5 and 512 * length < 4 * seconds and 0.75 < seconds < 60, f"{length}, {seconds}")
            for name, one in told["functions"].items():
                expect(abs(sum(one["microseconds"]) / 1e6 - one["seconds"]) < 0.001, f"{name}: {one}")
                expect(one["longest_seconds"] <= one["seconds"] <= seconds, f"{name}: {one}")
            calls = {name: one["calls"] for name, one in told["functions"].items()}
            wanted = {"MPI_Barrier": 2, "MPI_Sendrecv": 100, "MPI_Allreduce": 1}
            expect(all(calls.get(name) == count for name, count in wanted.items()) and "MPI_Ssend" not in calls, calls)
            # All CPU time since the start, however it was spent: that of before MPI_Init is missing.
            cpu, whole = sum(told["cpu_microseconds"]) / 1e6, told["user_seconds"] + told["system_seconds"]
            expect(0 < cpu <= whole + 0.01 and len(told["cpu_microseconds"]) <= 512, f"{cpu} of {whole} s")
            expect(0 <= told["huge_mib"] <= told["resident_mib"] <= told["peak_mib"] + 1 and told["resident_mib"] > 1, told)
        # Rank 1 works for 0.15 s, rank 0 rests.
        expect(sum(ranks[1]["cpu_microseconds"]) >= 150000, ranks[1]["cpu_microseconds"])
        expect(sum(ranks[0]["cpu_microseconds"]) / 1e6 < ranks[0]["seconds"] - 0.7, ranks[0])
        waits = ranks[1]["functions"]
        # Rank 0 rests for 0.3, 0.4 and 0.1 s; where others want the CPU, rank 1 comes later.
        for name, least in (("MPI_Barrier", 0.15), ("MPI_Recv", 0.2), ("MPI_Allreduce", 0.02)):
            expect(waits[name]["longest_seconds"] > least, f"{name}: {waits[name]}")
        # The longest wait lies where it was: after the first barriers, before the last reduction.
        first = next(i for i, one in enumerate(waits["MPI_Recv"]["microseconds"]) if one > 0)
        expect((first + 1) * ranks[1]["interval_seconds"] > 0.3, f"{first}: {waits['MPI_Recv']}")
        expect(len(waits["MPI_Allreduce"]["microseconds"]) > first + 0.2 / ranks[1]["interval_seconds"], waits["MPI_Allreduce"])


def case_learned(mpi):
    """NIGH_SPACE_LEARNED: the second run of a program shares what the first one saw sent; what is sent no more is forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        def sent(*words, **env):
            out, accounts = mpi.account(2, mpi.program("learned") + list(words), NIGH_SPACE_SHARE="sent", NIGH_SPACE_HUGE="never",
                                           **{"NIGH_SPACE_LEARNED": folder, **env})
            expect(not out, out)
            told = accounts[0].get("functions", {}).get("MPI_Send", {})
            return told.get("ours", 0), told.get("unshared", 0)

        expect(sent(NIGH_SPACE_LEARNED="off") == (0, 20), "private without a folder")
        expect(not os.listdir(folder), os.listdir(folder))
        expect(sent() == (0, 20), "private in the first run")
        (name,) = os.listdir(folder)
        file = Path(folder, name)
        size = file.stat().st_size
        expect(size % 8 == 0 and 8 <= size <= 8 * 64 and file.stat().st_mode & 0o077 == 0, f"{size} bytes")
        expect(sent() == (20, 0), "shared in the second one")
        expect(file.stat().st_size <= 2 * size, "nothing new, but of the receiver")
        expect(sent("idle") == (0, 0) and sent() == (0, 20), "forgotten")
        expect(sent() == (20, 0), "learned again")
        # A file that is damaged, not ours to read, or no file is no help and no harm.
        for content in (b"", b"x" * 1001, os.urandom(4096), bytes(8 * 600)):
            file.write_bytes(content)
            expect(sum(sent()) == 20, f"{content[:20]}")
        file.write_bytes(b"\1" * (300 << 10))  # longer than any that we write: begun anew
        expect(sent() == (0, 20) and sent() == (20, 0) and file.stat().st_size < 4096, f"{file.stat().st_size}")
        file.unlink()
        file.symlink_to("/etc/passwd")
        expect(sent() == (0, 20) and file.is_symlink(), "links are not followed")
        file.unlink()
        os.mkfifo(file)
        expect(sent() == (0, 20), "a FIFO")
        expect(sent(NIGH_SPACE_LEARNED=folder + "/is/not/there") == (0, 20), "no folder")


def case_memory(mpi):
    """What memory costs. Blocks on trial: one size after the other has the same pages, which go back a little later. Large blocks of
    MPI_Alloc_mem: only what is touched. Blocks that are kept and sent once are not worth new shared pages, those whose pages are there
    already are shared. The two heaps do not both keep what is used by turns. And no huge pages are made of pages that were touched, by a
    call that may take 20 ms, as soon as the program begins."""
    first = dict(NIGH_SPACE_SHARE="sent", NIGH_SPACE_LEARNED="off")

    def told(*words, **env):
        out, accounts = mpi.account(2, [*mpi.program("memory"), *words], NIGH_SPACE_HUGE="never", **env)
        found = dict(re.findall(r"(\w+) (-?\d+)", "".join(out)))
        expect("faults" in found, out)
        return {name: int(value) for name, value in found.items()}, accounts

    def two(*words, **env):
        found, _ = told(*words, **env)
        return found["faults"], found["kept"]

    faults, kept = two("trials", **first)
    expect(faults < 256 + 300, f"{faults} page faults: all sizes together have some 1800 pages, the largest 256")
    expect(kept < 256, f"{kept} KiB are kept")
    found, _ = told("once", **first)
    expect(found["once"] < 42000, f"{found['once']} KiB are shared: 51200 are sent, each once")
    found, accounts = told("again", **first)
    expect(found["faults"] < 12000, f"{found['faults']} page faults: a block has 64")
    ours = sum(one["functions"].get("MPI_Send", {}).get("ours", 0) for one in accounts)
    expect(ours > 380, f"{ours} of 400 messages are ours: {accounts}")
    # What the library takes meanwhile varies by as much as a block on a busy machine, so the least of three runs counts.
    least = min(told("turns", **first)[0]["sent"] for _ in range(3))
    expect(least < 50000, f"{least} KiB: a block has 16384")
    faults, kept = two("sparse")
    expect(faults < 3000, f"{faults} page faults: 500 pages were touched, the blocks have 10240 each")
    expect(kept < 1024, f"{kept} KiB are kept")
    for huge, made in (("", False), ("lazy", True)):
        env = {"NIGH_SPACE_HUGE": huge} if huge else {}
        _, accounts = mpi.account(2, [*mpi.program("memory"), "send"], NIGH_SPACE_SHARE="all", **env)
        lines = [line for one in accounts for line in one["space"] if "huge pages made" in line]
        expect(bool(lines) == made, f"{huge}: {lines}")


def case_record(mpi):
    """NIGH_RECORD: who sends whom how much, with and without our own messages; and what nigh plan makes of it."""
    off = {"NIGH_MPI_P2P": "off", "NIGH_MPI_COLL": "off", "NIGH_MPI_RMA": "off"}
    for env in ({"NIGH_SPACE_SHARE": "all"}, off, {"NIGH_SPACE": "off"}):
        ways, names, carried = recorded(mpi, [], **env)
        want = {(0, 3): (50010, 2), (1, 2): (300, 1), (2, 1): (300, 1), **{(rank, rank ^ 2): (180210, 6) for rank in range(4)}}
        expect(ways["point_to_point"] == want, f"{env}: {ways['point_to_point']}")
        ring = {(rank, (rank + by) % 4): (9, 1) for rank in range(4) for by in (1, 3)}
        expect(ways["collective"] == ring, f"{env}: {ways['collective']}")
        expect((ways["put"], ways["get"]) == ({(3, 0): (600, 1)}, {(3, 1): (400, 1)}), f"{env}: {ways}")
        expect('a "pair" ?' in names[0] and "MPI_COMM_WORLD" in names[0], names)
        some = ("MPI_Isend", "MPI_Send_init", "MPI_Put", "MPI_Get", "MPI_Neighbor_alltoall") if env.get("NIGH_SPACE_SHARE") else ()
        all_of = {"MPI_Isend": (50000, 1), "MPI_Send_init": (4 * 180000, 12), "MPI_Put": (600, 1), "MPI_Get": (400, 1), "MPI_Send": (10, 1),
                  "MPI_Sendrecv": (600, 2), "MPI_Neighbor_alltoall": (72, 8)}
        want = {name: value if name in some else (0, 0) for name, value in all_of.items()}
        expect(carried == want, f"{env}: nigh carried {carried}, not {want}")
    sends = {}

    def add(a, b, size):
        if a != b:
            before = sends.get((a, b), (0, 0))
            sends[a, b] = (before[0] + size, before[1] + 1)

    status, _, err = mpi.run([(4, dict(LD_PRELOAD=mpi.front, NIGH_RECORD="/proc/nigh"), mpi.program("record"))])
    expect(status == 0 and err.count("can't be recorded: /proc/nigh: ") == 4, f"status {status}: {err}")
    ways, _, carried = recorded(mpi, ["collectives"])
    for rank in range(4):
        for other in range(4):
            add(1, other, 1) if rank == 1 else None  # Bcast
            add(0, other, 10 * (other + 1)) if rank == 0 else None  # Scatterv
            for size in (8, 7, 10 * (rank + 1), 200, 10 * (other + 1), 5):  # Allreduce, Allgather(v), Alltoall, w, v in place
                add(rank, other, size)
        add(rank, 2, 8)  # Reduce
        add(rank, 3, 100)  # Gather
        if rank < 3:
            add(rank, rank + 1, 4)  # Exscan
    expect(ways == {"collective": sends}, f"{ways['collective']}, not {sends}")
    sums = [sum(pair[i] for pair in carried.values()) for i in (0, 1)]
    expect(sums == [sum(pair[i] for pair in sends.values()) for i in (0, 1)], f"nigh carried {carried}")


def case_deaths(mpi):
    """A job that goes on when a rank dies (ULFM) is the library's; one sentence says so."""
    program = mpi.program("deaths")

    def ends(env):
        for _ in range(4):  # ULFM alone now and then waits for ever on a busy machine
            got = mpi.run([(3, env, program)], options=["--with-ft", "ulfm"], before=["timeout", "-k", "5", "15"])
            if got[0] not in (124, 137):
                return got
        raise Failed(f"four jobs with {env} did not end: {got}")

    without = ends({})
    expect(without[1] == ["2 of 3 go on"] * 2, f"without nigh: {without}")
    status, out, err = ends(dict(LD_PRELOAD=mpi.front))
    said = [line for line in err.splitlines() if line.startswith("nigh: ")]
    expect((status, out) == without[:2], f"status {status}: {out}, {err}")
    expect(len(said) == 1 and "may lose ranks and go on" in said[0], f"said: {err}")


def case_python(mpi):
    probe = subprocess.run([PYTHON, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
                           capture_output=True, text=True, timeout=60)
    kind = "openmpi" if "Open MPI" in probe.stdout else "mpich"
    if probe.returncode != 0 or kind != mpi.library:
        raise Skip(f"no mpi4py for {mpi.library}")
    for ranks in (2, 3):
        account = mpi.same(ranks, [PYTHON, str(HERE / "python.py")])[0]
        expect_ours(account, "Allreduce", "Comm_split")


def main():
    name, *rest = sys.argv[1:]
    try:
        globals()[f"case_{name}"](Mpi(*rest))
    except Skip as why:
        required = os.environ.get("NIGH_REQUIRE", "").split(",")
        must = "mpi" in required or "all" in required
        print(f"{'FAIL (NIGH_REQUIRE)' if must and name != 'python' else 'SKIP'}: {why}")
        return 1 if must and name != "python" else 77
    except Failed as what:
        print(f"FAIL: {what}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
