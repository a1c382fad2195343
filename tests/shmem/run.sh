#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh CASE BUILD: compiles with nigh-oshcc and runs under nigh run -n, as a user would.
set -u
here=$(dirname "$0")
case=$1 bin=$2/bin out=$2/tests/shmem-$1
fail() { echo "FAIL: $*"; exit 1; }
if [ "$case" = c++ ]; then
  "$bin/nigh-oshc++" -O2 -Wall -Wextra -Werror "$here/pes.cpp" -o "$out" || fail "nigh-oshc++"
  "$bin/nigh" run -n 3 -- "$out" | grep -q "ok c++" || fail "the C++ program"
  exit 0
fi
"$bin/nigh-oshcc" -std=c11 -O2 -Wall -Wextra -Werror "$here/pes.c" -o "$out" || fail "nigh-oshcc"
case $case in
  all)
    for n in 1 2 3 4 8; do
      told=$("$bin/nigh" run -n $n -- "$out") || fail "$n PEs ended with status $?"
      [ "$(echo "$told" | grep -c ^ok)" = 6 ] || fail "$n PEs: $told"
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
esac
