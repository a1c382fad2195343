# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""model_case.py BUILD FORM: what the model of the transpose predicts on hosts of one machine, against what was measured
there: `nigh machine --probe-mpi`, then every ranks x threads of a node for some shapes, ours and the seed's three steps.
Printed for each point; in the end the median error, and what the choice of the model loses against the best.

FORM `short` is for `make test`, `long` for `make model`; NIGH_MODEL_RECORD names a file for what was measured, which
`nigh report --bench` draws. Inside a bed it is called with `inside`, and does the work."""

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
# hosts, slots of each, link, shapes, rounds. Links have to be what takes long: all hosts have the same CPUs.
FORMS = {
    "short": [(2, 4, "--rate 300mbit", ["512x512", "1000x600", "1024x1024", "1000x1037"], 1)],
    "long": [(2, 4, "--rate 300mbit", ["512x512", "600x1000", "1024x1024", "1000x1037", "2048x1024", "1500x1500"], 3),
             (2, 4, "--rate 200mbit", ["512x512", "1000x1037", "1024x1024", "1500x1000"], 3),
             (2, 2, "--rate 300mbit --delay 100us", ["512x512", "1024x1024", "1500x1000"], 3)],
}
# What a port of the switch holds is 50 ms of its rate; senders with more under way would measure what is lost there.
BUFFERS = ["env", "OMPI_MCA_btl_tcp_sndbuf=131072", "OMPI_MCA_btl_tcp_rcvbuf=131072"]
# What the model has to hold, and, among other tests on a busy machine, what shows that it is the model of this bed at all.
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
    """In the first host: measures, and prints one document."""
    probe = json.loads(output(NIGH, "machine", "--probe-mpi", "--json", "--", MPIRUN, "-n", hosts * cores))
    times = {}
    for _ in range(rounds):  # ways in turn, so that what disturbs, disturbs all
        for ranks, threads in ways(cores):
            told = output(MPIRUN, "--map-by", f"ppr:{ranks}:node", "-n", hosts * ranks, BUILD / "bench" / f"mpi-steps-{LIBRARY}",
                          "--threads", threads, "--passes", 7, *shapes)
            for line in told.splitlines():
                one = json.loads(line)
                check(one["verified"], f"not transposed: {line}")
                times.setdefault((f"{one['rows']}x{one['columns']}", ranks, threads, one["method"]), []).append(one["seconds"])
    measured = [{"shape": shape, "ranks": ranks, "threads": threads, "method": method,
                 "seconds": {step: median(t[step] for t in all_of) for step in all_of[0]}}
                for (shape, ranks, threads, method), all_of in times.items()]
    plans = {shape: json.loads(output(NIGH, "plan", "--transpose", shape, "--nodes", hosts, "--cores", cores, "--json"))
             for shape in shapes}
    print(json.dumps({"hosts": hosts, "cores": cores, "probe": probe, "measured": measured, "plans": plans}))


def predicted(plan, point):
    """The fastest number of panels of this way."""
    return min((w for w in plan["ways"] if (w["ranks"], w["threads"], w["method"]) ==
                (point["ranks"], point["threads"], point["method"])), key=lambda w: w["seconds"]["total"])


def compared(document):
    """Prints a line for each point; the relative errors, and of each shape what the model's choice loses."""
    errors, losses = [], []
    for shape, plan in document["plans"].items():
        points = [p for p in document["measured"] if p["shape"] == shape]
        for p in points:
            p["predicted"] = predicted(plan, p)["seconds"]
            error = p["predicted"]["total"] / p["seconds"]["total"] - 1
            errors.append(abs(error))
            print(f"{document['hosts']:>5}  {shape:>10}  {p['ranks']:>5} x {p['threads']:<3} {p['method']:<11} "
                  f"{p['seconds']['total'] * 1e3:9.1f} {p['predicted']['total'] * 1e3:9.1f} {error * 100:+7.1f} %")
        best = min(points, key=lambda p: p["seconds"]["total"])
        chosen = min(points, key=lambda p: p["predicted"]["total"])
        losses.append(chosen["seconds"]["total"] / best["seconds"]["total"] - 1)
        print(f"{'':>5}  {shape:>10}  chosen {chosen['ranks']} x {chosen['threads']} {chosen['method']}, best "
              f"{best['ranks']} x {best['threads']} {best['method']}: loses {losses[-1] * 100:.1f} %")
    return errors, losses


def records(documents):
    """As benchmarks leave them (docs/interfaces.md), for nigh report --bench."""
    out = []
    for document in documents:
        bed_of = f"{document['hosts']} hosts x {document['cores']} slots {document['link']}"
        for point in document["measured"]:
            rows, columns = (int(x) for x in point["shape"].split("x"))
            for subject, seconds in (("measured", point["seconds"]), ("predicted", point["predicted"])):
                for step, value in seconds.items():
                    ms = value * 1e3
                    out.append({"bench": "transpose-steps", "case": bed_of, "subject": subject, "size_bytes": 8 * rows * columns,
                                "unit": "ms", "median": ms, "low": ms, "high": ms, "samples": 1, "core_state": "n/a",
                                "placement": [], "verified": True, "teams": f"{point['ranks']}x{point['threads']}",
                                "runtime": point["method"], "result": step})
    where = f"a test bed of namespaces on one machine, whose hosts share {os.cpu_count()} CPUs (tests/hosts)"
    return {"format": "nigh-bench", "version": 1, "machine": {"where": where}, "records": out, "absent": []}


def run(form):
    errors, losses, documents = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for hosts, cores, link, shapes, rounds in FORMS[form]:
            print(f"{hosts} hosts x {cores} slots, {link}\nhosts       shape  ranks x threads      measured predicted ms")
            told = bed(BUILD, f"-n {hosts} --slots {cores} {link}",
                       [*BUFFERS, sys.executable, Path(__file__).resolve(), BUILD, "inside", hosts, cores, rounds, *shapes], 300)
            check(told.status == 0, f"in the bed: {told}")
            document = json.loads(told.out.splitlines()[-1])
            document["link"] = link
            print(f"measuring took {document['probe']['seconds']:.2f} s; {'; '.join(document['probe']['notes'])}")
            more, lost = compared(document)
            errors += more
            losses += lost
            documents.append(document)
    print(f"{len(errors)} points: median error {median(errors) * 100:.1f} %, the largest {max(errors) * 100:.1f} %; the choice "
          f"loses {median(losses) * 100:.1f} % (median of {len(losses)} shapes), at most {max(losses) * 100:.1f} %")
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
