#!/bin/bash
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Error handlers that do not come back: handlers.sh openmpi|mpich PROGRAM LIBNIGH-MPI.SO. With threads under Open MPI only:
# MPICH calls handlers with its own lock held. The libraries alone lose requests in some of this.
kind=$1 program=$2 library=$3
command -v "mpirun.$kind" > /dev/null || { echo "SKIP: mpirun.$kind is not installed"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
more=()
[[ "$kind" = openmpi* ]] && more=(--oversubscribe --mca mpi_yield_when_idle 1)
for ranks in 2 3; do
  for level in "" multiple; do
    [ "$kind$level" = mpichmultiple ] && continue
    # shellcheck disable=SC2086
    said=$(timeout 60 "mpirun.$kind" "${more[@]}" -np $ranks env LD_PRELOAD="$library" NIGH_EXPLAIN=1 "$program" $level 2>&1) ||
      { echo "$said"; echo "fails on $ranks ranks $level"; exit 1; }
    [ "$(grep -c 'nigh: more than 64 error handlers' <<< "$said")" = 1 ] || { echo "$said"; echo "70 handlers, and no word"; exit 1; }
    grep -qE 'MPI_Isend +[1-9][0-9]* ours' <<< "$said" || { echo "$said"; echo "nothing was ours"; exit 1; }
  done
done
