#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""check_programs.py FOLDER threads|ranks|messages: runs every benchmark program of that kind that was built, small, and looks at
what it reports.

A benchmark whose verification can't fail verifies nothing, so each program is also run where its teams can't have
the size asked for (OMP_THREAD_LIMIT=1): it must then say that it is not verified and exit with status 1. The
derivatives of the geothermal program must not depend on the teams or the compiler.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

CASES = {
    "nested-stream": (["1x1", "2x1", "1x2", "2x2", "3x2"], ["--bytes", "1000000", "--repetitions", "2"],
                      {"copy", "scale", "add", "triad"}),
    "nested-sync": (["1x1", "1x2", "2x2"], ["--quick", "--repetitions", "2"],
                    {"parallel", "barrier", "reduction", "for", "single"}),
    "nested-overhead": (["1", "2", "1x2"], ["--quick"], {"region", "region min"}),
    "geothermal": (["1x1", "2x1", "1x2", "2x2"],
                   ["--grid", "10x9x12", "--directions", "9", "--steps", "1"], {"solve"}),
}


def run(program, arguments, environment=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))}
    env.update(environment or {})
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)


def check_case(program, name, teams, arguments, wanted):
    done = run(program, ["--teams", teams, *arguments])
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    report = json.loads(done.stdout)
    assert report["program"] == name and report["verified"] is True and report["errors"] == [], done.stdout
    assert wanted <= {r["name"] for r in report["results"]}, done.stdout
    threads = 1
    for size in teams.split("x"):
        threads *= int(size)
    allowed = os.sched_getaffinity(0)
    assert len(report["placement"]) == threads and set(report["placement"]) <= allowed, done.stdout
    return report


def check_program(program, name):
    cases, arguments, wanted = CASES[name]
    derivatives = []
    for teams in cases:
        report = check_case(program, name, teams, arguments, wanted)
        derivatives.append(report.get("derivatives"))
    scale = max((abs(d) for d in derivatives[0] or [0]), default=0)
    for other in derivatives[1:]:
        assert other is None or max(abs(a - b) for a, b in zip(derivatives[0], other)) <= 1e-9 * scale
    starved = run(program, ["--teams", cases[-1], *arguments], {"OMP_THREAD_LIMIT": "1"})
    assert starved.returncode == 1, f"starved of threads, it exits {starved.returncode}: {starved.stdout}"
    assert json.loads(starved.stdout)["verified"] is False, starved.stdout
    refused = run(program, ["--teams", "2y2"])
    assert refused.returncode == 2 and "usage" in refused.stderr, f"a bad option gets {refused.returncode}"
    return derivatives[0]


def check_queues(program):
    """Every queue that is there must be right, and the one that swaps messages must be found out."""
    usage = run(program, ["--queue", "none"])
    assert usage.returncode == 2 and "queues:" in usage.stderr, f"no such queue: {usage.returncode} {usage.stderr}"
    names = usage.stderr.split("queues:")[1].replace(" (not installed)", "!").split()
    for name in names:
        done = run(program, ["--queue", name.rstrip("!"), "--teams", "2", "--quick"])
        if name.endswith("!"):
            assert done.returncode == 3 and "not installed" in done.stderr, f"{name}: {done.returncode} {done.stderr}"
            continue
        report = json.loads(done.stdout)
        right = name != "swaps"
        assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
        assert {r["name"] for r in report["results"]} <= {"pointer", "64 B message", "push"}, done.stdout


def check_alloc(program):
    """Nothing may be lost, blocks that are handed out twice must be found out, as must a malloc that is not the one."""
    for wrong in ([], ["--subject", "none"], ["--subject"], ["--subject", "ring", "--teams", "2"], ["--frob"]):
        done = run(program, wrong)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "usage" in done.stderr, f"{wrong}: {done.stderr}"
    for name in ("nigh", "ring", "glibc", "twice"):
        done = run(program, ["--subject", name, "--teams", "1", "--quick"])
        report = json.loads(done.stdout)
        right = name != "twice"
        assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
        kinds = {r["name"].split()[0] for r in report["results"]}
        assert kinds <= ({"remote", "local"} if name in ("nigh", "glibc") else {"remote"}), done.stdout
    for name in ("jemalloc", "mimalloc", "tcmalloc", "snmalloc"):
        done = run(program, ["--subject", name, "--quick"])
        assert done.returncode == 3 and f"{name} is not there" in done.stderr, f"{name}: {done.returncode} {done.stderr}"


