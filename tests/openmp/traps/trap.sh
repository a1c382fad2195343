#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs one trap: trap.sh NAME PROGRAMS LIBRARIES [RUNTIME]. Most programs judge themselves, so a trap is two runs: with nigh
# the program must be right, and without the one cure (or without nigh, where no single cure is meant) it must be wrong; a
# trap that is right both times proves nothing and fails. 77: can't be run here, and says why.
set -u
name=$1 bin=$2 lib=$3 runtime=${4:-gcc}
preload=$lib/libnigh-openmp.so
spec=2,scatter,2,subcompact
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for v in $(env | sed -n 's/^\(OMP_[A-Z_]*\|KMP_[A-Z_]*\|GOMP_[A-Z_]*\|NIGH_[A-Z_]*\)=.*/\1/p'); do
  [ "$v" = NIGH_REQUIRE ] || unset "$v"
done

skip() {
  echo "SKIP: $*"
  case ",${NIGH_REQUIRE:-}," in *,openmp,*) exit 1 ;; esac
  exit 77
}
fail() {
  echo "FAIL: $*"
  cat "$tmp/out" "$tmp/err" 2>/dev/null
  exit 1
}
[ "$(nproc)" -ge 2 ] || skip "one CPU only: a bound thread looks like any other"

# run VARIABLE=value .. -- program: under nigh; the streams are kept. That the plan has more threads than there are PUs may
# well be so here, and is kept apart.
run() {
  got=0
  timeout 120 env LD_PRELOAD="$preload" OMP_NESTING_TEAM_SIZE="$spec" "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
  grep 'threads of the plan share' "$tmp/err" >"$tmp/room"
  sed -i '/threads of the plan share/d' "$tmp/err"
  return $got
}
right() { run "$@" || fail "wrong with nigh: $*"; quiet "$@"; }
quiet() { ! grep -q '^nigh:' "$tmp/err" || fail "nigh had something to say: $*"; }
wrong() { ! run "$@" || fail "right even so, the trap proves nothing: $*"; }
says() { grep -q "$1" "$tmp/err" || fail "stderr lacks: $1"; }
says_once() { [ "$(grep -c '^nigh:' "$tmp/err")" = 1 ] || fail "nigh did not say exactly one sentence"; says "$1"; }
lacks() { ! grep -q "$1" "$tmp/err" || fail "stderr has: $1"; }

# The usual pair: right with nigh, wrong without the cure.
pair() {
  cure=$1
  shift
  right "$@"
  wrong NIGH_CURES_OFF="$cure" "$@"
}
# Right with nigh, wrong without it: for what is no single cure.
with_and_without() {
  right "$@"
  wrong OMP_NESTING_TEAM_SIZE= "$@"
}
p=$bin/$runtime
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

