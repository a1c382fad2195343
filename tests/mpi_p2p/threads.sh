#!/bin/bash
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# threads.sh openmpi|mpich PROGRAM LIBNIGH-MPI.SO: threads.c on 2 ranks with us; the run must be right, and ours. When it
# is not, the library alone is run: one that fails as well has no MPI_THREAD_MULTIPLE worth the name, and is skipped.
kind=$1 program=$2 library=$3
command -v "mpirun.$kind" > /dev/null || { echo "SKIP: mpirun.$kind is not installed"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
launch=(timeout 60 "mpirun.$kind")
[[ "$kind" = openmpi* ]] && launch+=(--oversubscribe --mca mpi_yield_when_idle 1)

"${launch[@]}" -np 2 env LD_PRELOAD="$library" NIGH_EXPLAIN=1 "$program" > "$folder/out" 2> "$folder/err"
status=$?
if [ $status != 0 ] && [ $status != 77 ]; then
  cat "$folder/out" "$folder/err"
  "${launch[@]}" -np 2 "$program" > "$folder/alone" 2>&1 && exit 1
  echo "SKIP: the library alone fails as well"
  exit 77
fi
grep '^SKIP' "$folder/out" && exit 77
grep -q "threads: right" "$folder/out" || { cat "$folder/out" "$folder/err"; exit 1; }
grep -qE 'MPI_Isend +[1-9][0-9]* ours' "$folder/err" || { cat "$folder/err"; echo "nothing was ours"; exit 1; }
