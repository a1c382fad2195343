#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh CASE BUILD: compiles with nigh-oshcc and runs under nigh run -n, or as two pretended nodes under an mpirun, as a
# user would.
set -u
here=$(dirname "$0")
case=$1 bin=$2/bin out=$2/tests/shmem-$1
fail() { echo "FAIL: $*"; exit 1; }
skip() { # skip WHAT REASON
  echo "SKIP: $2"
  case ",${NIGH_REQUIRE:-}," in *",$1,"* | *,all,*) exit 1 ;; esac
  exit 77
}
# nodes KIND N COMMAND..: N PEs on two pretended nodes
nodes() {
  kind=$1 n=$2 more=
  shift 2
  [ "$kind" = openmpi ] && more="--oversubscribe --mca mpi_yield_when_idle 1"
  # shellcheck disable=SC2086
  NIGH_MPI_FAKE_NODES=2 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 100 "mpirun.$kind" $more -n "$n" "$@"
}
ways() { # Open MPI's windows lose bytes (decision 0014)
  [ "$1" = mpich ] && echo windows
  echo messages
}
storm() { # storm N COMMAND..: N PEs of the random program
  seed=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
  told=$("$@" "$out" "$rounds" "$seed" 2>&1) || fail "$*, seed $seed: status $?: $told"
  [ "$told" = "ok storm $rounds rounds" ] || fail "$*, seed $seed: $told"
}
installed() {
  command -v "mpirun.$1" >/dev/null 2>&1 || skip "$1" "there is no mpirun.$1 here"
  [ -e "$lib/libnigh-shmem-$1.so" ] || skip "$1" "the transport for $1 was not built"
}
lib=$2/lib
if [ "$case" = c++ ]; then
  "$bin/nigh-oshc++" -O2 -Wall -Wextra -Werror "$here/pes.cpp" -o "$out" || fail "nigh-oshc++"
  "$bin/nigh" run -n 3 -- "$out" | grep -q "ok c++" || fail "the C++ program"
  exit 0