case $name in
  pthread_create) pair pthread_create "$p-leak" pthread ;;
  fork | numprocs)
    # libomp gives a forked child its first mask back, and counts processors once: no cure is needed there
    if [ "$runtime" = gcc ]; then pair "$name" "$p-leak" "$name"; else right "$p-leak" "$name"; fi ;;
  system | popen | posix_spawn | exec | affinity | attributes) pair "$name" "$p-leak" "$name" ;;
  plugin) pair local "$bin/host" "$bin/plug.so" ;;
  pin)
    # Variables that the program itself sets. Where it makes a region in another thread, that one is pinned.
    plugin=$bin/plug.so
    [ "$runtime" = gcc ] || plugin=$bin/clang-plug.so
    pair pin "$bin/host" OMP_PROC_BIND=close OMP_PLACES=threads "$plugin"
    right "$bin/host" OMP_PROC_BIND=true thread "$plugin"
    right "$bin/host" GOMP_CPU_AFFINITY=0 KMP_AFFINITY=granularity=fine,compact "$plugin"
    run NIGH_EXPLAIN=text "$bin/host" OMP_PROC_BIND=close "$plugin"
    says 'cures .*pin'
    # nigh run says what it took away, so what a script sets is taken away, too; unless the user wants it kept
    for keep in '' 1; do
      run NIGH_MASK="$cpus" NIGH_KEEP_ENV=$keep OMP_PROC_BIND=true sh -c 'echo ${OMP_PROC_BIND:-none}' || fail "no shell"
      [ "$(cat "$tmp/out")" = "$([ -n "$keep" ] && echo true || echo none)" ] || fail "OMP_PROC_BIND under keep=$keep"
    done
    [ "$runtime" = gcc ] || pair pin "$p-ownpins" ;;
  room)
    # More threads than PUs: said once, by one rank of a node, with what to do about it; and in the verdict.
    first=${cpus%%[,-]*}
    one() { run taskset -c "$first" env "$@" "$p-nested" unbound; }
    room_is() { [ "$(cat "$tmp/room")" = "nigh: $1" ] || fail "not said: $1: $(cat "$tmp/room")"; }
    spec=2,scatter
    one
    room_is "2 threads of the plan share 1 PU ($first): start it with more PUs (taskset, numactl, the cpuset), or plan smaller teams"
    one OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2
    room_is "2 threads of the plan share 1 PU ($first): give mpirun --bind-to none, or --map-by slot:PE=2"
    one MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2
    room_is "2 threads of the plan share 1 PU ($first): give mpiexec -bind-to none, or -bind-to core:2"
    one SLURM_LOCALID=0 SLURM_NTASKS_PER_NODE=2
    room_is "2 threads of the plan share 1 PU ($first): give srun --cpus-per-task=2"
    for quiet in OMPI_COMM_WORLD_LOCAL_RANK=1 PALS_LOCAL_RANKID=1 NIGH_QUIET=1; do
      one $quiet
      [ ! -s "$tmp/room" ] || fail "said with $quiet"
    done
    one NIGH_EXPLAIN=text
    says "verdict     2 threads shared 1 PU: start it with more PUs"
    run NIGH_EXPLAIN=text "$p-nested" unbound
    [ ! -s "$tmp/room" ] || fail "said although there is room"
    says 'verdict     every thread was on its planned PU$'
    spec=2,scatter,$(nproc),subcompact
    run NIGH_EXPLAIN=json OMP_NUM_THREADS=2,$(nproc) "$p-nested" unbound
    [ "$(nproc)" != 2 ] || room_is "4 threads of the plan share 2 PUs ($cpus): this machine has no more, so plan smaller teams"
    says '"verdict": "' ;;
  musl)
    # On another C library: started as it is, said once, nothing else; also where a script starts it.
    command -v musl-gcc >/dev/null || skip "there is no musl-gcc"
    musl-gcc -O1 -w -D_GNU_SOURCE "$(dirname "$0")/other_libc.c" -o "$tmp/program" || fail "musl-gcc"
    alone=$("$tmp/program") || fail "wrong without nigh"
    for start in '"$0"' '"$0"; true'; do
      run sh -c "$start" "$tmp/program" || fail "status $?: $start"
      [ "$(cat "$tmp/out")" = "$alone" ] || fail "another output than without nigh"
      says_once 'another C library than glibc'
    done
    spec=
    run "$tmp/program" || fail "status $? without teams"
    quiet "without teams" ;;
  outside)
    pair outside "$p-outside" all
    pair outside "$p-outside" self
    run "$p-outside" one || fail "wrong with nigh: one CPU"
    says_once 'the CPUs of this program were changed from outside to [0-9]*: '
    wrong NIGH_CURES_OFF=outside "$p-outside" one ;;
  cpuset)
    # The same by the cpuset, of which nobody tells a thread that PUs came back. (Since 6.2 the kernel itself gives a thread
    # the mask back that it asked for, so there is no run that must be wrong.)
    set=/sys/fs/cgroup/cpuset/nigh-trap-$$
    two=${cpus%%[,-]*},${cpus##*[,-]}
    mkdir "$set" 2>/dev/null || skip "no cpuset (of cgroup version 1) can be made here"
    trap 'rmdir "$set"; rm -rf "$tmp"' EXIT
    cat /sys/fs/cgroup/cpuset/cpuset.mems >"$set/cpuset.mems" && echo "$two" >"$set/cpuset.cpus" || skip "the cpuset can't be set up"
    spec=2,scatter
    inside() { run "$@" sh -c 'echo $$ >"$0/tasks"; exec "$1" cpuset "$0/cpuset.cpus"' "$set" "$p-outside"; }
    inside || fail "wrong with nigh"
    says_once 'the CPUs of this program were changed from outside to [0-9]*: ' ;;
  libgomps) pair caller "$bin/host" "$bin/plug.so" "$bin/plug-9.so" ;;
  reductions)
    if [ "$runtime" = gcc ]; then pair reductions "$p-reductions"; else with_and_without "$p-reductions"; fi ;;
  loops) with_and_without "$p-loops" ;;
  oldabi) pair oldabi "$bin/gcc-oldabi" ;;
  birth)
    # A thread born on its place need not bind itself. (Times would tell, too, but not on a busy machine.)
    command -v strace >/dev/null || skip "strace is not installed"
    spec=1,scatter,2,subcompact
    for off in none birth stack; do
      stack=
      [ "$off" != stack ] || stack=OMP_STACKSIZE=4M  # a size in the attributes must not stop the cure
      strace -f -o "$tmp/trace" -e trace=sched_setaffinity env LD_PRELOAD="$preload" OMP_NESTING_TEAM_SIZE="$spec" \
        NIGH_CURES_OFF="$(echo "$off" | grep birth)" $stack "$bin/gcc-birth" >"$tmp/out" 2>"$tmp/err" || fail "wrong with nigh, cure off: $off"
      selves=$(grep -c 'sched_setaffinity(0,' "$tmp/trace")
      case $off in
        none | stack) [ "$selves" -le 3 ] || fail "$selves threads had to bind themselves" ;;
        birth) [ "$selves" -ge 31 ] || fail "only $selves threads bound themselves, the trap proves nothing" ;;
      esac
    done
    # the team of one around it counts as a level
    run NIGH_EXPLAIN=text "$bin/gcc-birth" || fail "wrong under NIGH_EXPLAIN"
    says 'regions  *1 outer, 31 inner'
    says '^ *0\.1  *PU' ;;
  procbind) pair strip,pin OMP_PROC_BIND=true OMP_PLACES=cores GOMP_CPU_AFFINITY=0 "$p-procbind" "$(nproc)" ;;
  helpers) pair helpers "$p-helpers" ;;
  stable) pair rebind "$p-stable" ;;
  forkregion) pair fork,outside "$p-forkregion" ;;
  league) pair league OMP_TEAMS_THREAD_LIMIT=4 KMP_TEAMS_THREAD_LIMIT=4 OMP_THREAD_LIMIT=16 "$p-league" ;;
  setaffinity) pair setaffinity,outside "$p-setaffinity" ;;
  globals) with_and_without "$p-globals" ;;
  fortran) with_and_without "$p-nestedf" ;;
  nested) with_and_without "$p-nested" ;;
  setinfo)
    run OMP_NESTING_TEAM_SIZE= "$p-setinfo" || fail "wrong with nigh"
    says_once "omp_set_nesting_info: .*" 
    wrong LD_PRELOAD= "$p-setinfo" ;;
  roots)
    right NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/account" "$p-roots"
    grep -q '"root": 1,' "$tmp/account" || fail "two threads that open regions are one root"
    ! grep -q '"root": 3,' "$tmp/account" || fail "numbers of ended threads are not used again"
    run NIGH_CURES_OFF=roots NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/without" "$p-roots"
    ! grep -q '"root": 1,' "$tmp/without" || fail "two roots even so, the trap proves nothing" ;;
  barriertask)
    right NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/account" "$p-barriertask"
    grep -q '"outer": 1,' "$tmp/account" || fail "a region inside a task counts as an outer one"
    [ "$runtime" = gcc ] || exit 0
    run NIGH_CURES_OFF=barrier NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/without" "$p-barriertask"
    ! grep -q '"outer": 1,' "$tmp/without" || fail "one outer region even so, the trap proves nothing" ;;
  alias)
    mkdir "$tmp/lib"
    for libomp in /usr/lib/llvm-*/lib/libomp.so.5; do [ -e "$libomp" ] && ln -sf "$libomp" "$tmp/lib/libgomp.so.1"; done
    [ -e "$tmp/lib/libgomp.so.1" ] || skip "no libomp to stand in for libgomp"
    right LD_LIBRARY_PATH="$tmp/lib" NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/account" "$bin/gcc-nested"
    grep -q '"outer": 1,' "$tmp/account" || fail "one region was counted twice"
    grep -q 'LLVM' "$tmp/account" || fail "the runtime is not libomp"
    run LD_LIBRARY_PATH="$tmp/lib" NIGH_CURES_OFF=alias NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/without" "$bin/gcc-nested"
    ! grep -q '"outer": 1,' "$tmp/without" || fail "counted once even so, the trap proves nothing" ;;
  static)
    [ -x "$bin/static-nested" ] || skip "no libgomp.a"
    run "$bin/static-nested" unbound || fail "a static libgomp gives a wrong result"
    says_once 'libgomp linked into it'
    run NIGH_EXPLAIN=text "$bin/static-nested" unbound
    says 'libgomp is linked into the program'
    right "$bin/gcc-nested" ;;
  badspec)
    for spec in 2,scatter,2 2,scater banana 0,compact 2,scatter,-1,compact; do
      run "$p-nested" unbound || fail "wrong result with the bad spec $spec"
      says_once "OMP_NESTING_TEAM_SIZE: .*runs unbound"
    done ;;
  nolibrary)
    cp "$preload" "$tmp/"
    preload=$tmp/libnigh-openmp.so
    run "$p-nested" unbound || fail "wrong result without libnigh.so"
    says_once 'libnigh.so.*runs unbound'
    cp "$bin/libnigh-other.so" "$tmp/libnigh.so.0"
    run "$p-nested" unbound || fail "wrong result with another version of libnigh.so"
    says_once 'version 999'
    cp "$lib/libnigh.so.0" "$tmp/"
    right "$p-nested" ;;
  late)
    # The order of glibc before 2.34, where our constructor does not come first: the flag is taken out of a
    # copy.
    python3 - "$preload" "$tmp/libnigh-openmp.so" <<'PY' || skip "not a 64-bit library"
