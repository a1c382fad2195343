#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Fourier transforms over ranks against FFTW: fetched from memory that ranks share, in a space, and transposed, on this node and
# between pretended ones; with FFTW's rows, and without where they were asked for. Usage: ranks.sh CASE openmpi|mpich BUILD
set -u
case=$1 kind=$2 build=$3
ranks=$build/tests/fft_ranks.$kind
command -v "mpirun.$kind" >/dev/null || {
  echo "SKIP: no mpirun.$kind"
  case ",${NIGH_REQUIRE:-}," in *,mpi,*) exit 1 ;; esac
  exit 77
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
fail() { echo "FAIL: $*"; exit 1; }
run() {  # run RANKS ARGUMENTS...
  n=$1
  shift
  timeout "${limit:-100}" "mpirun.$kind" -n "$n" "$ranks" "$@" || fail "$n ranks, $*"
}

case $case in
loads)
  run 1 heap 2 "columns of"
  run 2 shared 1 "columns of"
  # Waiting ranks of MPICH keep their CPUs, so that more of them than there are CPUs take minutes.
  [ "$kind" = mpich ] || run 3 shared 2 "columns of" ;;
# More ranks than rows.
few)
  run 2 few-shared 1
  [ "$kind" = mpich ] || { run 3 few-shared 1 && run 4 few-heap 1 && NIGH_MPI_FAKE_NODES=2 run 3 few-heap 1; } ;;
kernel) run 2 heap 2 "transpose of" ;;
nodes)
  export NIGH_MPI_FAKE_NODES=2
  run 2 shared 1 "transpose of" ;;
# Open MPI can be told to send between pretended nodes as between real ones.
tcp)
  export NIGH_MPI_FAKE_NODES=2 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
  limit=500  # four ranks that wait for TCP on two CPUs, and plans that agree step by step
  run 4 shared 1 "transpose of" ;;
space)
  timeout 100 "$build/bin/nigh" run --quiet --mpi -- "mpirun.$kind" -n 2 "$ranks" heap 1 "columns of" || fail "in a space"
  timeout 100 "$build/bin/nigh" run --quiet --mpi -- "mpirun.$kind" -n 3 "$ranks" few-heap 1 || fail "more ranks than rows in a space" ;;
fortran | cxx)
  ranks=$build/tests/fft_$case.$kind
  told=$(run 2) || fail "$told"
  case $told in *"all transforms are right"*) ;; *) fail "$told" ;; esac ;;
esac
exit 0
