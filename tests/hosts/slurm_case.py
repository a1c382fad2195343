# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""slurm_case.py BUILD: a cluster of two hosts under Slurm: munged and slurmd in each, slurmctld in the first, all in a
folder of the bed. srun starts the ranks itself, sbatch starts mpirun, which asks Slurm; with us and without."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from testing import HERE, Failed, bed, check, main, map_of_four, skip

BUILD = Path(sys.argv[1]).resolve()
NIGH = BUILD / "bin" / "nigh"

CLUSTER = r"""
set -eu
work=$NIGH_HOSTS/tmp
trap 'tail -n 12 $work/*.log >&2' EXIT
export SLURM_CONF=$work/slurm.conf
for name in $(env | sed -n 's/^\(OMPI_MCA_\(orte_default\|plm\)[^=]*\|HYDRA_[^=]*\)=.*/\1/p'); do unset "$name"; done
head -c 1024 /dev/urandom >$work/key && chmod 400 $work/key
# /dev/shm is a host's own: the same names in both.
cat >$SLURM_CONF <<.
ClusterName=nigh
SlurmctldHost=nigh-0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/dev/shm/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=/dev/shm/slurmd
SlurmctldPidFile=/dev/shm/slurmctld.pid
SlurmdPidFile=/dev/shm/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
ReturnToService=2
# Two CPUs even where this machine has one: a node with fewer than said would not be used.
SlurmdParameters=config_overrides
NodeName=nigh-[0-1] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
.
echo CgroupAutomount=no >$work/cgroup.conf
echo PMIxCliTmpDirBase=/dev/shm >$work/mpi.conf  # else /tmp, which the hosts share
mkdir -p $work/state
munge="mkdir -m 755 /dev/shm/munge; munged --force --key-file=$work/key --socket=/dev/shm/munge/socket \
  --pid-file=/dev/shm/munge/pid --log-file=/dev/shm/munge/log --seed-file=/dev/shm/munge/seed"
for host in nigh-0 nigh-1; do $NIGH_HOSTS/enter $host "$munge"; done
slurmctld -f $SLURM_CONF
for host in nigh-0 nigh-1; do $NIGH_HOSTS/enter $host "slurmd -f $SLURM_CONF"; done
end=$(($(date +%s) + 30))
until [ "$(sinfo -h -o %T)" = idle ]; do
  [ $(date +%s) -lt $end ] || { echo "the nodes are not idle after 30 s:"; sinfo -N -o '%N %T %E'; exit 1; }
  sleep 0.1
done
"""


def run(words):
    told = bed(BUILD, "-n 2 --delay 30us --rate 1gbit", ["sh", "-c", CLUSTER + words], 180)
    check(told.status == 0, f"{words}: {told}")
    return told


def placed(told):
    found = sorted(re.findall(r"rank (\d+) of 4 on (\S+) with (\d+)", told))
    check(found == [(str(r), f"nigh-{r // 2}", "2") for r in range(4)] and "all bytes are right" in told, f"ranks: {told}")


def ours(told):
    check(len(re.findall("2 of 4 ranks share memory on this node", told)) == 2, f"not both nodes have us: {told}")


def test():
    for program in ("slurmctld", "slurmd", "srun", "munged", "mpicc.openmpi"):
        if not shutil.which(program) and not Path("/usr/sbin", program).exists():
            skip(f"there is no {program} here")
    ranks = BUILD / "tests" / "hosts-slurm"
    told = subprocess.run(["mpicc.openmpi", "-O2", HERE / "ranks.c", "-o", ranks], capture_output=True, text=True)
    check(told.returncode == 0, f"mpicc: {told.stderr}")
    told = run(f"""
cat >$work/job <<.
#!/bin/sh
{NIGH} run --explain -- sh -c 'true; exec mpirun -n 4 {ranks}'
.
for how in "" "{NIGH} run --explain --"; do
  echo "== $how"
  timeout -k 5 40 $how srun --mpi=pmix -N 2 -n 4 {ranks} 2>&1
done
echo "== map"
timeout -k 5 40 {NIGH} run --rank-map {map_of_four(BUILD)} -- srun --mpi=pmix -N 2 {ranks} 2>&1
echo "== steps"
XDG_CACHE_HOME=$work {NIGH} bench transpose-steps --json --library openmpi --threads 1 --size 300x200 -- srun --mpi=pmix -N 2 -n 4
echo "== sbatch"
sbatch -N 2 -n 4 -o $work/told $work/job  # its --wait looks every ten seconds
for try in $(seq 300); do
  [ -n "$(squeue -h)" ] || break
  sleep 0.1
done
cat $work/told
""")
    _, alone, with_us, mapped, steps, batch = told.out.split("== ")
    try:
        for part in (alone, with_us, batch):
            placed(part)
        for part in (with_us, batch):
            ours(part)
        found = sorted(re.findall(r"rank (\d) of 4 on (\S+) with 2", mapped))
        check(found == [("0", "nigh-0"), ("1", "nigh-1"), ("2", "nigh-1"), ("3", "nigh-0")], f"the map: {mapped}")
        measured = [r for r in json.loads(steps.split("\n", 1)[1])["records"] if r["subject"] == "measured"]
        check({r["case"] for r in measured} == {"2 nodes x 2 cores"} and all(r["verified"] for r in measured), f"steps: {steps}")
    except Failed as reason:
        raise Failed(f"{reason}\n{told.err}") from None  # Slurm's logs


main(test)
