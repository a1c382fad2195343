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
  ending)
    for i in 1 2 3 4 5 6 7 8; do
      timeout 60 "$cases" ending --pes 3 2>"$tmp/told" || fail "threads: status $?"
      processes 3 ending || fail "processes: status $?"
    done
    [ -s "$tmp/told" ] && fail "something is told" ;;
  checkpoint)
    at=$tmp/of/cells
    mkdir "$tmp/of"
    threads() { n=$1; shift; timeout 60 "$cases" "$@" --pes $n 2>"$tmp/told"; }
    ranks() { n=$1; shift; timeout 60 "$nigh" run -n $n -- "$cases" "$@" 2>"$tmp/told"; }
    for kind in threads ranks; do
      for pes in 1 3 4; do
        $kind $pes save "$at" || fail "$kind, $pes PEs: save: status $?"
        [ "$(ls "$tmp/of" | grep -c cells)" = $((pes + 1)) ] || fail "files of an earlier time are left: $(ls "$tmp/of")"
        for after in 1 2 5; do
          threads $after load "$at" || fail "written by $kind, $pes PEs, read by $after threads: status $?"
          ranks $after load "$at" || fail "written by $kind, $pes PEs, read by $after processes: status $?"
        done
      done
      $kind 3 save-sparse "$tmp/of/apart" || fail "$kind: a sparse array: status $?"
      threads 2 load-sparse "$tmp/of/apart" || fail "a sparse array by threads: status $?"
      ranks 4 load-sparse "$tmp/of/apart" || fail "a sparse array by processes: status $?"
      $kind 2 save-twice "$at" || fail "$kind: twice: status $?"
      threads 3 load-second "$at" || fail "the second: status $?"
    done
    # Nowhere to write: told, and the program goes on.
    threads 2 save-nowhere "$tmp/none/cells" || fail "nowhere: status $?"
    told "checkpoint: can't write $tmp/none/cells"
    # A file that is something else is not replaced.
    echo hello >"$tmp/of/mine"
    ranks 2 save-nowhere "$tmp/of/mine" || fail "another file: status $?"
    told "checkpoint: $tmp/of/mine is no checkpoint of an array, so it is not replaced"
    [ "$(cat "$tmp"/of/mine*)" = hello ] || fail "another file was replaced"
    # One that fails leaves nothing of its own, and what others have there.
    mkdir "$tmp/of/way.1.1"
    echo other >"$tmp/of/way.1.7"
    ranks 3 save-nowhere "$tmp/of/way" || fail "a folder in the way: status $?"
    told "checkpoint: can't write $tmp/of/way.1.1"
    [ "$(cd "$tmp/of" && echo way*)" = "way.1.1 way.1.7" ] || fail "after one that failed: $(ls "$tmp/of")"
    # Killed while it writes: the one before is whole.
    threads 2 save "$at" || fail "again"
    for i in 1 2 3 4 5 6 7 8; do
      timeout -s KILL 0.00$i "$cases" save "$at" --pes 2 2>"$tmp/told"
      threads 3 load "$at" || fail "after a kill: status $?"
    done
    # refuses FILE WORDS: what was changed is told, and the job ends.
    refuses() {
      threads 2 load "$at"
      [ $? = 1 ] || fail "$1: status"
      told "$2"
    }
    for left in "$at.nigh-77" "$at.7.1.nigh-77" "$at.7.1"; do echo left >"$left"; done
    for other in "$tmp/of/mine.7.1" "$at.nigh-x" "$at.7.x" "$at.7.1.nigh-7.x" "$at.7"; do echo other >"$other"; done
    threads 2 save "$at" || fail "the last: status $?"
    for other in "$tmp/of/mine.7.1" "$at.nigh-x" "$at.7.x" "$at.7.1.nigh-7.x" "$at.7"; do
      rm "$other" || fail "a file of somebody else's is gone: $other"
    done
    [ "$(ls "$tmp/of" | grep -c cells)" = 3 ] || fail "files of killed jobs are left: $(ls "$tmp/of")"
    part=$(ls "$at".*.1)
    cp "$part" "$tmp/part"
    printf x | dd of="$part" bs=1 seek=500 conv=notrunc 2>/dev/null
    refuses "a byte" "restore: $part is not what was written"
    head -c 100 "$tmp/part" >"$part"
    refuses "a short one" "restore: $part is not what was written"
    rm "$part"
    refuses "none" "restore: can't open $part"
    cp "$tmp/part" "$part"
    head -c 120 "$at" >"$tmp/cut" && cp "$at" "$tmp/list" && cp "$tmp/cut" "$at"
    refuses "a list that is cut off" "restore: $at is"
    sed 's/^shape 5 4 3/shape 5 4 2/' "$tmp/list" >"$at"
    refuses "another shape" "restore: .*outside of an array of 5 x 4 x 2"
    sed "s/cells\.\([0-9]*\)\.1/cells.\1.0/" "$tmp/list" | awk '/^[0-9]/ && !kept { kept = $0 } /^[0-9]/ { print kept; next } { print }' >"$at"
    refuses "a part twice" "restore: .*\(has element .* again\|not all elements\)"
    echo hello >"$at"
    refuses "another file" "restore: $at is no checkpoint"
    cp "$tmp/list" "$at"
    threads 2 load "$at" || fail "as it was"
    timeout 60 "$cases" load-other "$at" --pes 2 2>"$tmp/told"
    [ $? = 1 ] || fail "another type: status"
    told "has elements of another type"
    timeout 60 "$cases" load "$tmp/of/nothing" --pes 2 2>"$tmp/told"
    [ $? = 1 ] || fail "no file: status"
    told "restore: can't open $tmp/of/nothing" ;;
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
