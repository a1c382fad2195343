#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""programs.py [PROGRAM..]: real programs (programs.toml) with and without nigh, by turns, until the ratio is known.

Each round runs every subject once, in another order. A round counts if other processes took less than 3 % of the CPU
time there was meanwhile (steal counts as theirs); else it is repeated. The ratio of a subject is the median over the rounds of its
time by that of `alone`, with the interval that holds the true median in 95 of 100 cases (order statistics); rounds end
when it is narrow, or at --rounds. Results must be the same in all runs. One more run of each subject, not timed, samples
its memory (PSS, summed over the job), and with nigh gives the account: the shares of calls and of bytes that were ours.

Subjects: alone; hugepages, alone with GLIBC_TUNABLES=glibc.malloc.hugetlb=1, so that what huge pages bring is not
credited to messages; nigh, `nigh run --`, which is told nothing of messages or threads.
"""
import argparse
import itertools
import json
import math
import os
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CPUS = len(os.sched_getaffinity(0))
FOREIGN = 0.03  # of the CPU time there was
PATIENCE = 3  # repeats of a disturbed round
SUBJECTS = {
    "alone": ([], {}),
    "hugepages": ([], {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    "nigh": (["run", "--quiet", "--"], {}),
}


def busy_seconds():
    """CPU time that all processes have had, and that the host gave to others."""
    user, nice, system, _, _, irq, soft, steal = (int(word) for word in Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def descendants(pid):
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += [int(child) for child in Path(f"/proc/{one}/task/{task}/children").read_text().split()]
        except OSError:
            pass  # it has ended
    return found


def memory_of(pid):
    """KiB of the process and its descendants, shared pages counted once."""
    total = 0
    for one in descendants(pid):
        try:
            found = re.search(r"^Pss: +(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.M)
            total += int(found.group(1)) if found else 0
        except OSError:
            pass
    return total


def alike(one, other):
    """The same words; numbers may differ in their last digits, as many programs' do from run to run."""
    one, other = one.split(), other.split()
    return len(one) == len(other) and all(a == b or close(a, b) for a, b in zip(one, other))


