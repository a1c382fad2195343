#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Message-driven programs with their PEs as threads and as processes. Usage: chare.sh CASE BUILD_FOLDER
set -u
case=$1
build=$2
nigh=$build/bin/nigh
cases=$build/tests/chare_cases
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAIL: $*"; sed 's/^/  /' "$tmp/told"; exit 1; }
# told WORDS: standard error of the last run has them.
told() { grep -q -- "$1" "$tmp/told" || fail "it is not told: $1"; }
shm() { find /dev/shm -name 'nigh*' 2>/dev/null | sort; }
processes() { timeout 60 "$nigh" run -n "$1" -- "$cases" "$2" 2>"$tmp/told"; }

case $case in
  threads-*)
    for pes in 1 2 5; do
      timeout 60 "$cases" "${case#threads-}" --pes $pes 2>"$tmp/told" || fail "$pes PEs: status $?"
      timeout 60 "$cases" "${case#threads-}" --pes $pes --chare-debug 2>"$tmp/told" || fail "$pes PEs, debug mode: status $?"
      [ -s "$tmp/told" ] && fail "something is told"
    done ;;
  processes-*)
    for pes in 1 2 5; do processes $pes "${case#processes-}" || fail "$pes PEs: status $?"; done
    timeout 60 "$nigh" run -n 3 -- "$cases" "${case#processes-}" --chare-debug 2>"$tmp/told" || fail "debug mode: status $?"
    [ -s "$tmp/told" ] && fail "something is told" ;;
  failing)
    timeout 20 "$cases" failing --pes 2 2>"$tmp/told"
    [ $? = 1 ] || fail "threads: status"
    told 'PE 1: .*Faulty::fail of element \[6\]: as told'
    processes 4 failing
    [ $? = 1 ] || fail "processes: status"
    told 'PE 3: .*Faulty::fail of element \[6\]: as told' ;;
  killed)
    before=$(shm)
    processes 4 killed
    status=$?
    [ $status = 0 ] && fail "status 0 though a PE was killed"
    [ $status = 124 ] && fail "it hangs"
    grep -q "PE 3 has died\|rank 3 .*signal" "$tmp/told" || fail "nobody tells that PE 3 was killed"
    [ "$(shm)" = "$before" ] || fail "something is left in /dev/shm"
    # Without a launcher that ends the others they notice it themselves.
    processes 4 left
    status=$?
    [ $status = 0 ] && fail "status 0 though a PE has left"
    [ $status = 124 ] && fail "it hangs after a PE has left"
    told "PE 3 has died" ;;
  refused)
    processes 2 never
    [ $? = 1 ] || fail "an argument that can't leave its process"
    told "an argument of .*Faulty::never can't leave its process"
    timeout 20 "$cases" never --pes 2 2>"$tmp/told" || fail "which threads can move"
    timeout 20 "$cases" idle --mode processes 2>"$tmp/told"
    [ $? = 2 ] || fail "--mode processes alone"
    told "nigh run -n 4"
    timeout 20 "$nigh" run -n 2 -- "$cases" idle --pes 3 2>"$tmp/told"
    [ $? = 2 ] || fail "another number of PEs"
    told "nigh run -n has started 2 processes"
    processes 2 idle
    [ $? = 1 ] || fail "nothing left to do"
    told "finish() was not called"
    processes 2 nonsense
    [ $? = 1 ] || fail "a throwing main"
    told "PE 0: which case?" ;;
  *) fail "unknown case $case" ;;
esac
exit 0
