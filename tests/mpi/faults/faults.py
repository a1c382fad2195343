#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""faults.py CASE LIBRARY BUILD PROGRAMS: what goes wrong in jobs, with us preloaded: whatever the library alone does
(go on with right results, or end with an error) must be done with us too, in about the same time, with at most one
line of ours from each rank, and nothing left behind. Each case first runs the library alone."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from testing import Jobs, need, shared_memory, skip, tagged  # noqa: E402

CASES = {}


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


class Fault:
    def __init__(self, library, build, programs):
        self.jobs = Jobs(library, build)
        self.library, self.programs = library, Path(programs)
        self.rank = self.programs / f"{library}-rank"
        self.refuse = self.programs / "refuse"
        self.tool = self.programs / f"{library}-tool.so"
        self.failed = False

    def fail(self, why, result):
        print(f"FAIL: {why}\n  {result}")
        self.failed = True

    def compare(self, name, program, ours=1, ranks=2, limit=20, env=None, wrap=None, preload=None, **more):
        """`program` with and without us; `wrap` takes the preload and gives the rank's command instead."""
        mine = preload or self.jobs.preload()
        commands = []
        for what in (None, mine):
            if wrap:
                commands.append(self.jobs.command(wrap(what), ranks))
            else:
                commands.append(self.jobs.command(program, ranks, what))
        alone = self.jobs.run(commands[0], limit, env, **more)
        with_us = self.jobs.run(commands[1], limit if not alone.ended else alone.seconds * 4 + 12, env, **more)
        if alone.ended and not with_us.ended:
            self.fail(f"{name}: hangs with us, not alone", with_us)
        elif alone.ended and (alone.code == 0) != (with_us.code == 0) and not any(
            (self.jobs.run(commands[0], limit, env, **more).code == 0) == (with_us.code == 0)
            or (self.jobs.run(commands[1], limit, env, **more).code == 0) == (alone.code == 0)
            for _ in range(20)
        ):  # some faults end now this way, now that: whichever of the launcher and a rank comes first
            self.fail(f"{name}: status {with_us.code}, alone {alone.code}", with_us)
        right = [x for x in alone.text.splitlines() if x.startswith("right")]
        # The output of a rank of a job that ends badly may be lost on its way through the launcher.
        tries = 5 if alone.code != 0 else 0
        if right and right[0] not in with_us.text and not any(
            right[0] in self.jobs.run(commands[1], limit, env, **more).text for _ in range(tries)
        ):
            self.fail(f"{name}: lacks '{right[0]}', which the library alone gives", with_us)
        if "WRONG" in with_us.text and "WRONG" not in alone.text:
            self.fail(f"{name}: wrong data", with_us)
        if with_us.left:
            self.fail(f"{name}: left behind: {', '.join(with_us.left)}", with_us)
        if len(with_us.ours()) > ours * ranks:
            self.fail(f"{name}: {len(with_us.ours())} lines of ours", with_us)
        return alone, with_us


def phases(fault, *names, **more):
    for name in names:
        fault.compare(name, [fault.rank, name, 2], **more)


@case
def healthy(fault):
    for ranks in (1, 2, 4):
        _, with_us = fault.compare(f"{ranks} ranks", [fault.rank, "none", ranks], ranks=ranks, ours=0)
        if f"right {ranks}" not in with_us.text:
            fault.fail("the program doesn't even run", with_us)


@case
def killed_before_init(fault):
    phases(fault, "kill-before", ours=2)


@case
def killed_in_init(fault):
    for milliseconds in (1, 5, 10, 20, 40, 80):
        fault.compare(f"killed after {milliseconds} ms", [fault.rank, "kill-init", 2, milliseconds], ours=2)


@case
def killed_in_barrier(fault):
    phases(fault, "kill-barrier", "kill-small", ours=2)


@case
def killed_in_send(fault):
    phases(fault, "kill-send", ours=2)


@case
def killed_in_receive(fault):
    phases(fault, "kill-recv", "kill-waiting", ours=2)


@case
def killed_in_collective(fault):
    phases(fault, "kill-collective", ours=2)