def close(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return False


class Wrong(Exception):
    """A program failed, or had another result than before."""


class Program:
    def __init__(self, name, entry, library, ranks, nigh):
        self.name, self.entry, self.library, self.ranks, self.nigh = name, entry, library, ranks, nigh
        self.inputs = HERE / entry.get("folder", name)
        self.result = None

    def title(self):
        return f"{self.name} on {self.ranks} ranks" if self.ranks else self.name

    def build(self, folder):
        """Its folder, with what `build` makes there."""
        built = Path(folder) / "built"
        if self.inputs.is_dir():
            shutil.copytree(self.inputs, built)
        else:
            built.mkdir()
        if "build" in self.entry:
            subprocess.run([word.format(library=self.library) for word in shlex.split(self.entry["build"])], cwd=built, check=True)

    def run(self, subject, folder, sample=False):
        """One run: its figures. In a copy of the program's inputs."""
        where = Path(folder) / "run"
        shutil.rmtree(where, ignore_errors=True)
        shutil.copytree(Path(folder) / "built", where)
        words, variables = SUBJECTS[subject]
        crowded = ["--oversubscribe", "--bind-to", "none"] if self.ranks > CPUS else ["--bind-to", "core"]
        if self.library != "openmpi":
            crowded = []
        launcher = [f"mpirun.{self.library}", *crowded, "-n", str(self.ranks)] if self.ranks else []
        command = [*([str(self.nigh), *words] if words else []), *launcher, *shlex.split(self.entry["command"])]
        env = {**os.environ, **({"OMP_NUM_THREADS": "1"} if self.ranks else {}), "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **self.entry.get("environment", {}), **variables}
        if sample and words:
            env |= {"NIGH_EXPLAIN": "json", "NIGH_EXPLAIN_FILE": str(where / "account")}
        with open(where / "stdout", "wb") as out, open(where / "stderr", "wb") as err:
            busy, start = busy_seconds(), time.monotonic()
            child = subprocess.Popen(command, cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            most = [0]
            if sample:
                threading.Thread(target=self.watch, args=(child.pid, most), daemon=True).start()
            _, status, usage = os.wait4(child.pid, 0)
            wall, busy = time.monotonic() - start, busy_seconds() - busy
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            tail = (where / "stderr").read_text(errors="replace")[-600:]
            raise Wrong(f"{self.title()}, {subject}: exit {child.returncode}\n{tail}")
        cpu = usage.ru_utime + usage.ru_stime
        figures = {"wall": wall, "user": usage.ru_utime, "system": usage.ru_stime, "faults": usage.ru_minflt,
                   "foreign": max(0.0, busy - cpu) / (wall * CPUS)}
        self.compare(subject, where)
        if sample:
            figures["pss"] = most[0]
            figures |= covered(where / "account") if words else {}
        return figures

    @staticmethod
    def watch(pid, most):
        while os.path.exists(f"/proc/{pid}"):
            most[0] = max(most[0], memory_of(pid))
            time.sleep(0.05)

    def compare(self, subject, where):
        text = (where / self.entry.get("output", "stdout")).read_text(errors="replace")
        found = [re.search(self.entry["same"], line) for line in text.splitlines()]
        lines = [match.group(1) if match.re.groups else match.string for match in found if match]
        if not lines:
            raise Wrong(f"{self.name}: no line of its output matches {self.entry['same']!r}")
        if self.entry.get("any_order"):
            lines = sorted(set(lines))
        if self.result is None:
            self.result = lines
        wrong = next((pair for pair in zip(self.result, lines) if not alike(*pair)), None)
        if wrong is None and len(lines) != len(self.result):
            wrong = (f"{len(self.result)} lines", f"{len(lines)} lines")
        if wrong:
            raise Wrong(f"{self.title()}, {subject}: another result:\n  {wrong[0]}\n  {wrong[1]}")


def covered(account):
    """The share of counted calls that were ours, bytes of messages, and the share of these that went in one copy."""
    try:
        accounts = [json.loads(line) for line in account.read_text().splitlines()]
        found = next(one for one in accounts if "message_bytes" in one)
        functions = found["functions"].values()
    except (OSError, ValueError, KeyError, StopIteration):
        return {}
    ours = sum(f["ours"] for f in functions)
    calls = ours + sum(count for f in functions for reason, count in f.items() if reason not in ("ours", "bytes", "left_bytes"))
    share = found["one_copy_bytes"] / found["message_bytes"] if found["message_bytes"] else None
    return {"calls": ours / calls if calls else None, "bytes": found["message_bytes"], "share": share, "verdict": found["verdict"]}


def interval(ratios):
    """Median, and the order statistics around it that hold the true one in 95 of 100 cases."""
    ratios = sorted(ratios)
    out = max(0, math.floor((len(ratios) - 1.96 * math.sqrt(len(ratios))) / 2))
    return statistics.median(ratios), ratios[out], ratios[-1 - out]


def round_of(program, subjects, folder):
    for _ in range(PATIENCE):
        order = random.sample(subjects, len(subjects))
        figures = {subject: program.run(subject, folder) for subject in order}
        if all(f["foreign"] < FOREIGN for f in figures.values()):
            return figures
    for f in figures.values():
        f["disturbed"] = True
    return figures


def measure(program, options):
    subjects, rounds = options.subjects.split(","), []
    with tempfile.TemporaryDirectory(prefix="nigh-programs-") as folder:
        program.build(folder)
        extra = {subject: program.run(subject, folder, sample=True) for subject in subjects}
        while len(rounds) < options.rounds:
            rounds.append(round_of(program, subjects, folder))
            spreads = [interval([r[s]["wall"] / r["alone"]["wall"] for r in rounds])[1:] for s in subjects if s != "alone"]
            if len(rounds) >= 6 and all(high - low <= 2 * options.width for low, high in spreads):
                break
    record = {"program": program.name, "library": program.library, "ranks": program.ranks, "rounds": len(rounds),
              "disturbed": sum("disturbed" in r["alone"] for r in rounds), "subjects": {}}
    for subject in subjects:
        values = {key: statistics.median(r[subject][key] for r in rounds) for key in ("wall", "user", "system", "faults", "foreign")}
        values |= {key: extra[subject][key] for key in ("pss", "calls", "bytes", "share", "verdict") if key in extra[subject]}
        values["wall_ratio"] = interval([r[subject]["wall"] / r["alone"]["wall"] for r in rounds])
        values["cpu_ratio"] = interval([(r[subject]["user"] + r[subject]["system"]) / (r["alone"]["user"] + r["alone"]["system"]) for r in rounds])
        values["pss_ratio"] = extra[subject]["pss"] / max(1, extra["alone"]["pss"])
        record["subjects"][subject] = values
    return record


def show(record):
    ranks = f"{record['library']}, {record['ranks']} ranks, " if record["ranks"] else ""
    print(f"{record['program']}, {ranks}{record['rounds']} rounds, {record['disturbed']} disturbed")
    for subject, v in record["subjects"].items():
        wall, cpu = ("{:.3f} [{:.3f}, {:.3f}]".format(*v[key]) for key in ("wall_ratio", "cpu_ratio"))
        ours = f"\n    {v['verdict']}; {100 * v['calls']:.0f} % of calls ours" if v.get("calls") is not None else ""
        print(f"  {subject:10} {v['wall']:7.2f} s  user {v['user']:7.2f}  system {v['system']:6.2f}  faults {v['faults']:9.0f}  "
              f"PSS {v['pss'] / 1024:6.0f} MiB ({v['pss_ratio']:.2f})  wall {wall}  CPU {cpu}{ours}", flush=True)


def missing_packages(entries):
    wanted = sorted({package for entry in entries for package in entry["packages"]})
    return [p for p in wanted if subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", p], capture_output=True,
                                                text=True, check=False).stdout != "installed"]


def install(packages):
    print(f"programs: installing {' '.join(packages)}", flush=True)
    root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*root, "apt-get", "-qq", "update"], check=False)
    subprocess.run([*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "--no-install-recommends", "install",
                    *packages], check=True, stdout=subprocess.DEVNULL)


