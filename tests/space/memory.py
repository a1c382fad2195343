#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank's memory must behave as without us. Each case of the program `cases` runs plain and with the library
# preloaded, and what it prints and how it ends must be the same; so must whole programs (python, bash, gcc).
# Then the places where the library has to stand aside: limits, refused system calls, sanitizers; and what
# others see: the size of a core, memory of a cgroup, a slot that is reachable through the file.
#   memory.py LIBRARY CASES SECTION [ONE-CASE]
import ctypes
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

LIBRARY, CASES, SECTION = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
ONLY = sys.argv[4] if len(sys.argv) > 4 else None
RANK = {"NIGH_RANK": "1", "NIGH_SIZE": "2"}
failures = []


def plain_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("NIGH_", "LD_PRELOAD"))}


def run(words, preloaded, extra=None, limit=None, cwd=None):
    env = plain_environment()
    if preloaded:
        env |= RANK | {"LD_PRELOAD": LIBRARY, "EXPECT_SHARED": "1"}
    env |= extra or {}
    done = subprocess.run(words, env=env, capture_output=True, timeout=120, preexec_fn=limit, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


def fail(text):
    failures.append(text)
    print("FAIL:", text)


def skip(what, why):
    print(f"SKIP: {why}")
    wanted = os.environ.get("NIGH_REQUIRE", "").split(",")
    sys.exit(1 if what in wanted or "all" in wanted else 77)


def same(name, words, extra=None):
    plain, ours = run(words, False), run(words, True, extra)
    if plain != ours or plain[0] != 0:
        fail(f"{name}: plain {plain}, with the library {ours}")


def cases():
    return [ONLY] if ONLY else run([CASES, "--list"], False)[1].decode().split()


def section_cases(extra=None):
    for name in cases():
        same(name, [CASES, name], extra)


def section_data():
    """The same with static data shared, with huge pages at every occasion or none, and with libc's heap."""
    for name in cases():
        if name.startswith("fork") or "heap" in name or "libraries" in name:
            same(name, [CASES, name], {"NIGH_SHARE": "data"})
        if "jump" in name:
            same(name, [CASES, name], {"NIGH_SPACE_SHARE": "sent"})
        if name in ("fork_makes_a_copy", "advice_means_what_it_did"):
            same(name, [CASES, name], {"NIGH_SPACE_HUGE": "never"})


PYTHON = """
import json, multiprocessing, os, subprocess, threading
print(json.loads(json.dumps({"a": [1, 2.5, None]})), sum(range(100000)))
print(subprocess.run(["echo", "hello"], capture_output=True).stdout)
with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, range(-50, 0)))
out = []
threads = [threading.Thread(target=lambda i=i: out.append(len(bytearray(i * 100000)))) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(out))
pid = os.fork()
if pid == 0: os._exit(len([b"x" * 1000 for _ in range(1000)]) % 256)
print(os.waitpid(pid, 0)[1] >> 8)
"""
BASH = 'for i in 1 2 3; do echo $(echo $i | cat); done; (x=5; echo $x); ulimit -v 4000000; ls / | wc -l; f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 200; wait'


def section_programs():
    same("python", [sys.executable, "-c", PYTHON])
    same("bash", ["bash", "-c", BASH])
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "a.cpp")
        with open(source, "w") as file:
            file.write("#include <map>\n#include <regex>\nint main() { std::map<int, int> m; m[1] = 2; return m[1] - 2; }\n")
        same("gcc", ["g++", "-std=c++20", "-O1", source, "-o", os.path.join(folder, "a")])
        same("what gcc made", [os.path.join(folder, "a")])
    same("make", ["make", "--version"])
    if shutil.which("perl"):
        same("perl", ["perl", "-e", 'my %h; $h{$_} = "x" x $_ for 1..3000; print scalar(keys %h), "\\n"; print `echo hi`'])


def aside(name, expected_shared, limit=None, extra=None):
    """The heap case says where the heap is."""
    expect = {"EXPECT_SHARED": "1" if expected_shared else "0"} | (extra or {})
    got = run([CASES, "heap_is_where_it_should_be"], True, expect, limit)
    if got != (0, b"ok\n"):
        fail(f"{name}: {got}")
    got = run([CASES, "advice_means_what_it_did"], True, expect, limit)
    if got != (0, b"ok\n"):
        fail(f"{name}, advice: {got}")


def section_limits():
    gib = 1 << 30
    set_to = lambda what, value: lambda: resource.setrlimit(what, (value, value))
    aside("nothing forbids", True)
    aside("asked off", False, extra={"NIGH_SPACE": "off"})
    aside("no rank", False, extra={"NIGH_RANK": "", "NIGH_SIZE": ""})
    aside("rank beyond size", False, extra={"NIGH_RANK": "2"})
    aside("limited address space", False, set_to(resource.RLIMIT_AS, 8 * gib))
    aside("limited data", False, set_to(resource.RLIMIT_DATA, 8 * gib))
    aside("limited files", False, set_to(resource.RLIMIT_FSIZE, 1 << 20))
    aside("large limit of files", True, set_to(resource.RLIMIT_FSIZE, 16 * gib))
    aside("no locked memory", True, set_to(resource.RLIMIT_MEMLOCK, 0))
    for size in (105, 106, 1024):
        for rank in (0, size - 1):
            aside(f"rank {rank} of {size}", True, extra={"NIGH_RANK": str(rank), "NIGH_SIZE": str(size)})
    aside("1025 ranks", False, extra={"NIGH_SIZE": "1025"})