def check_copy(program):
    """What is moved to a wrong place must be found out; each subject has its moves."""
    for wrong in ([], ["--subject", "none"], ["--subject"], ["--subject", "nigh", "--teams", "0"], ["--frob"]):
        done = run(program, wrong)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "usage" in done.stderr, f"{wrong}: {done.stderr}"
    everything, all_and = {"copy", "reorder", "transpose"}, {"copy", "reorder", "transpose", "in-place"}
    for name, moves in (("nigh", all_and), ("cycles", {"in-place"}), ("fftw", {"transpose", "in-place"}), ("nigh-cached", everything), ("nigh-streamed", everything), ("loop", everything),
                        ("prefetch", {"copy", "reorder"}), ("tiles", {"transpose"}), ("openblas", {"copy", "transpose"}),
                        ("memcpy", all_and), ("limit", all_and), ("nigh-spoiled", everything)):
        done = run(program, ["--subject", name, "--teams", "3", "--quick"])
        if name == "fftw" and done.returncode == 3:
            assert "without FFTW" in done.stderr, done.stderr
            continue
        report, right = json.loads(done.stdout), name != "nigh-spoiled"
        assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
        assert {r["name"].split()[0] for r in report["results"]} == moves, done.stdout
        assert all(r["value"] > 0 and r["unit"] == "MB/s" for r in report["results"]), done.stdout


def check_transpose(program):
    """Both libraries; a matrix that is not transposed must be found out."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for library in ("openmpi", "mpich"):
        one = program.with_name(f"transpose-{library}")
        if not one.exists():
            continue
        for wrong in ([], ["--subject", "none"], ["--subject", "nigh", "--teams", "2"], ["--frob"]):
            done = run(one, wrong, root)
            assert done.returncode == 2 and "usage" in done.stderr, f"{library} {wrong}: {done.returncode} {done.stderr}"
        everything = ("nigh", "nigh-heap", "nigh-spoiled", "three-steps", "pipelined", "alltoallw", "fftw-mpi-patient", "memcpy", "limit")
        for name in everything if library == "openmpi" else (*everything[:3], "fftw-mpi-patient"):
            done = run(pathlib.Path(shutil.which(f"mpirun.{library}")), ["-n", "2", one, "--subject", name, "--teams", "2", "--quick"], root)
            if name.startswith("fftw") and done.returncode == 3:
                assert "without FFTW" in done.stderr, f"{library} {name}: {done.stderr}"
                continue
            report, right = json.loads(done.stdout.splitlines()[0]), name != "nigh-spoiled"
            assert (done.returncode == 0) is right and report["verified"] is right, f"{library} {name}: {done.stdout}"
            assert {r["name"] for r in report["results"]} == {"2048x2048", "1000x1000"}, done.stdout


def check_fft(program):
    """Both libraries; a wrong element must be found out."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for library in ("openmpi", "mpich"):
        one = program.with_name(f"fft-{library}")
        if not one.exists():
            continue
        for wrong in ([], ["--subject", "none"], ["--subject", "nigh", "--teams", "2"], ["--frob"]):
            done = run(one, wrong, root)
            assert done.returncode == 2 and "usage" in done.stderr, f"{library} {wrong}: {done.returncode} {done.stderr}"
        everything = ("nigh", "nigh-spoiled", "nigh-transposed", "fftw-mpi-transposed")
        for name in everything if library == "openmpi" else everything[:2]:
            done = run(pathlib.Path(shutil.which(f"mpirun.{library}")), ["-n", "2", one, "--subject", name, "--teams", "2", "--quick"], root)
            report, right = json.loads(done.stdout.splitlines()[0]), name != "nigh-spoiled"
            assert (done.returncode == 0) is right and report["verified"] is right, f"{library} {name}: {done.stdout}"
            assert {r["name"] for r in report["results"]} == {"1024x1024", "64x64x64"}, done.stdout


def check_kneighbor(program):
    """A payload that changes on its way must be found out; MPI is there with its library."""
    for wrong in (["--subject", "none"], ["--subject"], ["--teams", "3"], ["--teams", "16"], ["--frob"]):
        done = run(program, wrong)
        assert done.returncode == 2 and "usage" in done.stderr, f"{wrong}: {done.returncode} {done.stderr}"
    for name in ("nigh-threads", "nigh-posix-shm", "nigh-spoiled"):
        for pes in ("1", "2", "4"):
            done = run(program, ["--subject", name, "--teams", pes, "--quick"])
            report, right = json.loads(done.stdout), name != "nigh-spoiled"
            assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
            assert len(report["results"]) == 6, f"{name} {pes}: {done.stdout}"
            crowded = int(pes) > len(os.sched_getaffinity(0))
            assert (report["core_state"] == "n/a") is (pes == "1" or crowded), f"{name} {pes}: {done.stdout}"
    for library in ("openmpi", "mpich"):
        name = f"mpi-{library}"
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = run(program, ["--subject", name, "--teams", "2", "--quick"], root)
        if program.with_name(f"kneighbor-{library}").exists():
            assert done.returncode == 0 and json.loads(done.stdout)["verified"], f"{name}: {done.stderr}"
        else:
            assert done.returncode == 2 and "not built" in done.stderr, f"{name}: {done.returncode} {done.stderr}"
    for build in ("multicore", "netlrts", "netlrts-smp", "pxshm", "mpi"):
        variable = "NIGH_CHARM_" + build.replace("-", "_").upper()
        done = run(program, ["--subject", f"charm-{build}"], {variable: ""})
        assert done.returncode == 2 and variable + " does not say" in done.stderr, f"Charm++ {build}: {done.stderr}"