def verdict(record):
    _, low, high = record["subjects"]["nigh"]["wall_ratio"]
    return "faster" if high < 1 else "slower" if low > 1 else "no difference"


def table(records):
    """For the docs: times with nigh to times alone, by what nigh did there."""
    lines = ["| program | ranks | time alone | time ratio [95 %] | CPU time | memory (PSS) | messages in one copy | |", "|---|---|---|---|---|---|---|---|"]
    for record in sorted((r for r in records if "nigh" in r["subjects"]), key=lambda r: r["subjects"]["nigh"]["wall_ratio"][0]):
        alone, nigh = record["subjects"]["alone"], record["subjects"]["nigh"]
        share = f"{100 * nigh['share']:.0f} % of {nigh['bytes'] / 1e6:.0f} MB" if nigh.get("share") is not None else ""
        name = record["program"] + (f", {record['library']}" if record["ranks"] and record["library"] != "openmpi" else "")
        lines.append("| {} | {} | {:.2f} s | {:.3f} [{:.3f}, {:.3f}] | {:.3f} | {:.2f} | {} | {} |".format(
            name, record["ranks"] or "", alone["wall"], *nigh["wall_ratio"], nigh["cpu_ratio"][0], nigh["pss_ratio"], share, verdict(record)))
    return "\n".join(lines)


def rank_counts(entry, options):
    own = entry.get("ranks", [2])
    return [options.ranks] if options.ranks and own != [0] else own


def arguments():
    p = argparse.ArgumentParser("programs.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", nargs="*", help="only these (default: all)")
    p.add_argument("--subjects", default=",".join(SUBJECTS), help="default: %(default)s; alone must be one")
    p.add_argument("--ranks", type=int, help="with so many ranks (default: the program's)")
    p.add_argument("--rounds", type=int, default=25, help="at most (default: %(default)s)")
    p.add_argument("--width", type=float, default=0.015, help="half the width of the interval that is narrow enough (default: %(default)s)")
    p.add_argument("--short", action="store_true", help="the short programs only")
    p.add_argument("--most", type=float, metavar="RATIO", help="fail where nigh's wall time is surely above RATIO of alone's")
    p.add_argument("--install", action="store_true", help="install missing packages; else their programs are left out")
    p.add_argument("--nigh", type=Path, default=ROOT / "build/bin/nigh", help="default: %(default)s")
    p.add_argument("--table", type=Path, metavar="FILE", help="run nothing: records of --json as a table for the docs")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write the records there")
    return p.parse_args()


def main():
    options = arguments()
    if options.table:
        print(table(json.loads(options.table.read_text())["records"]))
        return 0
    programs = tomllib.loads((HERE / "programs.toml").read_text())
    unknown = [name for name in options.programs if name not in programs]
    subjects = options.subjects.split(",")
    if unknown or "alone" not in subjects or not set(subjects) <= set(SUBJECTS):
        sys.exit(f"programs: there is no program {unknown[0]!r}; there are {', '.join(programs)}" if unknown
                 else f"programs: --subjects is a list of {', '.join(SUBJECTS)}, with alone")
    if "nigh" in subjects and not options.nigh.exists():
        sys.exit(f"programs: {options.nigh} is not there: make build")
    chosen = {name: entry for name, entry in programs.items()
              if (name in options.programs or not options.programs) and (entry.get("short") or not options.short)}
    if options.install and (packages := missing_packages(chosen.values())):
        install(packages)
    records, wrong = [], 0
    for name, entry in chosen.items():
        if missing := missing_packages([entry]):
            print(f"{name}: left out, {' '.join(missing)} not installed (--install)")
            continue
        for library, ranks in itertools.product(entry.get("libraries", ["openmpi"]), rank_counts(entry, options)):
            try:
                records.append(measure(Program(name, entry, library, ranks, options.nigh), options))
            except Wrong as what:
                print(f"programs: {what}", flush=True)
                wrong += 1
                continue
            show(records[-1])
            slow = records[-1]["subjects"].get("nigh", {}).get("wall_ratio", (0, 0, 0))[1]
            if options.most and slow > options.most:
                print(f"programs: {name} on {ranks} ranks is slower with nigh: at least {slow:.3f} of its time alone", flush=True)
                wrong += 1
            if options.json:
                options.json.write_text(json.dumps({"format": "nigh-programs", "version": 1, "records": records}, indent=1) + "\n")
    return 1 if wrong else 0 if records else 77


if __name__ == "__main__":
    sys.exit(main())
