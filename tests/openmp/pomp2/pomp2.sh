#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# pomp2.sh CASE BUILD: instruments a program with opari2, links it to libnigh-pomp2 and looks where its threads are.
case=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../testing.sh"
spec=2,scatter,2,subcompact
need opari2 opari2
need opari2-config opari2

find_one() { for p in "$@"; do have "$p" && echo "$p" && return; done; echo "$1"; }
make_() { "$@" >"$tmp/out" 2>"$tmp/err" || fail "can't build: $*"; }

# instrument COMPILER C-COMPILER SOURCE [OPARI2-OPTIONS]: leaves objects in $tmp
instrument() {
  name=$(basename "$3") compiler=$1 c_compiler=$2
  extension=${name##*.}
  [ "$extension" = f90 ] && modified=instrumented.F90 || modified=instrumented.c
  need "$compiler" "${need_name:-libgomp}"
  [ "$3" -ef "$tmp/$name" ] || cp "$3" "$tmp/$name"
  cd "$tmp" || exit 1
  shift 3
  make_ opari2 "$@" "$name" "$modified"
  make_ "$compiler" -fopenmp $(opari2-config --cflags) -I. -I"$here/../../../include" -c "$modified" -o program.o
  sh -c "$(opari2-config --create-pomp2-regions program.o)" >regions.c || fail "opari2-config"
  make_ "$c_compiler" -c regions.c -o regions.o
  make_ "$c_compiler" -fopenmp -c "$here/../observe.c" -o observe.o
}
link_() { # link_ COMPILER [FLAGS]
  compiler=$1
  shift
  make_ "$compiler" -fopenmp program.o regions.o observe.o "$@" -L"$lib" -Wl,-rpath,"$lib" -lnigh-pomp2 -ldl -lpthread -o program
}
build() { instrument "$@" && link_ "$1"; }

as_planned() { # as_planned SPEC [PROGRAM]: observed affinity equals the plan
  "$nigh" run --teams "$1" --dry-run --json -- x >"$tmp/plan.json" || fail "no plan"
  ok env OMP_NESTING_TEAM_SIZE="$1" ./program
  silent
  python3 "$here/../planned.py" "$tmp/plan.json" "$tmp/out" || fail "not as planned: $1"
}
maps() {
  two_pus
  for s in 2,scatter,2,subcompact 2,compact,2,scatter 2,scatter,2,scatter 2,compact,2,subscatter; do as_planned $s; done
  ok ./program # no spec: nothing is bound
  silent
  ! grep -q ' : [0-9]*$' "$tmp/out" || fail "bound without a spec"
}

case_c_gcc() { build gcc gcc "$here/nested.c"; maps; }
case_c_clang() { need_name=libomp; c=$(find_one clang-19 clang); build "$c" "$c" "$here/nested.c"; maps; }
case_fortran_gfortran() { need_name=fortran; build gfortran gcc "$here/nested.f90"; maps; }
case_fortran_flang() {
  need_name=fortran
  build "$(find_one flang-new-19 flang-19 flang-new flang)" "$(find_one clang-19 clang)" "$here/nested.f90"
  maps
}

case_static() { # libnigh-pomp2.a in the program; the planner is still found
  instrument gcc gcc "$here/nested.c"
  make_ gcc -fopenmp program.o regions.o observe.o "$lib/libnigh-pomp2.a" -ldl -lpthread -o program
  ! ldd ./program | grep -q nigh || fail "not static"
  LD_LIBRARY_PATH=$lib
  export LD_LIBRARY_PATH
  maps
}

same_sum() { # with our library, bound, as without instrumentation
  make_ "$1" -fopenmp "$2" -o plain
  wanted=$(./plain) || fail "the plain program"
  for _ in 1 2 3; do
    ok env OMP_NESTING_TEAM_SIZE=4,scatter ./program
    silent
    out_is "$wanted"
  done
  ok ./program
  out_is "$wanted"
}
case_constructs() { build gcc gcc "$here/constructs.c"; same_sum gcc "$here/constructs.c"; }
case_constructs_fortran() {
  need_name=fortran
  build gfortran gcc "$here/constructs.f90"
  same_sum gfortran "$here/constructs.f90"
}

case_synthetic() { # another machine: planned, accounted for, not bound
  build gcc gcc "$here/nested.c"
  ok env NIGH_MACHINE="synthetic:pack:4 numa:1 core:4 pu:1" NIGH_EXPLAIN=text OMP_NESTING_TEAM_SIZE=4,scatter,4,scatter ./program 4 4
  [ "$(cat "$tmp/err")" = "nigh-pomp2: team /*:4 on PUs 0 4 8 12
nigh-pomp2: team /0:4/*:4 on PUs 0 5 10 15
nigh-pomp2: team /1:4/*:4 on PUs 4 9 14 3
nigh-pomp2: team /2:4/*:4 on PUs 8 13 2 7
nigh-pomp2: team /3:4/*:4 on PUs 12 1 6 11" ] || fail "not the expected map"
  two_pus
  ! grep -q ' : [0-9]*$' "$tmp/out" || fail "bound on this machine"
  ok env NIGH_MACHINE=nehalem-sun NIGH_EXPLAIN=text NIGH_EXPLAIN_FILE="$tmp/map.%p" NIGH_MASK=4-7 \
    OMP_NESTING_TEAM_SIZE=2,scatter,2,subcompact ./program
  silent
  grep -q 'team /1:2/\*:2 on PUs 6 7' "$tmp"/map.* || fail "no map in the file, or another"
}

case_outside() { # masks that others change while the program runs
  two_pus
  cp "$here/../traps/trap.h" "$tmp/"
  build gcc gcc "$here/../traps/outside.c"
  for what in all self; do
    ok env OMP_NESTING_TEAM_SIZE=2,scatter ./program "$what"
    silent
    out_has '^right$'
  done
}

case_deeper() { # below the spec's last level the master stays and the others are free
  build gcc gcc "$here/nested.c"
  two_pus
  ok env OMP_NESTING_TEAM_SIZE=2,scatter ./program
  grep -q '^[01]\.0 : [0-9]*$' "$tmp/out" || fail "an inner master has moved"
  [ "$(grep -c '^[01]\.1 : [0-9]* [0-9]' "$tmp/out")" = 2 ] || fail "an inner thread is bound"
  ok env OMP_NESTING_TEAM_SIZE=2,scatter,2,subcompact ./program 1 1 # teams of one bind nobody
  ! grep -q ' : [0-9]*$' "$tmp/out" || fail "a lone thread is bound"
}

case_badspec() {
  build gcc gcc "$here/nested.c"
  ok env OMP_NESTING_TEAM_SIZE=2,scatter,two,compact ./program 2 2 50
  lines 1
  says "^nigh-pomp2: OMP_NESTING_TEAM_SIZE: token 3 ('two').*; the program runs unbound$"
  two_pus
  ! grep -q ' : [0-9]*$' "$tmp/out" || fail "bound"
}

case_foreign() {
  build gcc gcc "$here/nested.c"
  ok env OMP_PROC_BIND=close OMP_NESTING_TEAM_SIZE=$spec ./program
  lines 1
  says "OMP_PROC_BIND makes the OpenMP runtime bind the threads itself"
}

case_aside() { # nigh run places the threads; the linked library does nothing, not even an account
  build gcc gcc "$here/nested.c"
  two_pus
  "$nigh" run --teams 2,compact,2,scatter --dry-run --json -- x >"$tmp/plan.json" || fail "no plan"
  ok "$nigh" run --explain --teams 2,compact,2,scatter -- ./program
  says '^nigh: account of'
  ! grep -q nigh-pomp2 "$tmp/err" || fail "both libraries act"
  python3 "$here/../planned.py" "$tmp/plan.json" "$tmp/out" || fail "not as planned"
}

case_setinfo() { # the run-time call reaches this library too
  build gcc gcc "$here/../api/calls.c"
  two_pus
  ok ./program
  lines 1
  says "^nigh-pomp2: omp_set_nesting_info: .*'nowhere'.*; the plan stays as it was$"
  out_has '^== status 0 -1$'
  for part in first changed kept; do
    sed -n "/^== $part/,/^== [^$part]/p" out | grep ' : ' | sort | sed 's/.* : //' | tr '\n' ' ' >"$part.pus"
  done
  set -- $(cat first.pus)
  [ "$1$3" = "$2$4" ] && [ "$1" != "$3" ] || fail "the first plan is not in force at first"
  set -- $(cat changed.pus)
  [ "$1$2" = "$4$3" ] && [ "$1" != "$2" ] || fail "the second plan is not in force after it"
  cmp -s changed.pus kept.pus || fail "a bad spec changed the plan"
}

case_fork() { # a child process gets the whole mask back
  two_pus
  cat >"$tmp/forks.c" <<'C'
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
void observe(void);
int main(void) {
#pragma omp parallel num_threads(2)
  observe();
  fflush(stdout);
  if (fork() == 0) {
    observe();
    _exit(0);
  }
  wait(NULL);
  return 0;
}
C
  build gcc gcc "$tmp/forks.c"
  ok env OMP_NESTING_TEAM_SIZE=2,scatter ./program
  out_has '^0 : [0-9]*$'
  out_has '^ : [0-9]* [0-9]'
}

case_syscalls() { # once everybody is in place, more regions make no more calls
  need strace strace
  need_name=libomp
  c=$(find_one clang-19 clang) # libomp keeps inner teams; libgomp makes new threads, which must be bound
  build "$c" "$c" "$here/nested.c"
  two_pus
  calls() {
    KMP_HOT_TEAMS_MAX_LEVEL=2 OMP_NESTING_TEAM_SIZE=$spec strace -f -e trace=sched_setaffinity -o trace ./program 2 2 $1 >out ||
      skip strace "strace can't trace here"
    grep -c 'sched_setaffinity(0' trace
  }
  few=$(calls 3) many=$(calls 2000)
  [ "$few" -ge 2 ] || fail "no thread was bound: $few calls"
  [ "$many" -le $((few + 4)) ] || fail "$few calls in 3 rounds, $many in 2000"
}

case_symbols() { # all that opari2 declares, or libpomp.a would be needed as well
  header=$(echo '#include <opari2/pomp2_lib.h>
#include <opari2/pomp2_user_lib.h>' | gcc -fopenmp $(opari2-config --cflags) -E - | grep -o 'POMP2_[A-Za-z0-9_]*' | sort -u |
    grep -v '_handle$\|Get_num_regions\|Init_regions\|Get_opari2_version')
  header="$header POMP2_Assign_handle POMP2_USER_Assign_handle POMP2_Get_new_task_handle"
  nm -D --defined-only "$lib/libnigh-pomp2.so" | awk '{print $3}' >"$tmp/ours"
  nm --defined-only "$lib/libnigh-pomp2.a" 2>/dev/null | awk '{print $3}' >"$tmp/archive"
  count=0
  for name in $header; do
    fortran=$(echo "${name}_" | tr A-Z a-z | sed 's/_for_/_do_/')
    for list in ours archive; do
      grep -qx "$name" "$tmp/$list" || fail "$name is missing from $list"
      [ "$name" = POMP2_Get_new_task_handle ] || grep -qx "$fortran" "$tmp/$list" || fail "$fortran is missing from $list"
    done
    count=$((count + 1))
  done
  [ $count -gt 60 ] || fail "only $count functions found in the header"
  ! ldd "$lib/libnigh-pomp2.so" | grep -q 'gomp\|libomp' || fail "linked to an OpenMP runtime"
}

case_noplanner() { # without libnigh.so: one sentence, unbound
  build gcc gcc "$here/nested.c"
  mkdir alone && cp "$lib/libnigh-pomp2.so" alone
  ok env LD_LIBRARY_PATH="$tmp/alone" OMP_NESTING_TEAM_SIZE=$spec LD_PRELOAD="$tmp/alone/libnigh-pomp2.so" ./program 2 2 20
  if ! grep -q . "$tmp/err"; then skip planner "another libnigh.so is installed"; fi
  lines 1
  says 'OMP_NESTING_TEAM_SIZE: the planner could not be opened (.*); the program runs unbound$'
}

case_tpd() { # --omp-tpd wants a variable of ours
  build gcc gcc "$here/nested.c" --omp-tpd
  two_pus
  as_planned $spec
}

"case_$(echo "$case" | tr - _)"
