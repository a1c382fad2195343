#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# automatic.sh CASE BUILD COMPILER: one case of `nigh run -- ./app`, which is told nothing of teams or messages.
case=$1 build=$2 compiler=$3
. "$(dirname "$0")/../testing.sh"
program=$build/tests/automatic-$compiler
[ -x "$program" ] || skip "$([ "$compiler" = gcc ] && echo libgomp || echo libomp)" "there is no $program"
run="$nigh run --teams auto" # bound also where all PUs are alike, as they are on most machines that run this

pus=$(nproc)
account() { sed -n "s/^  $1 *//p" "$tmp/err"; } # account FIELD
off_because() { account teams | grep -q "^auto, off: $1" || fail "the account does not say: $1"; }
bound() { grep -q '^0:[0-9]' "$tmp/out" && out_lacks '\*' || fail "the team is not bound"; }
free() { out_has '^0:\*' && out_lacks ':[0-9]' || fail "the team is bound"; }

case_bound() {
  two_pus
  ok $run --explain -- "$program" plain 0.6
  bound
  [ "$(tr ' ' '\n' <"$tmp/out" | cut -d: -f2 | sort -u | wc -l)" = "$pus" ] || fail "threads share PUs"
  says 'every thread was on its planned PU'
  says 'teams *auto$'
}

case_short() { # a program that ends at once pays for nothing
  two_pus
  ok $run --explain -- "$program" plain 0.01
  free
  says 'no team was bound: regions were opened for less than 0.25 s'
  need strace strace
  ok strace -f -e trace=sched_setaffinity,openat -o "$tmp/trace" $run -- "$program" plain 0.01
  # libomp binds itself to processors to count them; our masks have 512 bytes.
  ! grep -q 'libnigh\.so\|sched_setaffinity([0-9]*, 512,' "$tmp/trace" || fail "the planner was opened, or a thread bound"
  ok strace -f -e trace=sched_setaffinity -o "$tmp/trace" $run -- "$program" plain 0.6
  grep -q 'sched_setaffinity([0-9]*, 512,' "$tmp/trace" || fail "a bound thread is not seen"
}

case_alike() { # nothing to gain where all PUs share the one memory and a cache
  two_pus
  grep -q '[-,]' /sys/devices/system/node/has_memory && skip alike "there are several NUMA nodes"
  last=$(cat /sys/devices/system/cpu/cpu0/cache/index*/shared_cpu_list 2>/dev/null | tail -1)
  [ -z "$last" ] || [ "$last" = "$(cat /sys/devices/system/cpu/online)" ] || skip alike "there are several caches"
  ok "$nigh" run --explain -- "$program" plain 0.6
  free
  says 'nothing was bound: all PUs share one memory and one cache'
  ok env NIGH_EXPLAIN=line "$nigh" run -- "$program" plain 0.6
  silent
  need strace strace
  ok strace -f -e trace=openat -o "$tmp/trace" "$nigh" run -- "$program" plain 0.6
  ! grep -q 'libnigh\.so' "$tmp/trace" || fail "the planner was opened"
}

case_script() { # what a script starts has its account, the script has none
  two_pus
  ok $run --explain -- sh -c "'$program' plain 0.6; ls / >'$tmp/list'"
  [ "$(grep -c 'account of' "$tmp/err")" = 1 ] || fail "not one account"
  says "account of $program"
  says 'every thread was on its planned PU'
}

case_nested() { # two levels on two PUs: the outer team has them all, so the inner ones would share
  two_pus
  ok $run --explain -- "$program" plain 0.6 "$pus" 2
  free
  off_because "$((2 * pus)) threads for $pus PUs"
}

case_many() {
  two_pus
  ok env OMP_NUM_THREADS=$((2 * pus)) $run --explain -- "$program" plain 0.6
  free
  off_because "$((2 * pus)) threads for $pus PUs"
}

case_neighbour() { # a second program finds its PUs taken, and has them when the first one is gone
  two_pus
  $run -- "$program" plain 3 >"$tmp/first" &
  first=$!
  sleep 1
  ok $run --explain -- "$program" plain 0.6
  free
  off_because "process $first has bound threads to PU"
  kill -9 $first
  wait $first
  ok $run --explain -- "$program" plain 0.6
  bound
}