def check_ours(program, names, teams):
    """The right ones and nigh-spoiled, which must be found out; both MPI libraries where they are."""
    for wrong in (["--subject", "none"], ["--teams", "0"], ["--frob"]):
        done = run(program, wrong)
        assert done.returncode == 2 and "usage" in done.stderr, f"{wrong}: {done.returncode} {done.stderr}"
    for name in (*names, "nigh-spoiled"):
        done = run(program, ["--subject", name, "--teams", teams, "--quick"])
        report, right = json.loads(done.stdout), name != "nigh-spoiled"
        assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
        assert all(one["value"] > 0 for one in report["results"]), done.stdout
    for library in ("openmpi", "mpich"):
        if program.with_name(f"{program.name}-{library}").exists():
            root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            done = run(program, ["--subject", f"mpi-{library}", "--teams", "2", "--quick"], root)
            assert done.returncode == 0 and json.loads(done.stdout)["verified"], f"{library}: {done.stderr}"


def check_two(program):
    check_ours(program, ("nigh-threads", "nigh-posix-shm"), "2")


def check_lonely(program):
    check_ours(program, ("nigh-threads", "nigh-posix-shm", "model-apart", "model-side-by-side"), "3")


def check_moving(program):
    """To the last bit, on any number of PEs, moving or not; a change of 1e-13 must be found out."""
    for wrong in (["--subject", "none"], ["--teams", "0"], ["--frob"]):
        done = run(program, wrong)
        assert done.returncode == 2 and "usage" in done.stderr, f"{wrong}: {done.returncode} {done.stderr}"
    for name, pes in (("nigh-threads", "1"), ("nigh-threads", "2"), ("nigh-threads", "5"), ("nigh-fixed", "3"), ("nigh-posix-shm", "3"), ("nigh-spoiled", "2")):
        done = run(program, ["--subject", name, "--teams", pes, "--quick"])
        report, right = json.loads(done.stdout), name != "nigh-spoiled"
        assert done.returncode == (0 if right else 1) and report["verified"] is right, f"{name}: {done.stdout}"
    for library in ("openmpi", "mpich"):
        if program.with_name(f"{program.name}-{library}").exists():
            root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            done = run(program, ["--subject", f"mpi-{library}", "--teams", "2", "--quick"], root)
            assert done.returncode == 0 and json.loads(done.stdout)["verified"], f"{library}: {done.stderr}"


OTHERS = {
    "threads": {"queues": check_queues, "alloc": check_alloc, "copy": check_copy},
    "ranks": {"transpose": check_transpose, "fft": check_fft},
    "messages": {"kneighbor": check_kneighbor, "stencil": check_moving, "molecules": check_moving, "pingpong": check_two,
                 "self-message": check_lonely},
}


def main():
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    reference, failures, count = None, 0, 0
    for name in CASES if kind == "threads" else ():
        for runtime in ("libgomp", "libomp"):
            program = folder / f"{name}-{runtime}"
            if not program.exists():
                required = runtime in os.environ.get("NIGH_REQUIRE", "").split(",")
                failures += required
                print(f"{'FAIL' if required else 'SKIP'} {program.name}: its compiler is not installed")
                continue
            try:
                found = check_program(program, name)
                if found and reference:
                    scale = max(map(abs, reference))
                    assert max(abs(a - b) for a, b in zip(found, reference)) <= 1e-7 * scale, "compilers disagree"
                reference = reference or found
                count += 1
                print(f"ok   {program.name}")
            except (AssertionError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
                failures += 1
                print(f"FAIL {program.name}: {error}")
    for name, check in OTHERS[kind].items():
        try:
            check(folder / name)
            count += 1
            print(f"ok   {name}")
        except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
            failures += 1
            print(f"FAIL {name}: {error}")
    assert count + failures > 0, f"no benchmark program in {folder}"
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
