#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# What nigh adds to a region in which nothing changes: overhead.sh PROGRAM LIBRARY-FOLDER EMPTY-TOOL [ROUNDS]. Runs off and on take
# turns, both with their threads held to the same CPUs (the machine, not the scheduler, is compared; a lone thread
# to CPU 0 by the mask), and the smallest figure of each side counts. The budget is 35 ns per region and thread; what
# forty such runs can't tell apart (one process's figure against the next: 296 to 380 ns without us) is allowed on top.
# A process's cores are near or far for its whole life on some virtual machines, which doubles either figure: so the turns
# go on, twelve at least and ROUNDS at most, until both sides have had their chance.
#
# Memory layout matters as well, so each round runs with another length of the environment, both sides with the same.
# Libomp is slower under any OMPT tool: the side without nigh has an empty one (empty_tool.c).
set -u
program=$1 lib=$2 tool=$3 rounds=${4:-40}
[ "$(nproc)" -ge 2 ] || { echo "SKIP: one CPU only"; exit 77; }

first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
alone() { if [ "$1" = 1 ]; then echo taskset -c "$first"; fi; }
off() { $(alone "$1") env LD_PRELOAD="$tool" OMP_PROC_BIND=true OMP_PLACES=cores "$program" "$@"; }
on() { $(alone "$1") env LD_PRELOAD="$lib/libnigh-openmp.so" OMP_NESTING_TEAM_SIZE=2,scatter "$program" "$@"; }
# judge THREADS OFF-FIGURES ON-FIGURES: says what was added, and whether that is within the budget.
judge() {
  printf '%s\n%s\n' "$2" "$3" | awk -v n="$1" -v p="${program##*/}" '
    { best[NR] = $1; for (i = 2; i <= NF; i++) if ($i < best[NR]) best[NR] = $i }
    END {
      added = (best[2] - best[1]) / n
      printf "%s: %d thread(s), off %.1f ns, on %.1f ns, added %.1f ns per region and thread\n", p, n, best[1], best[2], added
      exit added > 35 + 15 }'
}

measure() {
  offs= ons=
  for round in $(seq "$rounds"); do
    export NIGH_PADDING="$(printf '%*s' $((round * 7)) x)"
    offs="$offs $(off "$1" 200 200)"
    ons="$ons $(on "$1" 200 200)"
    [ "$round" -ge 12 ] && judge "$1" "$offs" "$ons" >/dev/null && break
  done
  judge "$1" "$offs" "$ons"
}

# So little can't be told apart on a machine that others keep busy: then a failure says nothing.
measure 1 && measure 2 && exit
busy=$(awk -v n="$(nproc)" '$1 > n + 0.5 { print $1 }' /proc/loadavg)
[ -z "$busy" ] || { echo "SKIP: the machine is busy (load $busy), so these figures mean nothing"; exit 77; }
exit 1
