#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Message-driven programs in all modes. Usage: chare.sh CASE BUILD_FOLDER
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
# Names in shared memory of jobs that have ended. Other tests run at once, and `nigh run` keeps one for all jobs.
shm() {
  find /dev/shm -name 'nigh*' ! -name nigh-bound-pus 2>/dev/null | sort | while read -r name; do
    kill -0 "${name##*-}" 2>/dev/null || echo "$name"
  done
}
# Nothing is there that was not before; another test's job may just have ended.
clean() {
  for i in 1 2 3 4 5 6 7 8 9 10; do
    left=$(shm | while read -r name; do case $before in *"$name"*) ;; *) echo "$name" ;; esac; done)
    [ -z "$left" ] && return
    sleep 0.3
  done
  fail "left in /dev/shm: $left"
}
processes() { timeout 60 "$nigh" run -n "$1" -- "$cases" "$2" 2>"$tmp/told"; }
# by_mpi LIBRARY PROCESSES WORDS...
by_mpi() {
  library=$1
  ranks=$2
  shift 2
  here="-bind-to none"
  [ "$library" = openmpi ] && here="--bind-to none --oversubscribe"
  # shellcheck disable=SC2086
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 60 "mpirun.$library" $here -n "$ranks" "$cases" "$@" >"$tmp/said" 2>"$tmp/told" </dev/null
}
# True if that MPI is here, and its transport built.
has_mpi() { command -v "mpirun.$1" >/dev/null && [ -e "$build/lib/libnigh-chare-$1.so" ]; }

