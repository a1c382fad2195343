#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Transposes over ranks, each way to a neighbour's memory by itself, on pretended nodes, and what happens when a rank is
# killed or there is no memory to share. Usage: ranks.sh CASE openmpi|mpich BUILD
set -u
case=$1 kind=$2 build=$3
ranks=$build/tests/transpose_ranks.$kind
command -v "mpirun.$kind" >/dev/null || {
  echo "SKIP: no mpirun.$kind"
  case ",${NIGH_REQUIRE:-}," in *,mpi,*) exit 1 ;; esac
  exit 77
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
fail() { echo "FAIL: $*"; exit 1; }
run() {  # run RANKS ARGUMENTS...
  n=$1
  shift
  timeout 100 "mpirun.$kind" -n "$n" "$ranks" "$@" || fail "$n ranks, $*"
}

# Both libraries run the same code; Open MPI's ranks go through all shapes.
shapes=heap
[ "$kind" = mpich ] && shapes=few

case $case in
loads)
  run 1 heap 1 "over 1 ranks"
  run 1 heap 4 "4 threads"
  run 2 shared 1 "rows by loads"
  # Waiting ranks of MPICH keep their CPUs, so that more of them than there are CPUs take minutes.
  [ "$kind" = mpich ] || { run 2 shared 2 "rows by loads" && run 3 shared 3 "rows by loads" && run 7 few 1 "rows by process_vm_readv"; } ;;
kernel) run 2 $shapes 2 "rows by process_vm_readv" ;;
messages)
  export NIGH_MPI_FAKE_NODES=2
  run 2 $shapes 2 "messages of up to" ;;
nodes)
  export NIGH_MPI_FAKE_NODES=2
  if [ "$kind" = mpich ]; then run 3 few 1 "messages of up to"; else run 5 shared 2 "messages of up to"; fi ;;
# Pretended nodes between which messages go as between real ones: panels in pieces that the library sends at once.
tcp)
  export NIGH_MPI_FAKE_NODES=2 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
  run 2 heap 2 "in pieces of"
  run 3 few 1 "in pieces of"
  run 2 late 1
  run 2 late-in-place 1 ;;
space)
  NIGH_SPACE_SHARE=all timeout 100 "$build/bin/nigh" run --quiet --mpi -- "mpirun.$kind" -n 2 "$ranks" heap 2 "rows by loads" || fail "in a space"
  timeout 100 "$build/bin/nigh" run --quiet --mpi -- "mpirun.$kind" -n 3 "$build/tests/transpose_nothing.$kind" heap || fail "ranks that have nothing" ;;
# More ranks than rows.
nothing)
  ranks=$build/tests/transpose_nothing.$kind
  export OMPI_MCA_mpi_yield_when_idle=1
  run 2 shared
  [ "$kind" = mpich ] || { run 3 shared && run 4 heap && NIGH_MPI_FAKE_NODES=2 run 3 heap; } ;;
killed)
  # The launcher ends the job; nobody waits for the dead, nothing stays.
  before=$(ls /dev/shm)
  told=$(timeout 60 "mpirun.$kind" -n 2 "$ranks" dies 1 2>&1)
  status=$?
  case $told in *"rank 1 dies"*) ;; *) fail "nobody died: $told" ;; esac
  [ $status -ne 0 ] && [ $status -ne 124 ] || fail "a job whose rank was killed ends with status $status"
  # Beside other tests: what is new there must go, theirs does when they end. The file of bound PUs is all jobs'.
  for name in $(ls /dev/shm); do
    [ "$name" = nigh-bound-pus ] && continue
    echo "$before" | grep -qxF "$name" && continue
    tries=0
    while [ -e "/dev/shm/$name" ]; do
      tries=$((tries + 1))
      [ $tries -lt 60 ] || fail "$name is left in /dev/shm"
      sleep 0.5
    done
  done ;;
fortran | cxx)
  ranks=$build/tests/transpose_$case.$kind
  told=$(run 2) || fail "$told"
  case $told in *"all transposes are right"*) ;; *) fail "$told" ;; esac ;;
full)
  run 2 too-large 1
  export NIGH_MPI_FAKE_NODES=2
  run 2 scarce 1
  run 2 late 1 ;;
esac
exit 0