@case
def killed_in_finalize(fault):
    phases(fault, "kill-finalize", ours=2)


@case
def ends(fault):
    phases(fault, "segv", "abort", "mpi-abort", "exit", ours=2)


@case
def never(fault):
    phases(fault, "never", limit=8, ours=2)


@case
def exec_in_rank(fault):
    phases(fault, "exec-before", "exec-during", "exec-after", limit=12, ours=2)


@case
def children(fault):
    phases(fault, "children", limit=60)


@case
def threads(fault):
    phases(fault, "threads")


def limited(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def limited_rank(fault, which, value):
    """Of the ranks alone: Open MPI's launcher under a limit of its own files dies, or hangs for ever."""
    inner = f"import os, resource, sys; resource.setrlimit({which}, ({value}, {value})); os.execvp(sys.argv[1], sys.argv[1:])"
    return lambda us: [sys.executable, "-c", inner] + (["env", f"LD_PRELOAD={us}"] if us else []) + [fault.rank, "none", 2]


@case
def limits(fault):
    gib = 1 << 30
    for name, which, value in (("RLIMIT_AS 3 GiB", resource.RLIMIT_AS, 3 * gib),
                               ("RLIMIT_DATA 2 GiB", resource.RLIMIT_DATA, 2 * gib),
                               ("RLIMIT_FSIZE 64 MiB", resource.RLIMIT_FSIZE, 64 << 20),
                               ("RLIMIT_FSIZE 1 MiB", resource.RLIMIT_FSIZE, 1 << 20),
                               ("RLIMIT_MEMLOCK 0", resource.RLIMIT_MEMLOCK, 0),
                               ("RLIMIT_NOFILE 48", resource.RLIMIT_NOFILE, 48),
                               ("RLIMIT_CORE 0", resource.RLIMIT_CORE, 0),
                               ("RLIMIT_STACK 1 MiB", resource.RLIMIT_STACK, 1 << 20)):
        fault.compare(name, None, wrap=limited_rank(fault, which, value))


@case
def exhausted(fault):
    for name, which in (("RLIMIT_AS", resource.RLIMIT_AS), ("RLIMIT_DATA", resource.RLIMIT_DATA)):
        fault.compare(name, [fault.rank, "exhaust", 2], preexec_fn=limited(which, 2 << 30), limit=40)


@case
def cgroup(fault):
    """Over the limit of a memory cgroup: the job ends, by whatever signal, and nobody waits for the dead."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root) / f"mpi-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(300 << 20))
            break
        except OSError:
            if group.is_dir():
                group.rmdir()
    else:
        skip("cgroup", "no memory cgroup can be made here")
    try:
        enter = f"echo $$ > {group}/cgroup.procs; exec "
        eat = "import sys; b = [bytearray(1 << 20) for _ in range(1000)]"
        wrap = lambda us: ["sh", "-c", enter + (f"env LD_PRELOAD={us} " if us else "") + f"python3 -c '{eat}'"]
        fault.compare("a rank over its cgroup's limit", None, wrap=wrap, limit=40, ours=2)
    finally:
        group.rmdir()


@case
def refused(fault):
    probe = subprocess.run([fault.refuse, "fallocate", "1", "true"], capture_output=True, text=True)
    if probe.returncode:
        skip("seccomp", probe.stderr.strip() or "no seccomp filters here")
    for calls in ("memfd_create", "socket", "sendmsg", "recvmsg", "pidfd_open", "fallocate", "ftruncate", "madvise",
                  "process_vm_readv", "futex_wait", "mremap", "sched_getaffinity", "memfd_create,socket,pidfd_open"):
        for error in (1, 38):  # EPERM, ENOSYS
            wrap = lambda us: (["env", f"REFUSE_PRELOAD={us}"] if us else []) + [fault.refuse, calls, error, fault.rank, "none", 2]
            fault.compare(f"{calls} refused with {error}", None, wrap=wrap)


@case
def some_ranks_only(fault):
    number = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    for who in (0, 1, 3):
        wrap = lambda us: ["sh", "-c", (f"[ {number} = {who} ] || export LD_PRELOAD={us}; " if us else "") + f"exec {fault.rank} twice 4"]
        fault.compare(f"all but rank {who}", None, wrap=wrap, ranks=4)
    wrap = lambda us: ["sh", "-c", (f"[ {number} = 2 ] && export LD_PRELOAD={us}; " if us else "") + f"exec {fault.rank} twice 4"]
    fault.compare("rank 2 only", None, wrap=wrap, ranks=4)


@case
def set_group_id(fault):
    """The loader preloads nothing of the user's into a set-group-ID program: such ranks are without us."""
    copy = fault.jobs.folder / "setgid"
    shutil.copy(fault.rank, copy)
    try:
        os.chown(copy, -1, 65534)
        copy.chmod(0o2755)
    except PermissionError:
        skip("root", "the group of a file can't be changed here")
    number = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    for who in ("0", number):
        wrap = lambda us: ["sh", "-c", (f"export LD_PRELOAD={us}; " if us else "") + f"[ {number} = {who} ] && exec {copy} twice 2; exec {fault.rank} twice 2"]
        fault.compare(f"rank {who} set-group-ID", None, limit=4, wrap=wrap)  # Open MPI hangs in it, alone too


@case
def two_of_us(fault):
    copy = fault.jobs.folder / "copy"
    copy.mkdir()
    for file in fault.jobs.lib.glob("libnigh-*.so"):
        shutil.copy(file, copy)
    other = copy / "libnigh-mpi.so"
    fault.compare("twice in one process", [fault.rank, "none", 2], preload=f"{fault.jobs.preload()}:{other}")
    fault.compare("with libnigh-space.so", [fault.rank, "none", 2], preload=f"{fault.jobs.lib}/libnigh-space.so:{fault.jobs.preload()}")
    fault.compare("before libnigh-space.so", [fault.rank, "none", 2], preload=f"{fault.jobs.preload()}:{fault.jobs.lib}/libnigh-space.so")
    number = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    wrap = lambda us: ["sh", "-c", (f"export LD_PRELOAD={us}; [ {number} = 0 ] && export LD_PRELOAD={other}; " if us else "") + f"exec {fault.rank} none 2"]
    fault.compare("from two folders", None, wrap=wrap)


@case
def halves_missing(fault):
    lone = fault.jobs.folder / "lone"
    lone.mkdir()
    shutil.copy(fault.jobs.preload(), lone)
    fault.compare("the front alone", [fault.rank, "none", 2], preload=lone / "libnigh-mpi.so")
    (lone / f"libnigh-mpi-{fault.library}.so").write_text("not a library\n")
    fault.compare("a half that is none", [fault.rank, "none", 2], preload=lone / "libnigh-mpi.so")


@case
def preload_order(fault):
    for name, order in (("a tool before us", f"{fault.tool}:{fault.jobs.preload()}"), ("a tool after us", f"{fault.jobs.preload()}:{fault.tool}")):
        alone = fault.jobs.run(fault.jobs.command([fault.rank, "none", 2], preload=fault.tool))
        with_us = fault.jobs.run(fault.jobs.command([fault.rank, "none", 2], preload=order))
        want = [x for x in alone.text.splitlines() if x.startswith("tool:")]
        if not want or want[0] not in with_us.text or "right 2" not in with_us.text:
            fault.fail(f"{name}: should say '{want}'", with_us)
    for other in ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"):
        found = subprocess.run(f"ldconfig -p | grep -o '/.*{other}$'", shell=True, capture_output=True, text=True).stdout.split()
        if found:
            fault.compare(f"{other} before us", [fault.rank, "none", 2], preload=f"{found[0]}:{fault.jobs.preload()}")
            fault.compare(f"{other} after us", [fault.rank, "none", 2], preload=f"{fault.jobs.preload()}:{found[0]}")


@case
def streams_closed(fault):
    for closed in ("<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        wrap = lambda us: ["sh", "-c", (f"export LD_PRELOAD={us}; " if us else "") + f"exec {fault.rank} none 2 {closed}"]
        fault.compare(f"rank with {closed}", None, wrap=wrap)


@case
def odd_environments(fault):
    program = [fault.rank, "none", 2]
    for env in ({"NIGH_SPACE": "off"}, {"NIGH_SPACE": "nonsense"}, {"NIGH_MPI": "off"}, {"NIGH_MPI": "nonsense"},
                {"NIGH_RANK": "-5", "NIGH_SIZE": "zero"}, {"NIGH_RANK": "7", "NIGH_SIZE": "2"}, {"NIGH_JOB": "x" * 5000},
                {"NIGH_SHARE": "data"}, {"NIGH_SHARE": "nonsense"}, {"MALLOC_ARENA_MAX": "1"}, {"MALLOC_PERTURB_": "85"},
                {"LC_ALL": "tr_TR.UTF-8"}, {"HOME": "/nowhere"}, {"LD_BIND_NOW": "1"}):
        fault.compare(f"with {env if 'NIGH_JOB' not in env else 'a long NIGH_JOB'}", program, env=env, ours=2)
    for env in ({"OMPI_COMM_WORLD_LOCAL_RANK": "garbage", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
                {"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "400000"}, {"PMI_RANK": "1", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "8"}):
        result = fault.jobs.run(["env", f"LD_PRELOAD={fault.jobs.preload()}", "sh", "-c", "ls / | sort | head -1"], env=env)
        if result.code != 0:
            fault.fail(f"a program that is no rank, with {env}", result)


def mounts():
    return {line for line in Path("/proc/self/mounts").read_text().splitlines() if "nigh" in line}


@case
def killed_as_a_whole(fault):
    """`nigh run`, launchers, ranks and all that they started get SIGKILL at once, at moments from the start of nigh on while one
    job follows the other: no name of ours is left in /dev/shm and TMPDIR, no mount, no process."""
    nigh = fault.jobs.build / "bin" / "nigh"
    command = [str(nigh), "run", "--", "sh", "-c", 'while "$@"; do :; done', "sh", *fault.jobs.command([fault.rank, "none", 2])]
    for milliseconds in (5, 15, 30, 50, 80, 120, 170, 230, 300, 400, 500, 650, 800, 1000):
        mark = f"NIGH_TESTRUN={uuid.uuid4().hex}"
        before = (shared_memory(), set(os.listdir(fault.jobs.folder)), mounts())
        environment = {**fault.jobs.environment(), "NIGH_TESTRUN": mark.split("=")[1],
                       "OMPI_MCA_btl_vader_backing_directory": str(fault.jobs.folder)}  # what the library leaves goes with it
        process = subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(milliseconds / 1000)
        if process.poll() is not None:
            fault.fail(f"the jobs ended by themselves with {process.returncode} within {milliseconds} ms", "")
        end = time.monotonic() + 20
        while (left := tagged(mark.encode())) and time.monotonic() < end:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        process.wait()
        now = (shared_memory(), {name for name in os.listdir(fault.jobs.folder) if "nigh" in name} | before[1], mounts())
        new = [sorted(after - then) for after, then in zip(now, before)]
        if left or any(new):
            fault.fail(f"killed after {milliseconds} ms: left {left} {new}", "")


@case
def full_shared_memory(fault):
    inner = "mount -t tmpfs -o size=64k none /dev/shm && exec "
    if subprocess.run(["unshare", "-m", "sh", "-c", inner + "true"], capture_output=True).returncode:
        skip("namespaces", "no mount namespace can be made here")
    mine = fault.jobs.preload()
    results = []
    for preload in (None, mine):
        command = fault.jobs.command([fault.rank, "none", 2], preload=preload)
        results.append(fault.jobs.run(["unshare", "-m", "sh", "-c", inner + '"$@"', "sh", *command]))
    alone, with_us = results
    if (alone.code == 0) != (with_us.code == 0):
        fault.fail(f"status {with_us.code}, alone {alone.code}", with_us)


def main():
    name, library, build, programs = sys.argv[1:5]
    if name == "list":
        print("\n".join(CASES))
        return 0
    need(library)
    fault = Fault(library, build, programs)
    try:
        CASES[name](fault)
    finally:
        fault.jobs.close()
    return 1 if fault.failed else 0


if __name__ == "__main__":
    sys.exit(main())