case_users() { # who binds by variables, or by calls, knows better
  two_pus
  ok env OMP_PROC_BIND=false $nigh run -- sh -c 'echo "teams=$NIGH_TEAMS"'
  out_is 'teams='
  ok env OMP_PROC_BIND=false $run --explain -- "$program" plain 0.6
  says 'off: teams, since OMP_PROC_BIND=false of yours binds the threads'
  free
  ok $run -- sh -c "OMP_PROC_BIND=false $program plain 0.6"
  free
  ok $run --explain -- "$program" own 0.6 "$pus"
  grep -q "^0:$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)" "$tmp/out" || [ "$pus" != "$(nproc --all)" ] || fail "nigh bound what the program had bound"
  off_because 'the program binds its threads itself'
}

case_fork() {
  two_pus
  [ "$compiler" = gcc ] && return 0 # libgomp can't open a region in a forked child
  ok $run -- "$program" fork 0.6
  free
}

case_root() {
  two_pus
  ok $run -- "$program" root 0.6
  free
}

case_words() {
  ok $nigh run -- sh -c 'echo "$LD_PRELOAD $NIGH_TEAMS"'
  silent
  out_has 'libnigh-mpi.so:.*libnigh-openmp.so auto$'
  ok $nigh run --only teams -- sh -c 'echo "$LD_PRELOAD $NIGH_TEAMS"'
  out_lacks libnigh-mpi.so
  out_has 'libnigh-openmp.so auto$'
  ok $nigh run --off teams -- sh -c 'echo "$LD_PRELOAD:$NIGH_TEAMS"'
  out_has 'libnigh-mpi.so:$'
  ok $nigh run --off teams,mpi -- sh -c 'echo "<$LD_PRELOAD$NIGH_TEAMS>"'
  out_is '<>'
  status 2 $nigh run --off everything -- true
  says 'everything'
  status 125 $nigh run
  says 'say what to run: nigh run -- ./app'
  status 7 $nigh run -- sh -c 'exit 7'
  status 127 $nigh run -- no-such-program-here
  ok $nigh run --dry-run -- "$program"
  out_has 'set  *NIGH_TEAMS=auto'
  ok env NIGH_TEAMS=yes LD_PRELOAD="$lib/libnigh-openmp.so" "$program" plain 0.01
  says "NIGH_TEAMS"
}

case_alone() { # programs before which no library may stand; the mask; nigh within nigh
  printf 'int main(void) { return 3; }\n' >"$tmp/p.c"
  if [ "$compiler" = gcc ] && gcc -fsanitize=address "$tmp/p.c" -o "$tmp/asan" 2>/dev/null; then
    status 3 "$nigh" run --explain -- "$tmp/asan"
    says 'runs without nigh: AddressSanitizer'
  fi
  ok "$nigh" run -- "$nigh" run --off mpi,teams -- sh -c 'echo "<$LD_PRELOAD$NIGH_TEAMS>"'
  out_is '<>'
  ok "$nigh" run -- env LD_PRELOAD="$lib/libnigh-openmp.so:libdl.so.2" "$nigh" run --off mpi,teams -- sh -c 'echo "<$LD_PRELOAD>"'
  out_is '<libdl.so.2>'
  two_pus
  ok "$nigh" run --mask 1 -- nproc
  out_is 1
}

case_line() { # one line at the end, for people who look on
  two_pus
  ok env NIGH_EXPLAIN=line $run -- "$program" plain 0.6
  lines 1
  says "^nigh: automatic-$compiler: teams of $pus bound, 0 threads moved since$"
  ok env NIGH_EXPLAIN=line OMP_NUM_THREADS=$((2 * pus)) $run -- "$program" plain 0.6
  says "teams not bound: $((2 * pus)) threads for $pus PUs"
  ok env NIGH_EXPLAIN=line $run -- "$program" plain 0.01
  silent
  # Neither shells nor what they fork has anything to tell, also where somebody binds.
  ok env NIGH_EXPLAIN=line $run -- bash -c '(true); (ls / >/dev/null; true); OMP_PROC_BIND=true python3 -c "import os; os.fork()"'
  silent
  have script || return 0
  ok script -qec "$run -- $program plain 0.6" /dev/null
  out_has "teams of $pus bound"
  ok $run -- "$program" plain 0.6
  silent
}

"case_$case"
