# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""model_case.py BUILD FORM: what the model of the transpose predicts on hosts of one machine, against what was measured
there: `nigh machine --probe-mpi` once, then `nigh bench transpose-steps` for every ranks x threads of a node, in rounds.
Printed for each point; in the end the median error, and what the model's choice loses against the best.

What the choice loses is told twice. Against the lowest median of all rounds it is never too small: noise makes some way look
the best. Against the way that was the best in one half of the rounds, compared in the other half (and the other way round),
it is rather too small, and may be below zero. Beside each stands how far apart the rounds were.

FORM `short` is for `make verify` and `make show`, `long` for `make model`; NIGH_MODEL_RECORD names a file for what was measured,
which `nigh report --bench` draws. Inside a bed it is called with `inside`, and does the work."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testing import Failed, bed, check, main, skip

BUILD = Path(sys.argv[1]).resolve()
NIGH = BUILD / "bin" / "nigh"
LIBRARY = "openmpi"
MPIRUN = f"mpirun.{LIBRARY}"
# hosts, slots of each, link, shapes, rounds. Links have to be what takes long: all hosts have the same CPUs. The same link with
# 2, 3 and 4 hosts is what the picture of scaling is drawn from.
SCALING = ["1024x1024", "1500x1000"]
FORMS = {
    "short": [(2, 2, "--rate 300mbit", ["512x512", "1000x600", "1024x1024"], 2),
              (3, 2, "--rate 300mbit", ["1024x1024"], 1), (4, 2, "--rate 300mbit", ["1024x1024"], 1)],
    "long": [(2, 4, "--rate 300mbit", ["512x512", "600x1000", "1024x1024", "1000x1037", "2048x1024"], 4),
             (2, 4, "--rate 200mbit", ["512x512", "1000x1037", "1500x1000"], 4),
             (2, 2, "--rate 300mbit --delay 100us", ["512x512", "1024x1024", "1500x1000"], 4),
             *((hosts, 2, "--rate 300mbit", SCALING, 4) for hosts in (2, 3, 4)),
             # Nothing of the model or the probe was made with these two in sight.
             (3, 3, "--rate 150mbit", ["720x480", "900x1100", "1280x1024"], 4),
             (2, 3, "--rate 120mbit --delay 60us", ["400x640", "768x768", "1300x700"], 4)],
}
# A port of the switch holds 50 ms of its rate; senders with more under way would measure the loss there.
BUFFERS = ["env", "OMPI_MCA_btl_tcp_sndbuf=131072", "OMPI_MCA_btl_tcp_rcvbuf=131072"]
# The bounds that the model has to hold, and, among other tests on a busy machine, those that show that it is
# the model of this bed at all.
MOST_ERROR, MOST_LOSS = {"short": (0.35, 0.25), "long": (0.15, 0.05)}[sys.argv[2]] if sys.argv[2] != "inside" else (0, 0)


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def output(*words):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True)
    check(done.returncode == 0, f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def ways(cores):
    return [(r, cores // r) for r in range(1, cores + 1) if cores % r == 0]


def inside(hosts, cores, shapes, rounds):
    """In the first host: measures, and prints one document. Ways are in turn, so that what disturbs, disturbs all."""
    probe = json.loads(output(NIGH, "machine", "--probe-mpi", "--json", "--", MPIRUN, "-n", hosts * cores))
    measured = []
    for _ in range(rounds):
        measured.append([])
        for ranks, threads in ways(cores):
            told = output(NIGH, "bench", "transpose-steps", "--json", "--library", LIBRARY, "--size", ",".join(shapes), "--threads", threads,
                          "--samples", 5, "--", MPIRUN, "--map-by", f"ppr:{ranks}:node", "-n", hosts * ranks)
            document = json.loads(told)
            check(any("--probe-mpi" in line for line in document["machine"]["rests_on"]), f"not predicted by the probe: {told}")
            measured[-1] += document["records"]
    print(json.dumps({"hosts": hosts, "cores": cores, "probe": probe, "rounds": measured}))


class Point:
    """A shape by a way and a method: its time in each round, s, and what was predicted."""
    def __init__(self, key):
        self.shape, self.teams, self.method = key
        self.rounds, self.predicted = [], 0

    @property
    def measured(self):
        return median(self.rounds)

    @property
    def name(self):
        return f"{self.teams} {self.method}"


def points(document):
    found = {}
    for one_round in document["rounds"]:
        for record in one_round:
            if record["result"] == "total":
                point = found.setdefault(key := (record["shape"], record["teams"], record["runtime"]), Point(key))
                if record["subject"] == "measured":
                    point.rounds.append(record["median"])
                else:
                    point.predicted = record["median"]
    return list(found.values())


def apart(of_shape, chosen):
    """What the choice loses against the best of some rounds in the other rounds."""
    rounds = range(len(chosen.rounds))
    halves = [[r for r in rounds if r % 2 == half] for half in (0, 1)] if len(rounds) > 1 else [rounds, rounds]
    losses = []
    for find, compare in (halves, halves[::-1]):
        best = min(of_shape, key=lambda p: median([p.rounds[r] for r in find]))
        losses.append(median([chosen.rounds[r] for r in compare]) / median([best.rounds[r] for r in compare]) - 1)
    return sum(losses) / 2


def compared(document):
    """Prints a line for each point; the relative errors, and of each shape what the model's choice loses."""
    all_points = points(document)
    errors, losses, losses_apart = [], [], []
    for shape in dict.fromkeys(p.shape for p in all_points):
        of_shape = [p for p in all_points if p.shape == shape]
        for p in of_shape:
            error = p.predicted / p.measured - 1
            errors.append(abs(error))
            print(f"{document['hosts']:>5}  {shape:>10}  {p.teams:>5} {p.method:<11} {p.measured:9.1f} ({min(p.rounds):.1f} to "
                  f"{max(p.rounds):.1f}) {p.predicted:9.1f} {error * 100:+7.1f} %")
        best, chosen = min(of_shape, key=lambda p: p.measured), min(of_shape, key=lambda p: p.predicted)
        losses.append(chosen.measured / best.measured - 1)
        losses_apart.append(apart(of_shape, chosen))
        each = [c / b - 1 for c, b in zip(chosen.rounds, best.rounds)]
        print(f"{'':>5}  {shape:>10}  chosen {chosen.name}, best {best.name}: loses {losses[-1] * 100:.1f} % (halves apart "
              f"{losses_apart[-1] * 100:.1f}; in single rounds {min(each) * 100:.1f} to {max(each) * 100:.1f} %)")
    return errors, losses, losses_apart


def records(documents):
    """As benchmarks leave them (docs/interfaces.md), for nigh report --bench: medians over the rounds."""
    out = []
    for document in documents:
        found = {}
        for record in (r for one_round in document["rounds"] for r in one_round):
            key = tuple(record[k] for k in ("shape", "teams", "runtime", "result", "subject"))
            found.setdefault(key, []).append(record)
        for same in found.values():
            values = [r["median"] for r in same]
            out.append({**same[0], "case": f"{document['hosts']} hosts x {document['cores']} slots {document['link']}", "values": values,
                        "median": median(values), "low": min(values), "high": max(values), "samples": len(values)})
    where = f"a test bed of namespaces on one machine, whose hosts share {os.cpu_count()} CPUs (tests/hosts)"
    return {"format": "nigh-bench", "version": 1, "machine": {"where": where}, "records": out, "absent": []}


def told_of(name, errors, losses, losses_apart):
    print(f"{name}: {len(errors)} points: median error {median(errors) * 100:.1f} %, the largest {max(errors) * 100:.1f} %; the "
          f"choice loses {median(losses) * 100:.1f} % (median of {len(losses)} shapes), at most {max(losses) * 100:.1f} %; "
          f"{sum(x > 0.05 for x in losses)} lose more than 5 %; halves apart: median {median(losses_apart) * 100:.1f} %, "
          f"at most {max(losses_apart) * 100:.1f} %")


def run(form):
    errors, losses, losses_apart, documents = [], [], [], []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for hosts, cores, link, shapes, rounds in FORMS[form]:
            print(f"{hosts} hosts x {cores} slots, {link}\nhosts       shape  ranks x threads    measured ms (of the rounds)  predicted")
            told = bed(BUILD, f"-n {hosts} --slots {cores} {link}",
                       [*BUFFERS, sys.executable, Path(__file__).resolve(), BUILD, "inside", hosts, cores, rounds, *shapes], 300)
            check(told.status == 0, f"in the bed: {told}")
            document = json.loads(told.out.splitlines()[-1])
            document["link"] = link
            print(f"measuring took {document['probe']['seconds']:.2f} s; {'; '.join(document['probe']['notes'])}")
            more, lost, lost_apart = compared(document)
            told_of(f"{hosts} hosts x {cores} slots {link}", more, lost, lost_apart)
            errors += more
            losses += lost
            losses_apart += lost_apart
            documents.append(document)
    told_of("all", errors, losses, losses_apart)
    if record := os.environ.get("NIGH_MODEL_RECORD"):
        Path(record).write_text(json.dumps(records(documents), indent=1))
    return errors, losses


def test():
    try:
        os.nice(-15)  # what else runs here has these CPUs, too
    except OSError:
        pass
    if not (BUILD / "bench" / f"mpi-steps-{LIBRARY}").exists():
        skip(f"mpi-steps-{LIBRARY} was not built", "mpi")
    form = sys.argv[2]
    if form == "long" and not os.environ.get("NIGH_SOAK"):
        print("SKIP: the long form runs in make model and make soak")
        sys.exit(77)
    for last in (False, False, True):
        try:
            errors, losses = run(form)
            check(len(errors) >= (18 if form == "short" else 60), f"only {len(errors)} points")
            check(median(errors) < MOST_ERROR, f"the median error is {median(errors) * 100:.1f} %")
            check(median(losses) <= MOST_LOSS, f"the choice loses {median(losses) * 100:.1f} %")
            return
        except Failed as failed:  # a busy machine spoils some, what is wrong spoils all
            if last:
                raise
            print(f"once more: {failed}")


if sys.argv[2] == "inside":
    main(lambda: inside(int(sys.argv[3]), int(sys.argv[4]), sys.argv[6:], int(sys.argv[5])))
else:
    main(test)
