# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Every format that the tool `nigh`, or a program that uses its libraries, reads of a user: a sound one, the command that
# reads it, and what can be known of damaged ones without reading them as nigh does.
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as tree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Format:
    name: str
    sound: bytes
    command: list[str]  # FILE: the damaged one, PAGE: what is written, TEXT (in a word): the damaged text, WORDS: its words
    suffix: str = ".json"
    environment: dict[str, str] = field(default_factory=dict)  # TEXT here, too
    place: Path | None = None  # where FILE has to lie, if that matters
    can_be_sound: object = None  # (bytes) -> bool; False: it must be refused, or the answer has the words `aside`
    aside: bytes = b""  # of what is only left out: the command goes on without it
    repair: object = None  # (bytes) -> bytes: the checksum made right again


def is_json(data: bytes) -> bool:
    def refuse(word):
        raise ValueError(word)
    try:
        json.loads(data.decode("utf-8"), parse_constant=refuse)
        return True
    except (ValueError, RecursionError):
        return False


def is_xml(data: bytes) -> bool:
    try:
        tree.fromstring(data)
        return True
    except (tree.ParseError, ValueError, LookupError):
        return False


def is_words(pattern: str):
    return lambda data: re.fullmatch(pattern, data.decode(errors="surrogateescape")) is not None


def ours(nigh: str, *words: str, **more) -> bytes:
    return subprocess.run([nigh, *words], capture_output=True, check=True, **more).stdout


def machines(nigh: str):
    plain = ours(nigh, "machine", "--model", "winterhawk2", "--json")
    yield Format("machine", plain, ["plan", "--teams", "2,scatter", "--machine", "FILE"], can_be_sound=is_json)
    yield Format("machine drawn", ours(nigh, "machine", "--model", "opteron-6272", "--json"),
                 ["machine", "--svg", "--machine", "FILE"], can_be_sound=is_json)
    yield Format("model", plain, ["plan", "--transpose", "99x99", "--machine", "FILE"], can_be_sound=is_json)
    yield Format("machine dry", plain, ["run", "--dry-run", "--json", "-n", "3", "--machine", "FILE", "--", "true"],
                 can_be_sound=is_json)
    for name in ("cxl-memory-only", "smt-n-plus-8", "node-around-a-part"):
        sound = (ROOT / "tests" / "machines" / f"{name}.xml").read_bytes()
        yield Format(f"hwloc {name}", sound, ["plan", "--teams", "2,scatter", "--machine", "FILE"], ".xml", can_be_sound=is_xml)
    page = ["report", "--no-run", "--machine", "FILE", "--out", "PAGE"]
    sound = re.sub(rb'(<object type="Machine"[^>]*>)', rb'\1<info name="CPUModel" value="a processor"/>', sound, count=1)
    yield Format("hwloc drawn", sound, ["machine", "--svg", "--machine", "FILE"], ".xml", can_be_sound=is_xml)
    yield Format("hwloc on the page", sound, page, ".xml", can_be_sound=is_xml)
    yield Format("hwloc shown", sound, ["machine", "--json", "--machine", "FILE"], ".xml", can_be_sound=is_xml)
    yield Format("synthetic", b"pack:2 numa:2 l3:1 core:4 pu:2", ["machine", "--machine", "synthetic:TEXT"])