fi
case $case in
  storm*)
    rounds=${NIGH_SHMEM_ROUNDS:-30}
    "$bin/nigh-oshcc" -std=c11 -O2 -Wall -Wextra -Werror "$here/storm.c" -o "$out" || fail "nigh-oshcc"
    kind=${case#storm-}
    if [ "$kind" = storm ]; then
      storm "$bin/nigh" run -n 4 --
      exit 0
    fi
    installed "$kind"
    for way in $(ways "$kind"); do
      export NIGH_SHMEM_BYTES="$way"
      storm nodes "$kind" 4
      storm nodes "$kind" 3
    done
    exit 0 ;;
esac
if [ "$case" = pshmem ]; then
  "$bin/nigh-oshcc" -std=c11 -O2 -Wall -Wextra -Werror "$here/wrap.c" -o "$out" || fail "nigh-oshcc"
  told=$("$bin/nigh" run -n 3 -- "$out") || fail "status $?"
  [ "$told" = "ok wrapped 1 barrier, 3 puts" ] || fail "said: $told"
  for prefix in "" p; do
    nm -D --defined-only "$lib/libnigh-shmem.so" | sed -n "s/^[0-9a-f]* T ${prefix}shmem_/shmem_/p" | sort >"$out.$prefix"
  done
  [ "$(wc -l <"$out.")" -gt 1000 ] || fail "few functions: $(wc -l <"$out.")"
  cmp "$out." "$out.p" || fail "not every shmem_X has its pshmem_X"
  exit 0
fi
"$bin/nigh-oshcc" -std=c11 -O2 -Wall -Wextra -Werror "$here/pes.c" -o "$out" || fail "nigh-oshcc"
case $case in
  all)
    for n in 1 2 3 4 8; do
      told=$("$bin/nigh" run -n $n -- "$out") || fail "$n PEs ended with status $?"
      [ "$(echo "$told" | grep -c ^ok)" = 8 ] || fail "$n PEs: $told"
    done ;;
  exit)
    for status in 0 7; do
      "$bin/nigh" run -n 3 -- "$out" exit $status 2>/dev/null
      got=$?
      [ $got = $status ] || fail "shmem_global_exit($status) gave $got"
    done ;;
  stack)
    told=$("$bin/nigh" run -n 2 -- "$out" stack 2>&1) && fail "an address on the stack was taken"
    echo "$told" | grep -q "not symmetric" || fail "said: $told" ;;
  dead)
    told=$("$bin/nigh" run -n 2 -- "$out" dead 2>&1) || fail "status $?: $told"
    echo "$told" | grep -q "ok dead" || fail "said: $told" ;;
  nodes-*)
    kind=${case#nodes-}
    installed "$kind"
    for way in $(ways "$kind"); do
      for n in 4 3; do # the pretended nodes are alike, or not
        told=$(NIGH_SHMEM_BYTES=$way nodes "$kind" $n "$out") || fail "$way, $n PEs ended with status $?: $told"
        [ "$(echo "$told" | grep -c ^ok)" = 8 ] || fail "$way, $n PEs: $told"
      done
    done
    gcc -O2 -fPIC -shared -Wall -Werror "$here/count.c" -o "$out.count.so" || fail "gcc"
    for way in messages windows; do
      told=$(NIGH_SHMEM_BYTES=$way LD_PRELOAD=$out.count.so nodes "$kind" 2 "$out" exit 0 2>&1) || fail "$way: status $?: $told"
      made=$(echo "$told" | grep -c "^MPI_Win_create")
      if [ $way = messages ]; then [ "$made" = 0 ]; else [ "$made" -ge 2 ]; fi || fail "$way: $made windows: $told"
    done ;;
  bad-*)
    kind=${case#bad-}
    installed "$kind"
    nodes "$kind" 3 "$out" exit 7 >/dev/null 2>&1
    got=$?
    [ $got = 7 ] || fail "shmem_global_exit(7) gave $got"
    told=$(nodes "$kind" 2 "$out" stack 2>&1) && fail "an address on the stack was taken"
    echo "$told" | grep -q "nigh: .*not symmetric" || fail "stack: $told"
    nodes "$kind" 3 "$out" killed >/dev/null 2>&1
    got=$?
    { [ $got != 0 ] && [ $got != 124 ]; } || fail "a PE was killed, and the job ended with $got"
    told=$(NIGH_SHMEM_MPI_LIBRARY=/nowhere/libmpi.so nodes "$kind" 2 "$out" 2>&1) && fail "ran without an MPI"
    echo "$told" | grep -q "nigh: shmem_init: .*no library of .* was found (/nowhere/libmpi.so)" || fail "no MPI: $told"
    told=$(NIGH_SHMEM_BYTES=nonsense nodes "$kind" 2 "$out" 2>&1) && fail "took a nonsense NIGH_SHMEM_BYTES"
    echo "$told" | grep -q "nigh: shmem_init: NIGH_SHMEM_BYTES is 'nonsense'" || fail "nonsense: $told"
    told=$(NIGH_SHMEM_MPI=nonsense nodes "$kind" 2 "$out" 2>&1) && fail "took a nonsense NIGH_SHMEM_MPI"
    echo "$told" | grep -q "nigh: shmem_init: .*NIGH_SHMEM_MPI is 'nonsense'" || fail "nonsense: $told"
    other=openmpi # the variable decides before the launcher does
    [ "$kind" = openmpi ] && other=mpich
    if [ -e "$lib/libnigh-shmem-$other.so" ]; then
      told=$(NIGH_SHMEM_MPI=$other nodes "$kind" 2 "$out" 2>&1) && fail "ran by $other under the launcher of $kind"
      echo "$told" | grep -q "this MPI library ($other) is not the launcher's" || fail "$other under $kind: $told"
    fi
    rm -rf "$out.tree" # an installation that lacks the transport
    mkdir -p "$out.tree/bin" "$out.tree/lib"
    cp "$bin/nigh-oshcc" "$out.tree/bin"
    cp "$lib/libnigh-shmem.so" "$lib/libnigh-space.so" "$out.tree/lib"
    "$out.tree/bin/nigh-oshcc" -std=c11 -O2 "$here/pes.c" -o "$out.tree/pes" || fail "nigh-oshcc of a copied tree"
    told=$(nodes "$kind" 2 "$out.tree/pes" 2>&1) && fail "ran without the transport"
    echo "$told" | grep -q "nigh: shmem_init: .*transport .*libnigh-shmem-$kind.so" || fail "no transport: $told" ;;
esac
