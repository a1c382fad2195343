#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What nigh adds to a region in which nothing changes: overhead.sh PROGRAM LIBRARY-FOLDER [ROUNDS]. Runs off and on take turns,
# both with their threads held to the same CPUs (the machine, not the scheduler, is compared), and the smallest figure
# of each side counts. More than 35 ns per region and thread is a failure, after five attempts: a busy machine may spoil some.
set -u
program=$1 lib=$2 rounds=${3:-9}
[ "$(nproc)" -ge 2 ] || { echo "SKIP: one CPU only"; exit 77; }

off() { OMP_PROC_BIND=true OMP_PLACES=cores "$program" "$@"; }
on() { LD_PRELOAD=$lib/libnigh-openmp.so OMP_NESTING_TEAM_SIZE=2,scatter "$program" "$@"; }
smallest() { sort -n | head -1; }

measure() {
  threads=$1
  offs= ons=
  for _ in $(seq "$rounds"); do
    offs="$offs $(off "$threads" 200 200)"
    ons="$ons $(on "$threads" 200 200)"
  done
  a=$(printf '%s\n' $offs | smallest)
  b=$(printf '%s\n' $ons | smallest)
  awk -v a="$a" -v b="$b" -v n="$threads" -v p="${program##*/}" 'BEGIN {
    added = (b - a) / n
    printf "%s: %d thread(s), off %.1f ns, on %.1f ns, added %.1f ns per region and thread\n", p, n, a, b, added
    exit added > 35 }'
}

for threads in 1 2; do
  for attempt in 1 2 3 4 5; do
    measure "$threads" && continue 2
  done
  exit 1
done
