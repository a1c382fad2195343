# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What makes a plain `mpirun -n 8 ./app` spread over the hosts: files that name them, and the environment that tells Open
MPI and MPICH of the files, of the agent, and of the one interface that leads to other hosts."""

import os
import sys

ADDRESSES = "10.77.0"


def address(number):
    return f"{ADDRESSES}.{number + 1}"


def write(bed, script):
    """Files of the bed's folder, the same for all hosts."""
    names = [bed.name(i) for i in range(bed.count)]

    def put(name, lines, mode=0o644):
        path = os.path.join(bed.folder, name)
        with open(path, "w") as file:
            file.writelines(line + "\n" for line in lines)
        os.chmod(path, mode)

    put("hosts", ["127.0.0.1 localhost"] + [f"{address(i)} {name}" for i, name in enumerate(names)])
    put("openmpi.hosts", [f"{name} slots={bed.slots}" for name in names])
    put("mpich.hosts", [f"{name}:{bed.slots}" for name in names])
    put("enter", ["#!/bin/sh", f"NIGH_HOSTS='{bed.folder}' exec '{sys.executable}' '{script}' enter \"$@\""], 0o755)
    for folder in ("cgroup", "tmp"):
        os.mkdir(os.path.join(bed.folder, folder))


def environment(folder):
    agent = os.path.join(folder, "enter")
    return {
        "NIGH_HOSTS": folder,
        # A host's own, but one name for all: what the libraries put there has the host's name in it.
        "TMPDIR": os.path.join(folder, "tmp"),
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_orte_default_hostfile": os.path.join(folder, "openmpi.hosts"),
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "OMPI_MCA_oob_tcp_if_include": "eth0",
        # Each host takes all CPUs of this machine for its own; binding would put the ranks of all on the first.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # Open MPI 5, whose launcher is PRRTE.
        "PRTE_MCA_plm_ssh_agent": agent,
        "PRTE_MCA_prte_default_hostfile": os.path.join(folder, "openmpi.hosts"),
        "PRTE_MCA_prte_if_include": "eth0",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "HYDRA_HOST_FILE": os.path.join(folder, "mpich.hosts"),
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": agent,
        "HYDRA_IFACE": "eth0",
        "UCX_NET_DEVICES": "eth0",
    }
