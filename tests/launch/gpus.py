#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# `nigh run --gpus` on a machine of two packages that hwloc is told of: its CPUs are those of this one, and each package is
# next to the GPU whose number is the other's. Ranks under real launchers print what they see. Usage: gpus.py BUILD_FOLDER
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NIGH = str(Path(sys.argv[1]).resolve() / "bin" / "nigh")
ROOTED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SEEN = "echo $(grep Cpus_allowed_list /proc/self/status | cut -f2) cuda=${CUDA_VISIBLE_DEVICES-none} ${CUDA_DEVICE_ORDER-none}"


def skip(what: str, why: str) -> None:
    print(f"SKIP: {why}")
    wanted = os.environ.get("NIGH_REQUIRE", "").split(",")
    sys.exit(1 if what in wanted or "all" in wanted else 77)


def machine(cpus: list[int], vendor: str) -> str:
    """hwloc XML: a package for each CPU, with a GPU; addresses descend as CPUs ascend."""
    def sets(cpus: list[int], node: int) -> str:
        words = [f"0x{sum(1 << cpu % 32 for cpu in cpus if cpu // 32 == word):08x}" for word in range(max(cpus) // 32, -1, -1)]
        cpuset, nodeset = ",".join(words), f"0x{node:08x}"
        return (f'cpuset="{cpuset}" complete_cpuset="{cpuset}" nodeset="{nodeset}" complete_nodeset="{nodeset}" ')

    packages = ""
    for i, cpu in enumerate(cpus):
        bus = f"{len(cpus) - i:02x}"
        packages += f"""<object type="Package" os_index="{i}" {sets([cpu], 1)} gp_index="{10 + 10 * i}">
<object type="Core" os_index="{i}" {sets([cpu], 1)} gp_index="{11 + 10 * i}">
<object type="PU" os_index="{cpu}" {sets([cpu], 1)} gp_index="{12 + 10 * i}"/></object>
<object type="Bridge" gp_index="{13 + 10 * i}" bridge_type="0-1" depth="0" bridge_pci="0000:[{bus}-{bus}]">
<object type="PCIDev" gp_index="{14 + 10 * i}" pci_busid="0000:{bus}:00.0" pci_type="0302 [{vendor}:1db1] [{vendor}:1212] a1"
 pci_link_speed="15.75"/></object></object>
"""
    every = sets(cpus, 1)
    allowed = every.split("complete_cpuset")[0].replace("cpuset", "allowed_cpuset") + 'allowed_nodeset="0x00000001" '
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" {every} {allowed} gp_index="1">
<object type="NUMANode" os_index="0" {every} gp_index="2" local_memory="4294967296"/>
{packages}</object>
</topology>
"""


def ranks(words: list[str], **variables: str) -> tuple[list[str], str]:
    """What each rank printed, sorted, and what was said beside it."""
    got = subprocess.run([NIGH, "run", "--gpus", "--", *words], capture_output=True, text=True, timeout=100,
                         stdin=subprocess.DEVNULL, env={**os.environ, **ROOTED, **variables})
    assert got.returncode == 0, got
    return sorted(got.stdout.splitlines()), got.stderr


def check_launcher(launcher: str, first: int, second: int) -> None:
    start = [launcher, "-n", "2", "sh", "-c", SEEN]
    seen, said = ranks(start)
    assert seen == [f"{first} cuda=1 PCI_BUS_ID", f"{second} cuda=0 PCI_BUS_ID"], (launcher, seen, said)
    # One rank has both; what the user leaves visible is all that is shared out.
    assert ranks([launcher, "-n", "1", *start[3:]])[0] == [f"{first}-{second} cuda=0,1 PCI_BUS_ID"], launcher
    seen, _ = ranks(start, CUDA_VISIBLE_DEVICES="1")
    assert seen == [f"{first} cuda=1 PCI_BUS_ID", f"{second} cuda=1 PCI_BUS_ID"], (launcher, seen)
    # An empty list hides all of them.
    seen, said = ranks(start, CUDA_VISIBLE_DEVICES="")
    assert all(line.endswith("cuda= none") for line in seen) and said.count("GPUs stay as they are") == 1, (launcher, seen, said)
    # A value that is not understood stays, and one rank says so.
    seen, said = ranks(start, CUDA_VISIBLE_DEVICES="GPU-77")
    assert all("cuda=GPU-77 none" in line for line in seen) and said.count("GPUs stay as they are") == 1, (launcher, seen, said)


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2 or cpus[1] != cpus[0] + 1:
        skip("two", "there are not two CPUs beside each other here")
    launchers = [name for name in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(name)]
    if not launchers:
        skip("mpi", "there is no MPI here")
    os.sched_setaffinity(0, cpus)
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "machine.xml"
        xml.write_text(machine(cpus, "10de"))
        os.environ["HWLOC_XMLFILE"] = str(xml)
        for launcher in launchers:
            check_launcher(launcher, *cpus)
            # nigh after the launcher, in each rank.
            inside = subprocess.run([launcher, "-n", "2", NIGH, "run", "--gpus", "--", "sh", "-c", SEEN], capture_output=True,
                                    text=True, timeout=100, env={**os.environ, **ROOTED})
            assert all("PCI_BUS_ID" in line for line in inside.stdout.splitlines()) and inside.stdout.count("cuda=") == 2, inside
        xml.write_text(machine(cpus, "1a03"))  # a console's
        seen, said = ranks([launchers[0], "-n", "2", "sh", "-c", SEEN])
        assert all("cuda=none none" in line for line in seen) and said.count("there is no GPU of NVIDIA, AMD or Intel to use") == 1, (seen, said)
        bound = subprocess.run([NIGH, "run", "--gpus", "--", "mpirun.openmpi", "--bind-to", "core", "-n", "2", "true"],
                               capture_output=True, text=True, timeout=100, env={**os.environ, **ROOTED})
        assert bound.returncode == 125 and "words or variables of yours bind the ranks" in bound.stderr, bound
        alone = subprocess.run([NIGH, "run", "--gpus", "--", "true"], capture_output=True, text=True, timeout=100)
        assert alone.returncode == 125 and "'true' is neither a launcher of ranks nor started by one" in alone.stderr, alone
    print("gpus: right")


main()