import struct, sys
data = open(sys.argv[1], "rb").read()
now_and_first = struct.pack("<QQ", 0x6FFFFFFB, 0x21)
assert data.count(now_and_first) == 1
open(sys.argv[2], "wb").write(data.replace(now_and_first, struct.pack("<QQ", 0x6FFFFFFB, 0x01)))
PY
    ln -s "$lib/libnigh.so.0" "$tmp/libnigh.so.0"
    preload=$tmp/libnigh-openmp.so
    right "$p-nested"
    right OMP_PROC_BIND=true OMP_PLACES=threads "$p-nested" # libgomp comes before us, but pins through us
    wrong NIGH_KEEP_ENV=1 OMP_NESTING_TEAM_SIZE= OMP_PROC_BIND=true "$p-procbind" "$(nproc)" ;;
  tool)
    run OMP_TOOL_LIBRARIES=/nowhere/tool.so "$bin/clang-nested" unbound || fail "wrong result beside another tool"
    says_once 'OMP_TOOL_LIBRARIES'
    right "$bin/clang-nested" ;;
  children)
    # Those that only inherit the variable open neither the planner nor hwloc.
    run strace -f -e trace=openat -o "$tmp/trace" sh -c 'ls / >/dev/null; true' || skip "strace can't run here"
    ! grep -q 'libnigh\.so\|hwloc' "$tmp/trace" || fail "a program without regions opened the planner"
    run strace -f -e trace=openat -o "$tmp/trace" "$p-nested" && grep -q 'libnigh\.so' "$tmp/trace" || fail "nor did one with regions" ;;
  library)
    readelf -d "$preload" | grep -q INITFIRST || fail "the library is not initialised first"
    [ "$(readelf -d "$preload" | grep NEEDED | grep -cv 'libc\.so\|ld-linux')" = 0 ] || fail "it needs more than libc"
    ! readelf -W --dyn-syms "$preload" | grep -q ' UND _Z\| UND __cxa_\(throw\|guard\|pure\)' || fail "it uses the C++ library"
    # frame_dummy of the start files and our own: a C++ global would be a third
    size=$(readelf -d "$preload" | sed -n 's/.*INIT_ARRAYSZ.* \([0-9]*\) (bytes)/\1/p')
    [ "$size" = 16 ] || fail "it has $((size / 8)) constructors instead of 2" ;;
  syscalls)
    # Less the looks at the own mask: at most one for each tick of the coarse clock and thread.
    count() {
      timeout 120 strace -f -ttt -e trace=sched_setaffinity,sched_getaffinity,mmap,brk,openat -o "$tmp/trace" \
        env LD_PRELOAD="$preload" OMP_NESTING_TEAM_SIZE="$spec" "$@" >"$tmp/out" 2>"$tmp/err" || skip "strace can't run here"
      python3 - "$tmp/trace" <<'PY' || fail "more looks at the own mask than ticks"
import collections, re, sys, time
looks, tick = collections.defaultdict(list), time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
for line in open(sys.argv[1]):
    if m := re.match(r"(\d+) +([\d.]+) sched_getaffinity\(0, 512,", line):
        looks[m[1]].append(float(m[2]))
for times in looks.values():
    assert len(times) <= (times[-1] - times[0]) / tick + 4, (len(times), times[-1] - times[0], tick)
PY
      grep -v 'sched_getaffinity(0, 512,' "$tmp/trace" | grep -c "^[0-9]* *[0-9.]* \(sched_[sg]etaffinity\|openat\)"
    }
    count "$p-regions" 10 2 >/dev/null
    [ "$(grep -c sched_setaffinity "$tmp/trace")" -ge 2 ] || fail "nothing was bound"
    few=$(count "$p-regions" 1000 2) many=$(count "$p-regions" 2000 2)
    [ "$few" = "$many" ] || fail "1000 more regions took $((many - few)) more system calls"
    [ "$runtime" = clang ] || exit 0
    export KMP_HOT_TEAMS_MAX_LEVEL=2
    few=$(count "$p-regions" 500 2 nested) many=$(count "$p-regions" 1000 2 nested)
    [ $((many - few)) -le 20 ] || fail "500 more nested regions took $((many - few)) more system calls" ;;
  account)
    right NIGH_EXPLAIN=json NIGH_EXPLAIN_FILE="$tmp/a.%p" OMP_PROC_BIND=close "$p-nested"
    set -- "$tmp"/a.*
    [ $# = 1 ] || fail "one process, $# accounts"
    python3 - "$1" <<'PY' || fail "the account is not what it should be: $(cat "$1")"
import json, sys
a = json.load(open(sys.argv[1]))
assert a["format"] == "nigh-account" and a["version"] == 1
assert a["spec"] == "2,scatter,2,subcompact" and a["stripped"] == ["OMP_PROC_BIND=close"], a
assert a["regions"] == {"outer": 1, "inner": 2} and a["bindings"]["refused"] == 0
assert len(a["runtimes"]) == 1 and a["runtimes"][0]["path"].startswith("/")
assert sorted(tuple(m["path"]) for m in a["map"]) == [(0,), (0, 0), (0, 1), (1,), (1, 0), (1, 1)]
assert all(m["pu"] == m["pu_seen"] and m["elsewhere"] == 0 and m["entered"] == 1 for m in a["map"])
assert a["odd_sizes"] == [] and a["remark"] is None
PY
    spec=3,scatter,2,subcompact
    run NIGH_EXPLAIN=text "$p-nested"
    says '2 threads instead of 3'
    run NIGH_EXPLAIN=text true
    says 'no OpenMP region was seen'
    run NIGH_EXPLAIN=text sh -c "/bin/true; '$p-nested'; /bin/true"
    [ "$(grep -c 'account of .*-nested' "$tmp/err")" = 1 ] || fail "the program the shell ran has no account"
    lacks 'account of true' ;;
  endings)
    run NIGH_EXPLAIN=text "$p-ending" thread || fail "exit from a thread"
    says 'account of'
    run NIGH_EXPLAIN=text "$p-ending" _exit || fail "_exit"
    lacks 'account of'
    run NIGH_EXPLAIN=text "$p-ending" fork || fail "a forked child's exit"
    [ "$(grep -c 'account of' "$tmp/err")" = 1 ] || fail "a child without regions has an account" ;;
  asan)
    [ -x "$bin/asan-$runtime-leak" ] || skip "no address sanitizer for $runtime"
    # gcc's is a shared library that insists on being first; clang's is in the program
    export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
    for what in pthread fork system posix_spawn; do right "$bin/asan-$runtime-leak" "$what"; done ;;
  *) fail "there is no trap \"$name\"" ;;
esac