def refuse(*numbers):
    """A seccomp filter that answers these system calls with EPERM."""
    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        code = [(0x20, 0, 0, 0)]  # load the number
        for index, number in enumerate(numbers):
            code.append((0x15, len(numbers) - index, 0, number))  # equal: to the end
        code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]  # allow; errno 1
        raw = b"".join(struct.pack("HBBI", *one) for one in code)
        buffer = ctypes.create_string_buffer(raw)
        program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
            os._exit(99)
    return install


def section_seccomp():
    if os.uname().machine != "x86_64":
        skip("x86", "the filter is written for x86-64's numbers")
    aside("memfd_create and fsopen refused", False, refuse(319, 430))
    aside("ftruncate refused", False, refuse(77))
    for name, number in (("fallocate", 285), ("statx", 332)):
        # Old kernels and strict containers; without statx the slot can't grow, but nothing breaks.
        for case in ("fork_makes_a_copy", "random_calls_against_a_model"):
            got = run([CASES, case], True, None, refuse(number))
            if got != (0, b"ok\n"):
                fail(f"{name} refused, {case}: {got}")


def section_huge():
    """Huge pages when blocks are touched, where a tmpfs of one's own is allowed; and nothing is left of it."""
    case, mounts = "large_blocks_are_touched_in_steps", open("/proc/self/mountinfo").read()

    def touched(name, huge, limit=None, **extra):
        got = run([CASES, case], True, {"EXPECT_HUGE": huge} | extra, limit)
        if got != (0, b"ok\n"):
            fail(f"{name}: {got}")

    touched("never", "0", NIGH_SPACE_HUGE="never")
    touched("lazy", "0", NIGH_SPACE_HUGE="lazy")
    if os.uname().machine == "x86_64":  # by the filter's numbers
        for name, number in (("fsopen", 430), ("fsmount", 432)):
            # The block is then collapsed as it is made, or not at all: what else it does is as ever.
            for one in (case, "fork_makes_a_copy", "random_calls_against_a_model"):
                got = run([CASES, one], True, {"NIGH_SPACE_HUGE": "touch"}, refuse(number))
                if got != (0, b"ok\n"):
                    fail(f"{name} refused, {one}: {got}")
    for name in cases():
        same(name, [CASES, name], {"NIGH_SPACE_HUGE": "eager"})
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0:
        skip("userns", "user namespaces are forbidden here")
    shmem = open("/sys/kernel/mm/transparent_hugepage/shmem_enabled").read()
    if "[deny]" in shmem:
        skip("huge", "the kernel denies huge pages of shared memory")
    touched("touch", "1", NIGH_SPACE_HUGE="touch")
    if open("/proc/self/mountinfo").read() != mounts:
        fail("a mount is left")


def section_core():
    """A core holds what it would hold without us: no slot of 512 GiB, but the heap."""
    pattern = open("/proc/sys/kernel/core_pattern").read().strip()
    if pattern.startswith("|") or "/" in pattern:
        skip("core", f"cores go elsewhere here: {pattern}")
    source = "import os, ctypes\nx = [os.urandom(1000) for _ in range(3000)]\nctypes.string_at(0)\n"
    sizes = []
    for preloaded in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            run([sys.executable, "-c", source], preloaded, None, lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 32, 1 << 32)), folder)
            cores = [os.path.join(folder, name) for name in os.listdir(folder)]
            if not cores:
                skip("core", "no core was written")
            sizes.append(os.stat(cores[0]).st_blocks * 512)
    print("core: bytes plain, with the library:", sizes)
    if not sizes[0] * 0.7 < sizes[1] < sizes[0] * 1.6 + (8 << 20):
        fail(f"core sizes {sizes}")


def section_cgroup():
    """Over the limit of a cgroup: as without us, killed by the kernel or refused, never SIGBUS."""
    base = next((p for p in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup") if os.path.exists(p + "/cgroup.procs")), None)
    group = f"{base}/nigh-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except (OSError, TypeError) as error:
        skip("cgroup", f"no cgroup can be made here: {error}")
    try:
        limit = group + ("/memory.limit_in_bytes" if base.endswith("memory") else "/memory.max")
        if not os.path.exists(limit):
            skip("cgroup", "cgroups have no memory controller here")
        with open(limit, "w") as file:
            file.write(str(200 << 20))
        enter = lambda: open(group + "/cgroup.procs", "w").write(str(os.getpid()))
        text = "x = []\nfor i in range(500): x.append(b'x' * (1 << 20))\nprint('all')"
        statuses = [run([sys.executable, "-c", text], p, None, enter)[0] for p in (False, True)]
        small = "x = [b'x' * (1 << 20) for i in range(100)]\nprint(len(x))"
        fits = [run([sys.executable, "-c", small], p, None, enter) for p in (False, True)]
        print("cgroup: too much ends with", statuses, "and what fits with", fits)
        if statuses[0] != statuses[1] or fits[0] != fits[1]:
            fail(f"cgroup: {statuses} {fits}")
    finally:
        os.rmdir(group)


def section_sanitizer():
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "a.cpp"), os.path.join(folder, "a")
        with open(source, "w") as file:
            file.write("#include <cstdio>\n#include <vector>\nint main() { std::vector<int> v(1000, 1); std::printf(\"%d\\n\", v[999]); }\n")
        for kind in ("address", "thread"):
            words = ["g++", "-g", f"-fsanitize={kind}", f"-static-lib{kind[0]}san", source, "-o", program]
            if subprocess.run(words, capture_output=True).returncode != 0:
                skip("sanitizers", f"no -fsanitize={kind} here")
            plain = run([program], False)
            if plain[0] != 0:
                print(f"note: -fsanitize={kind} itself does not run here: {plain}")
                continue
            same(f"-fsanitize={kind}", [program], {"ASAN_OPTIONS": "verify_asan_link_order=0"})


globals()["section_" + SECTION]()
print(f"{SECTION}: {len(failures)} failures")
sys.exit(1 if failures else 0)