def benches(nigh: str, folder: Path):
    record = {"bench": "nested-stream", "case": "2x1 triad libgomp", "subject": "nigh", "size_bytes": 8, "unit": "MB/s",
              "median": 2.0, "low": 1.0, "high": 3.0, "samples": 3, "core_state": "near", "placement": [0],
              "verified": True, "runtime": "libgomp", "teams": "2x1", "result": "triad", "values": [1, 2, 3], "moves": 0}
    save = folder / "save"
    ours(nigh, "bench", "transpose-model", "--save", str(save))
    trace = {"traceEvents": [{"ph": "X", "name": "Cell::step", "pid": 0, "tid": 0, "ts": 0, "dur": 5.5},
                             {"ph": "C", "name": "PE 0 busy %", "pid": 0, "tid": 0, "ts": 1, "args": {"busy": 50}}],
             "footprint": [{"of": "PE 0", "process": 0, "most in use": 64, "most held": 4096,
                            "rows": [{"name": "Cell::step", "messages": 1, "bytes": 64, "most bytes": 64}]}],
             "otherData": {"written by": "nigh chare"}}
    peers = {"format": "nigh-peers", "version": 1, "machine": "barcelona", "repeats": 2,
             "runs": [{"case": "4x4", "spec": "4,scatter,4,subscatter", "mask": "", "runtime": "libgomp", "subject": who,
                       "right": right, "how": how, "observed": [{"path": [0, 1], "masks": ["1"], "os_threads": 1}]}
                      for who, right, how in (("nigh", True, ["right"]), ("likwid-pin", "no", ["overlaps", "stacks"]))]}
    report = ["report", "--no-run", "--machine", "barcelona", "--out", "PAGE"]
    yield Format("bench", save.read_bytes(), [*report, "--bench", "FILE"], can_be_sound=is_json)
    told = {"where": "a bed", "cpu": "x", "summary": "y", "mask": "0", "kernel": "6", "started": "now"}
    rates = [dict(record, bench="copy", result=f"copy {size}") for size in ("32 KiB", "2 MiB")]
    steps = [dict(record, bench="transpose-steps", case=f"{hosts} hosts", subject=subject, size_bytes=size,
                  runtime="three-steps", teams="1x2", result="total", unit="ms", median=size * 1e-6)
             for hosts in (2, 4) for subject in ("measured", "predicted") for size in (2000000, 8000000)]
    for form, every in {"record": [record], "matrix": [dict(record, bench="mpi-pingpong", result="8 B")], "rates": rates,
                        "steps": steps}.items():
        file = {"format": "nigh-bench", "version": 1, "machine": told, "records": every, "absent": []}
        yield Format(f"bench {form}", json.dumps(file).encode(), [*report, "--bench", "FILE"], can_be_sound=is_json)
    yield Format("trace", json.dumps(trace).encode(), [*report, "--trace", "FILE"], can_be_sound=is_json)
    yield Format("peers", json.dumps(peers).encode(), [*report, "--peers", "FILE"], can_be_sound=is_json)
    ratio = {"median": 1, "low": 0.9, "high": 1.1}
    documents = {
        "comparison": {"format": "nigh-compare", "version": 1, "time_ratio": ratio, "subjects": [{"name": "a", "command": ["b"], "seconds": [1, 2]}]},
        "map": {"format": "nigh-rank-map", "version": 1, "levels": [{"name": "node", "cost": 1}], "ranks": [{"rank": 0, "node": 0}],
                "maps": [{"name": "ranks in order", "crossed": [5], "cost": 5}]},
        "coverage": {"format": "nigh-mpi-account", "version": 1, "host": "h", "functions": {"MPI_Send": {"bytes": 5, "ours": 1, "small": 2, "left_bytes": {"small": 3}}}}}
    for form, document in documents.items():
        yield Format(f"{form} on the page", json.dumps(document).encode(), [*report, "FILE"], can_be_sound=is_json)
    rank = {"format": "nigh-rank", "version": 1, "rank": 0, "ranks": 2, "complete": True, "host": "h", "program": "p",
            "started": 1.7e9, "seconds": 5.5, "interval_seconds": 1, "user_seconds": 5, "minor_faults": 7, "peak_mib": 9,
            "functions": {"MPI_Wait": {"calls": 3, "seconds": 1.5, "longest_seconds": 0.9, "microseconds": [0, 500000, 1000000]}},
            "communicators": [{"name": "c", "size": 2, "point_to_point": [[1, 50, 2]], "put": [[0, 3, 1]]}]}
    job = folder / "record" / "2-ranks-1"
    job.mkdir(parents=True, exist_ok=True)
    yield Format("record on the page", json.dumps(rank).encode(), [*report, str(job.parent)], place=job / "rank-0.json", can_be_sound=is_json)
    yield Format("account", b"nigh: plan 2,scatter: 2 threads\n", [*report, "--account", "FILE"])


def records(nigh: str, folder: Path):
    """What `nigh machine --probe` and `--probe-mpi` keep: read without being named, so a damaged one is only told of."""
    cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    ours(nigh, "machine", "--probe", "--quick", env={**os.environ, **cache})
    place = next((folder / "cache" / "nigh").iterdir())
    probe = place.read_bytes()
    facts = json.loads(probe)
    yield Format("probe", probe, ["machine"], environment=cache, place=place, can_be_sound=is_json, aside=b"it is ignored")
    yield Format("probe for a plan", probe, ["plan", "--transpose", "99x99"], environment=cache, place=place,
                 can_be_sound=is_json, aside=b"it is ignored")
    network = json.loads(ours(nigh, "machine", "--model", "winterhawk2", "--json"))["network"]
    mpi = {"format": "nigh-mpi-probe", "version": 2, "topology": facts["topology"], "date": "2026-01-01", "cpu": facts["cpu"],
           "library": "Open MPI 4.1", "nodes": 2, "ranks": 2, "cores": 2, "seconds": 1.5, "notes": ["a note"],
           "messages": [{"k": 1, "bytes": 1024, "us": 2.5}], "network": network}
    place = place.with_name("mpi-" + place.name)
    yield Format("MPI probe", json.dumps(mpi).encode(), ["plan", "--transpose", "99x99", "--nodes", "2"], environment=cache,
                 place=place, can_be_sound=is_json, aside=b"it is ignored")