case $case in
  threads-*)
    for pes in 1 2 5; do
      timeout 60 "$cases" "${case#threads-}" --pes $pes 2>"$tmp/told" || fail "$pes PEs: status $?"
      timeout 60 "$cases" "${case#threads-}" --pes $pes --chare-debug 2>"$tmp/told" || fail "$pes PEs, debug mode: status $?"
      timeout 60 "$cases" "${case#threads-}" --pes $pes --by-pointer 2>"$tmp/told" || fail "$pes PEs, by pointer: status $?"
      [ -s "$tmp/told" ] && fail "something is told"
    done ;;
  processes-*)
    timeout 60 "$nigh" run -n 2 -- "$cases" "${case#processes-}" --by-pointer 2>"$tmp/told" || fail "by pointer: status $?"
    for pes in 1 2 5; do processes $pes "${case#processes-}" || fail "$pes PEs: status $?"; done
    timeout 60 "$nigh" run -n 3 -- "$cases" "${case#processes-}" --chare-debug 2>"$tmp/told" || fail "debug mode: status $?"
    [ -s "$tmp/told" ] && fail "something is told" ;;
  shm-*)
    before=$(shm)
    for pes in 1 2 5; do
      timeout 60 "$cases" "${case#shm-}" --mode shm --pes $pes 2>"$tmp/told" || fail "$pes PEs: status $?"
      timeout 60 "$cases" "${case#shm-}" --mode shm --pes $pes --chare-debug 2>"$tmp/told" ||
        fail "$pes PEs, debug mode: status $?"
      timeout 60 "$cases" "${case#shm-}" --mode shm --pes $pes --comm-thread 2>"$tmp/told" ||
        fail "$pes PEs, communication threads: status $?"
      [ -s "$tmp/told" ] && fail "something is told"
    done
    clean ;;
  mpi-*)
    library=${case#mpi-}
    has_mpi "$library" || { echo "$library is not here"; exit 77; }
    # Nodes, processes, the rest: all on one node, two nodes of two processes, a node each.
    for what in arguments loads traffic sparse moving heaps; do
      for words in "1 1 --pes 3" "1 3 --pes 2" "1 2 --pes 2 --comm-thread --chare-debug" "2 2 --pes 1" \
        "2 4 --pes 1" "2 4 --pes 2 --comm-thread" "3 3 --pes 2" "2 2 --pes 1 --chare-debug" \
        "2 2 --pes 2 --comm-thread --chare-debug"; do
        # The transport is the same code for both: MPICH's ranks, which spin, run every other one.
        case "$library $words" in mpich*"1 1 --pes 3" | mpich*"1 2 --pes 2"* | mpich*"2 2 --pes 1" | mpich*"2 4 --pes 1") continue ;; esac
        case "$what $words" in loads\ 3* | loads\ 1\ 1* | loads\ 1\ 3* | heaps*debug* | "heaps 1 1"* | "heaps 2 4 --pes 1"* | "heaps 3"*) continue ;; esac
        export NIGH_MPI_FAKE_NODES=${words%% *}
        rest=${words#* }
        # shellcheck disable=SC2086
        by_mpi "$library" ${rest%% *} $what --mode mpi ${rest#* } || fail "$what, $words: status $?"
        grep "nigh" "$tmp/told" && fail "$what, $words: something is told"
      done
    done
    export NIGH_MPI_FAKE_NODES=2
    # However messages are framed: the smallest pieces and all of them alone, and the other way.
    for framing in 1024,0 1024,65536 65536,1024 65536,65536; do
      by_mpi "$library" 2 traffic --pes 2 --framing $framing || fail "--framing $framing: status $?"
      by_mpi "$library" 3 loads --comm-thread --pes 1 --framing=$framing || fail "--framing $framing: status $?"
    done
    by_mpi "$library" 2 traffic --pes 1 --chare-progress 10 || fail "what is measured: status $?"
    told "between nodes in frames of at most .* bytes, messages above [1-9][0-9]* bytes alone, as measured"
    by_mpi "$library" 2 traffic --pes 1 --chare-progress 10 --framing 8192,100 || fail "what is given: status $?"
    told "between nodes in frames of at most 8192 bytes, messages above 100 bytes alone$"
    # Given to one process only: it holds for all.

    here="-bind-to none"
    [ "$library" = openmpi ] && here="--bind-to none --oversubscribe"
    # shellcheck disable=SC2086
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 "mpirun.$library" $here \
      -n 1 "$cases" traffic --pes 1 --chare-progress 10 : -n 1 "$cases" traffic --pes 1 --framing 8192,200 \
      2>"$tmp/told" </dev/null || fail "given to one: status $?"
    told "at most 8192 bytes, messages above 200 bytes alone$"
    by_mpi "$library" 2 faltering --pes 1 && fail "a serialize() that throws: status 0"
    told "PE 0: .*Stutterer::begin of element .0.: as told"
    by_mpi "$library" 2 outspoken --pes 2 || fail "outspoken: status $?"
    by_mpi "$library" 3 outspoken --pes 1 --framing 1024,65536 || fail "outspoken: status $?"
    # Under nigh run --mpi those of a node are a space; several nodes can't be.
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NIGH_MPI_FAKE_NODES=1 timeout 60 "$nigh" run --mpi -- \
      "mpirun.$library" -n 2 "$cases" how processes >"$tmp/said" 2>"$tmp/told" </dev/null || fail "a space: status $?"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NIGH_MPI_FAKE_NODES=2 timeout 60 "$nigh" run --mpi -- \
      "mpirun.$library" -n 2 "$cases" how mpi >"$tmp/said" 2>"$tmp/told" </dev/null || fail "two nodes: status $?"
    # Found without being told; each process has its share of the CPUs.
    by_mpi "$library" 2 traffic || fail "by itself: status $?"
    by_mpi "$library" 3 failing --pes 1 && fail "failing: status 0"
    told 'PE 2: .*Faulty::fail of element \[6\]: as told'
    by_mpi "$library" 2 failing --pes 2 --comm-thread && fail "failing: status 0"
    told 'PE 3: .*Faulty::fail of element \[6\]: as told'
    by_mpi "$library" 2 never --pes 1 && fail "an argument that can't leave: status 0"
    told "an argument of .*Faulty::never can't leave its process"
    by_mpi "$library" 4 idle --pes 1 && fail "nothing left to do: status 0"
    told "finish() was not called"
    for how in killed left; do
      by_mpi "$library" 4 $how --pes 1
      status=$?
      [ $status = 124 ] && fail "$how: it hangs"
      # A process that leaves with status 0 becomes an error under MPICH's launcher, or 0 now and then; it
      # kills the others.
      [ $status = 0 ] && [ "$library $how" != "mpich left" ] && fail "$how: status 0"
    done
    for i in 1 2 3 4; do by_mpi "$library" 3 ending --pes 1 || fail "ending: status $?"; done
    for words in "--pes 1" "--pes 2" "--pes 1 --comm-thread" "--pes 2 --chare-debug" "--pes 1 --comm-thread --chare-debug"; do
      # shellcheck disable=SC2086
      by_mpi "$library" 2 hasty $words || fail "hasty $words: status $?"
      grep "nigh" "$tmp/told" && fail "hasty $words: something is told"
    done
    # Checkpoints are the same files in all modes.
    by_mpi "$library" 2 save "$tmp/cells" --pes 2 || fail "save: status $?"
    by_mpi "$library" 3 load "$tmp/cells" --pes 1 --comm-thread || fail "load: status $?"
    timeout 60 "$cases" load "$tmp/cells" --pes 2 2>"$tmp/told" || fail "load by threads: status $?"
    timeout 60 "$cases" load "$tmp/cells" --mode shm --pes 3 2>"$tmp/told" || fail "load by shm: status $?"
    timeout 60 "$cases" save "$tmp/cells" --mode shm --pes 3 2>"$tmp/told" || fail "save by shm: status $?"
    by_mpi "$library" 2 load "$tmp/cells" --pes 1 || fail "load what shm wrote: status $?" ;;
  failing)
    timeout 20 "$cases" failing --pes 2 2>"$tmp/told"
    [ $? = 1 ] || fail "threads: status"
    told 'PE 1: .*Faulty::fail of element \[6\]: as told'
    processes 4 failing
    [ $? = 1 ] || fail "processes: status"
    told 'PE 3: .*Faulty::fail of element \[6\]: as told'
    # A variable that main sets is the other processes' only where there are none.
    for words in "--mode shm --pes 2" "--mode shm --pes 1" "--pes 2"; do
      # shellcheck disable=SC2086
      timeout 20 "$cases" setting $words 2>"$tmp/told" || fail "$words: status $?"
      case $words in
        "--mode shm --pes 2") told "main has set .*set_by_main, which the elements in other processes do not see" ;;
        *) [ -s "$tmp/told" ] && fail "$words: something is told" ;;
      esac
    done
    processes 2 setting || fail "processes: status"
    told "main has set .*set_by_main, which"
    grep set_before "$tmp/told" && fail "what was set before run() is told" ;;
  killed)
    before=$(shm)
    processes 4 killed
    status=$?
    [ $status = 0 ] && fail "status 0 though a PE was killed"
    [ $status = 124 ] && fail "it hangs"
    grep -q "PE 3 has died\|rank 3 .*signal" "$tmp/told" || fail "nobody tells that PE 3 was killed"
    clean
    # Without a launcher that ends the others they notice it themselves.
    processes 4 left
    status=$?
    [ $status = 0 ] && fail "status 0 though a PE has left"
    [ $status = 124 ] && fail "it hangs after a PE has left"
    told "PE 3 has died"
    for how in killed left; do
      timeout 60 "$cases" $how --mode shm --pes 4 2>"$tmp/told"
      status=$?
      [ $status = 0 ] && fail "shm: status 0 though a PE was $how"
      [ $status = 124 ] && fail "shm: it hangs after a PE was $how"
      [ "$(grep -c "PE 3 has died" "$tmp/told")" = 1 ] || fail "shm: it is not told once that PE 3 has died"
    done
    # The first, which forked the others: they end, too.
    timeout --foreground -s KILL 1 "$cases" endless --mode shm --pes 3 2>"$tmp/told"
    for i in 1 2 3 4 5 6 7 8 9 10; do
      pgrep -f "$cases endless" >/dev/null || break
      sleep 0.5
    done
    pgrep -f "$cases endless" >/dev/null && fail "PEs of --mode shm live on without the first"
    told "PE 0 has died"
    clean ;;
  ending)
    for i in 1 2 3 4 5 6 7 8; do
      timeout 60 "$cases" ending --pes 3 2>"$tmp/told" || fail "threads: status $?"
      processes 3 ending || fail "processes: status $?"
      timeout 60 "$cases" ending --mode shm --pes 3 2>"$tmp/told" || fail "shm: status $?"
    done
    [ -s "$tmp/told" ] && fail "something is told" ;;
  trace)
    check() { python3 "$(dirname "$0")/check_trace.py" "$tmp/trace" "$@" || fail "the trace"; }
    timeout 60 "$cases" ending --pes 3 --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "threads: status $?"
    told "$tmp/trace: 3 PEs, .* s, busy .* messages, .* between PEs"
    check --pes 3 --name Restless::go --busy
    timeout 60 "$cases" traffic --pes 3 --chare-trace="$tmp/trace" 2>"$tmp/told" || fail "threads: status $?"
    check --pes 3 --from others --arrows 0.5 0.8
    timeout 60 "$cases" traffic --pes 3 --by-pointer --chare-trace="$tmp/trace" 2>"$tmp/told" || fail "by pointer: status $?"
    check --pes 3 --from others --arrows 0.5 0.8
    timeout 60 "$cases" traffic --pes 1 --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "one thread: status $?"
    check --pes 1
    timeout 60 "$nigh" run -n 3 -- "$cases" traffic --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "processes"
    check --pes 3 --from others --processes 3 --arrows 0.5 0.8
    timeout 60 "$cases" traffic --mode shm --pes 3 --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "shm: status $?"
    check --pes 3 --from "other processes" --processes 3 --arrows 0.5 0.8
    for mpi in openmpi mpich; do
      has_mpi $mpi || continue
      by_mpi $mpi 2 traffic --pes 2 --chare-trace "$tmp/trace" || fail "$mpi: status $?"
      check --pes 4 --from others --from "other processes" --processes 2 --arrows 0.6 0.9
      by_mpi $mpi 2 traffic --pes 2 --comm-thread --chare-trace "$tmp/trace" || fail "$mpi, communication threads: status $?"
      check --pes 4 --from others --from "other processes" --processes 2 --threads 2 --arrows 0.6 0.9
    done
    # Its memory is known: blocks of 1088, 256 and 64 bytes, and a buffer with chunks of its own.
    exactly="--idle --footprint Heavy::back 300 76800 76800 --footprint buffers 2 4199488 4199488
      --footprint Heavy::load 1 64 64 --most-in-use 4199808"
    for pes in 1 2 3; do
      for debug in "" --chare-debug; do
        timeout 60 "$cases" footprint --pes $pes $debug --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "footprint: status $?"
        told "PE . held the most memory, 6.0 MiB; most at once: buffers, 4.0 MiB on PE ."
        # shellcheck disable=SC2086
        check --pes $pes --footprint Heavy::take 1000 1088000 1088000 $exactly
      done
    done
    timeout 60 "$nigh" run -n 3 -- "$cases" footprint --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "footprint: processes"
    # shellcheck disable=SC2086
    check --pes 3 --processes 3 --footprint Heavy::take 1000 1088000 1088000 $exactly
    # A message to another process takes memory twice on this side, and once on the other.
    for debug in "" --chare-debug; do
      timeout 60 "$cases" footprint --mode shm --pes 3 $debug --chare-trace "$tmp/trace" 2>"$tmp/told" || fail "footprint: shm"
      # shellcheck disable=SC2086
      check --pes 3 --processes 3 --at-least Heavy::take 2000 --at-least "received" 1000 $exactly
      timeout 60 "$cases" footprint --mode shm --pes 3 --comm-thread $debug --chare-trace "$tmp/trace" 2>"$tmp/told" ||
        fail "footprint: shm, communication threads"
      # shellcheck disable=SC2086
      check --pes 3 --processes 3 --threads 3 --at-least Heavy::take 2000 --at-least "received" 1000 $exactly
    done
    if has_mpi mpich; then
      by_mpi mpich 2 footprint --pes 2 --comm-thread --chare-trace "$tmp/trace" || fail "footprint: mpi: status $?"
      # shellcheck disable=SC2086
      check --pes 4 --processes 2 --threads 2 --at-least Heavy::take 1000 $exactly
    fi
    [ "$(ls "$tmp" | grep -c trace)" = 1 ] || fail "parts are left: $(ls "$tmp")"
    # Nowhere to write: told, and the job's status is its own.
    timeout 60 "$cases" traffic --pes 2 --chare-trace "$tmp/none/trace" 2>"$tmp/told" || fail "nowhere: status $?"
    told "the trace: can't write $tmp/none/trace"
    timeout 20 "$cases" traffic --pes 2 --chare-trace 2>"$tmp/told"
    [ $? = 2 ] || fail "no file: status"
    told "takes the name of a file" ;;
  progress)
    # tells KIND...: several lines, of more and more messages.
    tells() {
      "$@" 2>"$tmp/told"
      [ "$(grep -c 'nigh chare: [0-9.]* s: [0-9]* messages, [0-9]* a second now, [0-9]* under way' "$tmp/told")" -gt 3 ] ||
        fail "$*: too few lines"
      sed -n 's/.* s: \([0-9]*\) messages.*/\1/p' "$tmp/told" >"$tmp/counts"
      sort -n -u "$tmp/counts" | cmp -s - "$tmp/counts" || fail "$*: the counts don't grow"
    }
    tells timeout --foreground -s KILL 2 "$cases" endless --pes 3 --chare-progress 0.1
    tells timeout --foreground -s KILL 2 "$cases" endless --mode shm --pes 2 --chare-progress=0.1
    # It keeps nobody from seeing that nothing is left to do, and ends with the job.
    timeout 20 "$cases" idle --pes 2 --chare-progress 0.05 2>"$tmp/told"
    [ $? = 1 ] || fail "nothing left to do"
    told "finish() was not called"
    timeout 60 "$cases" traffic --pes 2 --chare-progress 0.001 2>"$tmp/told" || fail "traffic: status $?"
    timeout 20 "$cases" traffic --pes 2 --chare-progress never 2>"$tmp/told"
    [ $? = 2 ] || fail "no number: status"
    told "takes seconds" ;;
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
    refuses "another shape" "restore: $at is cut off, or was changed"
    python3 "$(dirname "$0")/sum_list.py" "$at"
    refuses "another shape, with its checksum" "restore: .*it has 60 elements in an array of 5 x 4 x 2"
    sed "s/cells\.\([0-9]*\)\.1/cells.\1.0/" "$tmp/list" | awk '/^[0-9]/ && !kept { kept = $0 } /^[0-9]/ { print kept; next } { print }' >"$at"
    python3 "$(dirname "$0")/sum_list.py" "$at"
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
  heaps)
    # Heaps are read at their addresses by every mode, and by those that have read them before.
    at=$tmp/groves
    run() { how=$1; shift; [ "$how" = ranks ] && set -- "$nigh" run -n 3 -- "$cases" "$@" || set -- "$cases" "$@" $how
            timeout 60 "$@" 2>"$tmp/told"; }
    for writer in "--pes 2" ranks "--mode shm --pes 3"; do
      run "$writer" save-heaps "$at" || fail "$writer: save: status $?"
      grep -q "^heaps 1 " "$at" || fail "$writer: the list does not say where the heaps lie"
      for reader in "--pes 1" "--pes 3" ranks "--mode shm --pes 2"; do
        run "$reader" load-heaps "$at" || fail "written by $writer, read by $reader: status $?"
      done
    done
    run "--pes 2" load-heaps-late "$at"
    [ $? = 1 ] || fail "addresses that are in use: status"
    told "has heaps at addresses that are in use: restore it before elements with heaps are made"
    sed 's/^heaps 1 [0-9]*/heaps 1 4096/' "$at" >"$tmp/list" && cp "$tmp/list" "$at"
    python3 "$(dirname "$0")/sum_list.py" "$at"
    run "--pes 2" load-heaps "$at"
    [ $? = 1 ] || fail "another range: status"
    told "has heaps at addresses that are not free in all processes"
    # No address space: told, by those that ask for a heap only.
    (ulimit -v 8000000; timeout 20 "$cases" traffic --pes 2 2>"$tmp/told") || fail "no heap is asked for: status $?"
    (ulimit -v 8000000; timeout 20 "$cases" heaps --pes 2 2>"$tmp/told") && fail "no address space: status 0"
    told "a heap can't be: no addresses are free in all processes, or ulimit -v or -f limits them" ;;
  seated)
    cpus=$(nproc)
    for how in "--pes 2" "--pes 2 --bind compact" "--mode shm --pes 2"; do
      [ "$cpus" -ge 2 ] || break
      timeout 20 "$cases" seated 1 $how 2>"$tmp/told" || fail "$how: not a CPU each"
      timeout 20 "$cases" seated "$cpus" $how --bind none 2>"$tmp/told" || fail "$how --bind none: bound"
    done
    timeout 20 "$cases" seated "$cpus" --pes $((cpus + 1)) 2>"$tmp/told" || fail "more PEs than CPUs: bound"
    timeout 20 "$cases" seated 1 --bind nowhere 2>"$tmp/told"
    [ $? = 2 ] || fail "another way to bind"
    told "scatter, compact or none" ;;
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
    timeout 20 "$nigh" run -n 2 -- "$cases" idle --mode shm 2>"$tmp/told"
    [ $? = 2 ] || fail "--mode shm within nigh run"
    told "run it without nigh run -n"
    timeout 20 "$cases" idle --mode shm --pes 300 2>"$tmp/told"
    [ $? = 1 ] || fail "too many processes"
    told "at most 256 PEs"
    timeout 20 "$cases" idle --mode mpi 2>"$tmp/told"
    [ $? = 1 ] || fail "--mode mpi alone"
    told "NIGH_CHARE_MPI=openmpi or mpich"
    NIGH_CHARE_MPI=openmpi NIGH_CHARE_MPI_LIBRARY=/none timeout 20 "$cases" idle --mode mpi 2>"$tmp/told"
    [ $? = 1 ] || fail "no such library"
    told "no library of Open MPI was found (/none)"
    for framing in 1 8192 8192, 512,0 8192,65537 8192,-1 "8192,100 "; do
      timeout 20 "$cases" idle --framing "$framing" 2>"$tmp/told"
      [ $? = 2 ] || fail "--framing $framing"
      told "such as 8192,4096, not \"$framing\""
    done
    timeout 20 "$cases" idle --mode tcp 2>"$tmp/told"
    [ $? = 2 ] || fail "another mode"
    told "shm or mpi, not \"tcp\""
    processes 2 idle
    [ $? = 1 ] || fail "nothing left to do"
    told "finish() was not called"
    processes 2 nonsense
    [ $? = 1 ] || fail "a throwing main"
    told "PE 0: which case?" ;;
  *) fail "unknown case $case" ;;
esac
exit 0
