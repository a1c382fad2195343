#!/bin/bash
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs one program on 4 ranks without the interposer and with it, also with a threshold so low that nearly all
# messages go by descriptor (and once more with copies of all that is private), and compares what it says: run.sh openmpi|mpich PROGRAM LIBNIGH-MPI.SO. The run with us
# must really have been ours: the account must tell of sends that were. Traps in which a library itself fails are left out. With static data shared, PROGRAM and
# PROGRAM.fixed (not position-independent) send from there, and no send may have been left to the library for that.
kind=$1 program=$2 library=$3
command -v "mpirun.$kind" > /dev/null || { echo "SKIP: mpirun.$kind is not installed"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

launch() { # NAME=VALUE...: environment of the ranks; `traps`: which ones, all if empty
  local options=()
  for setting in "$@"; do
    if [[ "$kind" = openmpi* ]]; then options+=(-x "$setting"); else options+=(-env "${setting%%=*}" "${setting#*=}"); fi
  done
  if [[ "$kind" = openmpi* ]]; then
    timeout 60 "mpirun.$kind" --oversubscribe --mca mpi_yield_when_idle 1 -np 4 "${options[@]}" "$program" "${traps[@]}"
  else
    timeout 60 "mpirun.$kind" -np 4 "${options[@]}" "$program" "${traps[@]}"
  fi
}

case $kind in
  mpich3)  # alone 3.4.3 brings messages of freed requests late, refuses types, and crashes
    left_out=(request_free null_arguments types_pairs types_partial communicator_freed) ;;
  mpich5*) left_out=(error_handler) ;;  # the class of an error is lost
  intel) left_out=(early_truncated truncation_below_descriptor) ;;  # a short message into no bytes at all is no error there
  intelabi)  # takes MPI_ERRORS_RETURN for MPI_ERRORS_ABORT
    left_out=(early_receives early_refused early_truncated null_arguments truncation truncation_below_descriptor truncation_in_waitall truncation_in_tests
              truncation_of_plain truncation_the_old_way) ;;
  *) left_out=() ;;
esac
all=("${left_out[@]/#/-}")
traps=("${all[@]}")
launch TRAPS_PLAIN=1 > "$folder/without" 2> "$folder/without.err" || { cat "$folder"/without*; echo "fails without us"; exit 1; }
for least in default 300 staged; do  # staged: whatever peers can't see is copied for them
  settings=(LD_PRELOAD="$library" TRAPS_STRICT=1 NIGH_EXPLAIN=1)
  case $least in
    default) settings+=(NIGH_SPACE_SHARE=all) ;;
    300) settings+=(NIGH_MPI_P2P_MIN=300 NIGH_SPACE_SHARE=all) ;;
    staged) settings+=(NIGH_MPI_P2P_MIN=300 NIGH_MPI_P2P_STAGED=1000000000 NIGH_SPACE_SHARE=sent) ;;
  esac
  launch "${settings[@]}" > "$folder/with" 2> "$folder/with.err" || { cat "$folder"/with*; echo "fails with us ($least)"; exit 1; }
  # UCX warns on standard output of what a program leaves behind.
  diff <(grep -v "UCX  WARN" "$folder/without") <(grep -v "UCX  WARN" "$folder/with") || { echo "says something else with us ($least)"; exit 1; }
  grep -qE 'MPI_Send +[1-9][0-9]* ours' "$folder/with.err" || { cat "$folder/with.err"; echo "nothing was ours"; exit 1; }
done

traps=(static_buffers memory_given_back)
for program in "$program" "$program.fixed"; do
  launch LD_PRELOAD="$library" NIGH_EXPLAIN=1 NIGH_SHARE=data > "$folder/shared" 2> "$folder/shared.err" && grep -q '^static_buffers: ok' "$folder/shared" ||
    { cat "$folder"/shared*; echo "$program fails with shared static data"; exit 1; }
  grep -qE 'MPI_Send +[1-9][0-9]* ours' "$folder/shared.err" && ! grep -E 'MPI_(Ss|Iss|S|Is)end.*unshared' "$folder/shared.err" ||
    { cat "$folder/shared.err"; echo "static data was not shared"; exit 1; }
done