def launchers():
    hosts = b"a slots=4\nb slots=4 max_slots=8 # a note\nc:4\n"
    for name, words in (("Open MPI", ["mpirun.openmpi", "--hostfile"]), ("MPICH", ["mpirun.mpich", "-f"])):
        yield Format(f"hosts of {name}", hosts, ["run", "--auto-hybrid", "--dry-run", "--", *words, "FILE", "./app"], ".hosts")
    start = ["run", "--auto-hybrid", "--dry-run", "--", "mpirun.openmpi"]
    yield Format("nodes of a batch system", b"a\na\nb\nb\n", [*start, "./app"], ".nodes", environment={"PBS_NODEFILE": "FILE"})
    yield Format("host list", b"a:4,b:4,c", [*start, "-H", "TEXT", "./app"])
    yield Format("nodes of Slurm", b"4", ["run", "--auto-hybrid", "--dry-run", "--", "srun", "./app"],
                 environment={"SLURM_JOB_NUM_NODES": "TEXT"})
    yield Format("matrix of a job", b"8192x8192,double", ["run", "--auto-hybrid", "--dry-run", "--transpose=TEXT", "--",
                                                          "mpirun.openmpi", "./app"],
                 can_be_sound=is_words(r"\d+[xX]\d+(,[a-z]+)?"))
    for words in (["mpirun.openmpi", "WORDS", "-n", "2", "./app"], ["mpirun.mpich", "-n", "2", "WORDS", "./app"],
                  ["srun", "WORDS", "./app"]):
        yield Format(f"words of {words[0]}", b"--map-by ppr:2:node --host a,b:3 -x A=b -genvlist X,Y --export=ALL,Z",
                     ["run", "--mpi", "--teams", "2,compact", "--dry-run", "--", *words])


def words():
    spec, mask = is_words(r"[a-z0-9, ]+"), is_words(r"[0-9,\- ]+")
    yield Format("spec", b"4,scatter,4,subscatter", ["plan", "--model", "barcelona", "--teams", "TEXT"], can_be_sound=spec)
    yield Format("spec of a job", b"2,scatter,2,compact", ["run", "--dry-run", "--teams=TEXT", "--", "true"], can_be_sound=spec)
    yield Format("spec of the environment", b"2,scatter,2,compact", ["run", "--dry-run", "--", "true"],
                 environment={"OMP_NESTING_TEAM_SIZE": "TEXT"})
    yield Format("mask", b"0-5,8", ["plan", "--model", "barcelona", "--teams", "2,scatter", "--mask=TEXT"], can_be_sound=mask)
    yield Format("mask of a job", b"0-1", ["run", "--dry-run", "--teams", "2,scatter", "--mask=TEXT", "--", "true"],
                 can_be_sound=mask)
    yield Format("memory", b"0", ["run", "--watch", "--teams", "1,compact", "--dry-run", "--memory=TEXT", "--", "true"])
    yield Format("matrix", b"100x100", ["plan", "--transpose=TEXT", "--model", "winterhawk2"], can_be_sound=is_words(r"\d+[xX]\d+"))
    yield Format("model's name", b"barcelona", ["machine", "--model=TEXT"], can_be_sound=is_words("[a-z0-9-]+"))
    yield Format("listen", b"127.0.0.1:9101", ["watch", "--meters", "--json", "--listen", "TEXT"])


def with_sum(data: bytes) -> bytes:
    """A list of a checkpoint with the checksum that belongs to it."""
    text = data[: data.rfind(b"\nsum ") + 1]
    return text + b"sum %d\n" % sum_of(text)


def sum_of(text: bytes) -> int:
    total = 0xCBF29CE484222325
    for at in range(0, len(text), 8):
        total = (total ^ int.from_bytes(text[at:at + 8].ljust(8, b"\0"), "little")) * 0x100000001B3 % 2**64
        total ^= total >> 29
    return total


def with_part(kept: Path, place: Path, part: Path):
    """The list at `kept` is given the size and sum of a damaged part, and put at `place`."""
    def repair(data: bytes) -> bytes:
        lines = kept.read_bytes().split(b"\n")
        for i, line in enumerate(lines):
            if line.endswith(b" " + part.name.encode()):
                lines[i] = b"%d %d " % (len(data), sum_of(data)) + line.split(b" ", 2)[2]
        place.write_bytes(with_sum(b"\n".join(lines)))
        return data
    return repair


def checkpoints(program: str, folder: Path):
    """Read by programs of users: this one is the smallest. Those that are damaged under a right checksum, too."""
    for kind in ("", "-sparse"):
        place = folder / f"cells{kind}"
        subprocess.run([program, f"save{kind}", str(place), "--pes", "2"], check=True)
        kept = shutil.copy(place, folder / f"list{kind}")
        sound, load = place.read_bytes(), [program, f"load{kind}", str(place), "--pes", "2"]
        yield Format(f"checkpoint{kind}", sound, load, place=place, can_be_sound=lambda data, sound=sound: data == sound)
        yield Format(f"checkpoint{kind} with its sum", sound, load, place=place, repair=with_sum)
        place.write_bytes(sound)
        for part in sorted(folder.glob(f"cells{kind}.*")):
            whole = part.read_bytes()
            yield Format(f"part {part.suffix}{kind}", whole, load, place=part,
                         can_be_sound=lambda data, whole=whole: data == whole)
            yield Format(f"part {part.suffix}{kind} with its sum", whole, load, place=part,
                         repair=with_part(kept, place, part))
            place.write_bytes(sound), part.write_bytes(whole)


def formats(nigh: str, program: str, folder: Path):
    yield from machines(nigh)
    yield from benches(nigh, folder)
    yield from records(nigh, folder)
    yield from launchers()
    yield from words()
    yield from checkpoints(program, folder)
