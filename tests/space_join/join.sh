#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# join.sh CASE BUILD: one case of ranks that find, refuse, miss and outlive each other.
case=$1 build=$2
. "$(dirname "$0")/../openmp/testing.sh"
rank=$build/tests/space_join_rank
stranger=$build/tests/space_join_stranger
run="$nigh run"
# A job of its own: cases run side by side, and the names of the sockets hold the job's key.
secret=$(printf '%s %s' "$case" $$ | md5sum | cut -c 1-32)

# Our traces in this network namespace and in the folders of all: sockets, folders. Not the file of bound PUs, which all
# jobs share and another test may make meanwhile.
traces() {
  { grep -o '[@/][^ ]*nigh-[^ ]*' /proc/net/unix; ls -d /dev/shm/*nigh* /tmp/*nigh* 2>/dev/null; } | grep -v nigh-bound-pus | sort -u
}
place() { # place RANK SIZE COMMAND..: as a rank of a job with our secret
  r=$1 s=$2
  shift 2
  NIGH_RANK=$r NIGH_SIZE=$s NIGH_JOB=$secret LD_PRELOAD=$lib/libnigh-space.so timeout 60 "$@"
}
reached() { # reached N RANKS: RANKS ranks said that they reach N
  [ "$(grep -c "^rank [0-9]* reaches $1 in" "$tmp/out")" = "$2" ] || fail "not $2 ranks that reach $1"
}

case_few() {
  for n in 1 2 8; do
    ok $run -n $n -- "$rank"
    reached $n $n
    silent
  done
}

case_many() {
  ok $run -n 64 -- "$rank"
  reached 64 64
}

case_crowd() { # smaller slots
  ok $run -n 120 -- "$rank" timeout=60000
  reached 120 120
}

case_static() {
  ok $run -n 4 --share data -- "$rank" share=1
  reached 4 4
  ok $run -n 2 -- "$rank" share=0
}

case_late() {
  ok $run -n 3 -- "$rank" who=1 late=1500
  reached 3 3
  silent
}

case_missing() { # a rank that never comes: the others go on, and only they
  ok $run -n 4 -- "$rank" who=2 never=2500 timeout=1000 reach=3
  reached 3 3
  out_has 'rank 2: did not join in time'
}

case_told_late() { # after 10 s one line, by one rank
  ok $run -n 3 -- "$rank" who=2 late=11000
  reached 3 3
  [ "$(grep -c '^nigh: rank 2 of 3 has not joined the space after 1[01] s' "$tmp/err")" = 1 ] || fail "not one line about the late rank"
  lines 1
}

case_gone() { # ended well before it joined: known from the launcher, nobody waits
  start=$(date +%s)
  ok $run -n 4 -- "$rank" who=3 never=300 timeout=50000 reach=3
  [ $(($(date +%s) - start)) -lt 15 ] || fail "they waited for a rank that had ended"
  out_has 'rank 3: ended before it had joined'
}

case_killed_before() {
  start=$(date +%s)
  status 137 $run -n 4 -- "$rank" who=1 die=1
  [ $(($(date +%s) - start)) -lt 15 ] || fail "they waited for a dead rank"
  says 'nigh run: rank 1 (process [0-9]*) was ended by signal 9'
  lines 1
}

case_killed_during() { # no launcher that ends the rest: the survivors agree on who is there
  for round in 0 1 2 3 4 5 6 7; do
    for r in 0 1 2 3; do
      NIGH_RANK=$r NIGH_SIZE=4 NIGH_JOB=$secret LD_PRELOAD=$lib/libnigh-space.so \
        "$rank" timeout=1500 reach=-1 alone=1 >"$tmp/out$r" 2>"$tmp/err" &
    done
    victim=$!
    sleep "0.00$round"
    kill -9 $victim 2>/dev/null
    wait
    cat "$tmp"/out[012] >"$tmp/out"
    [ "$(grep -c '^rank [0-2] reaches [34] in' "$tmp/out")" = 3 ] || fail "round $round: a survivor failed"
    [ "$(sed 's/.* reaches \([0-9]\) in.*/\1/' "$tmp/out" | sort -u | wc -l)" = 1 ] ||
      fail "round $round: survivors disagree"
  done
}

with_stranger() { # with_stranger HOW SENTENCE ANSWER
  place 0 2 "$rank" timeout=2500 reach=1 >"$tmp/out" 2>"$tmp/err" &
  first=$!
  got=0
  "$stranger" $1 $secret 2000 >"$tmp/stranger" </dev/null || got=$?
  wait $first || fail "the rank did not go on alone"
  [ $got != 77 ] || skip root "can't become another user"
  out_has "$2"
  [ "$(cat "$tmp/stranger")" = "$3" ] || fail "it got: $(cat "$tmp/stranger")"
}
case_other_key() { with_stranger key 'rank 1: refused: it has another job key' 'answer 3'; }
case_other_version() { with_stranger version 'rank 1: refused: it has another version of nigh' 'answer 4'; }
case_other_size() { with_stranger size 'rank 1: its memory could not be mapped' 'answer 5'; }
case_other_user() {
  [ "$(id -u)" = 0 ] || skip root "only root can become another user"
  with_stranger user "rank 1: refused: another user's process listens in its place" 'hung up'
}
case_garbage() { with_stranger garbage 'rank 1: refused: what listens in its place is not nigh' 'hung up'; }
case_silent() { with_stranger silent 'rank 1: did not join in time' 'no answer'; }

case_two_jobs() { # side by side, each among itself
  $run -n 4 -- "$rank" late=300 >"$tmp/a" 2>&1 &
  $run -n 4 -- "$rank" late=300 >"$tmp/b" 2>&1 &
  wait
  cat "$tmp/a" "$tmp/b" >"$tmp/out"
  reached 4 8
  # The same place taken twice: the second stands aside.
  place 0 2 "$rank" timeout=4000 >"$tmp/a" 2>&1 &
  sleep 0.5
  place 0 2 "$rank" timeout=300 apart=1 >"$tmp/out" 2>"$tmp/err" || fail "the second one joined"
  out_has 'another process of rank 0 has joined in its place'
  place 1 2 "$rank" timeout=4000 >"$tmp/b" 2>&1
  wait
  cat "$tmp/a" "$tmp/b" >"$tmp/out"
  reached 2 2
}

case_closed() { # standard streams closed: no socket takes their numbers
  ok $run -n 4 -- "$rank" who=1 close=1
  reached 4 3
  silent
}

case_files() { # few open files: all stand aside, and say so
  ok sh -c "ulimit -n 60; exec $nigh run -n 64 -- $rank apart=1 timeout=3000"
  [ "$(grep -c 'stands aside: the limit of open files (ulimit -n, now 60) is too low for a space of 64 ranks' "$tmp/out")" = 64 ] ||
    fail "not all of them"
  ok sh -c "ulimit -n 60; exec $nigh run -n 16 -- $rank"
  reached 16 16
}

case_signals() {
  ok $run -n 8 -- "$rank" storm=1
  reached 8 8
}

case_nodump() {
  ok $run -n 4 -- "$rank" nodump=1 who=2
  reached 4 4
}

case_netns() { # a network namespace of its own: not to be found, and said
  unshare -n true 2>/dev/null || skip root "no right to make a network namespace"
  ok $run -n 3 -- sh -c "if [ \$NIGH_RANK = 1 ]; then exec unshare -n $rank timeout=1500 reach=1; else exec $rank timeout=1500 reach=2; fi"
  reached 1 1
  reached 2 2
}

case_pidns() {
  unshare -p -f true 2>/dev/null || skip root "no right to make a pid namespace"
  ok $run -n 3 -- sh -c "if [ \$NIGH_RANK = 1 ]; then exec unshare -p -f $rank; else exec $rank; fi"
  reached 3 3
}

case_script() { # a rank started by a script that has us too
  ok $run -n 4 -- sh -c "true; $rank; true"
  reached 4 4
}

case_leftovers() { # all killed at once: nothing stays
  traces >"$tmp/before"
  $run -n 6 -- "$rank" hold=30000 >"$tmp/out" 2>"$tmp/err" &
  launcher=$!
  for _ in $(seq 200); do [ "$(grep -c holds "$tmp/out")" = 6 ] && break || sleep 0.05; done
  [ "$(grep -c holds "$tmp/out")" = 6 ] || fail "they did not join"
  ranks=$(pgrep -P $launcher)
  kill -9 $launcher
  wait $launcher 2>/dev/null
  for _ in $(seq 100); do
    left=0
    for pid in $ranks; do [ -d /proc/$pid ] && ! grep -q '^State:.*[ZX]' /proc/$pid/status 2>/dev/null && left=1; done
    [ $left = 0 ] && break || sleep 0.05
  done
  [ $left = 0 ] || fail "ranks outlived the launcher"
  # Other jobs come and go meanwhile: left is what stays.
  traces | comm -13 "$tmp/before" - >"$tmp/left"
  for _ in $(seq 50); do
    [ -s "$tmp/left" ] || return 0
    sleep 0.1
    traces | comm -12 "$tmp/left" - >"$tmp/still"
    mv "$tmp/still" "$tmp/left"
  done
  fail "this is left: $(cat "$tmp/left")"
}

case_beset() { # another user connects again and again: few are taken, and nobody waits
  [ "$(id -u)" = 0 ] || skip root "only root can become another user"
  mkfifo "$tmp/hold"
  "$build/tests/space_join_beset" 1 <"$tmp/hold" >"$tmp/made" &
  exec 9>"$tmp/hold"
  for _ in 1 2 3; do
    ok $run --explain -n 4 -- "$rank" late=200 reach=4 timeout=20000
    reached 4 4
    sent=$(sed -n 's/.*sent away \([0-9]*\) visitor.*/\1/p' "$tmp/err" "$tmp/out" | sort -n | tail -1)
    [ "${sent:-0}" -le 80 ] || fail "$sent strangers were taken"
    time=$(sed -n 's/.*reaches 4 in \([0-9]*\)[.0-9]* ms.*/\1/p' "$tmp/err" "$tmp/out" | sort -n | tail -1)
    [ "${time:-9999}" -lt 5000 ] || fail "it took ${time:-?} ms"
  done
  exec 9>&-
  wait
  [ "$(cat "$tmp/made")" -gt 100 ] || fail "nobody beset them: $(cat "$tmp/made")"
}

case_$case
