#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# launch.sh CASE BUILD: one case of `nigh run -n` or `nigh run --mpi`, as a user types it.
case=$1 build=$2
here=$(dirname "$0")
. "$here/../openmp/testing.sh"
rank=$build/tests/space_join_rank
run="$nigh run"

case_refused() {
  for n in 0 -1 1025 x 2x ''; do
    status 2 $run -n "$n" -- true
    [ -s "$tmp/err" ] || fail "-n '$n' was refused without a word"
  done
  status 125 $run -n 2
  says 'say what to run'
  status 2 $run -n 2 --mpi -- true
  status 2 $run --bind scatter -- true
  status 2 $run -n 2 --bind sideways -- true
  status 125 $run -n 2 --mask 9999 -- true
  says 'mask'
  status 125 $run -n 2 --json -- true
  says '--json is the form of'
}

# A sandbox or a chroot without /proc: what runs there alone runs with us, too, and is told why it is no more than that.
case_no_proc() {
  unshare -m sh -c 'umount -l /proc && [ ! -e /proc/self ]' 2>/dev/null ||
    skip namespaces "/proc can't be taken away (root in a mount namespace of its own can)"
  bare() { status "$1" unshare -m sh -c 'umount -l /proc; shift; exec "$@"' sh "$@"; }
  for words in "--teams 2,compact" "--mpi" "--watch" "--teams 2,compact --explain"; do
    bare 7 $run $words -- sh -c 'exit 7'
    says 'there is no /proc/self/exe (is /proc mounted?); the program runs unbound'
    [ "$(grep -c . "$tmp/err")" -eq 1 ] || fail "$words: more than one sentence: $(cat "$tmp/err")"
  done
  bare 0 $run -n 2 -- true
  says 'the ranks run without a space'
  bare 125 $run --teams 2,sideways -- true
  says '--teams'
}

case_verdict() {
  status 0 $run -n 3 -- true
  silent
  status 7 $run -n 3 -- sh -c '[ $NIGH_RANK != 1 ] || exit 7; exec sleep 30'
  says '^nigh run: rank 1 (process [0-9]*) ended with status 7; the other ranks are ended$'
  lines 1
  status 143 $run -n 2 -- sh -c '[ $NIGH_RANK != 0 ] || kill -TERM $$; exec sleep 30'
  says 'rank 0 (process [0-9]*) was ended by signal 15'
  status 127 $run -n 2 -- no-such-program-here
  says 'no-such-program-here: No such file'
  status 126 $run -n 2 -- /etc/passwd
  says 'Permission denied'
}

case_environment() {
  ok env NIGH_RANK=5 OMPI_COMM_WORLD_LOCAL_RANK=3 MPI_LOCALRANKID=1 SLURM_LOCALID=0 $run -n 2 -- \
    sh -c 'env >"$0.$NIGH_RANK"' "$tmp/env"
  for r in 0 1; do
    cp "$tmp/env.$r" "$tmp/out"
    out_has "^NIGH_RANK=$r$"
    out_has '^NIGH_SIZE=2$'
    out_has '^NIGH_JOB=[0-9a-f]\{32\}$'
    out_has '^LD_PRELOAD=[^:]*/libnigh-space.so$'
    out_lacks '^OMPI_COMM_WORLD_LOCAL_RANK\|^MPI_LOCALRANKID\|^SLURM_LOCALID\|^NIGH_EXPLAIN\|^NIGH_SHARE'
  done
  [ "$(grep -h ^NIGH_JOB "$tmp"/env.? | sort -u | wc -l)" = 1 ] || fail "the ranks' keys differ"
  ok env LD_PRELOAD="$lib/libnigh-space.so:$lib/libnigh.so" $run -n 1 --share data -- env
  out_has "^LD_PRELOAD=$lib/libnigh-space.so:$lib/libnigh.so$"
  out_has '^NIGH_SHARE=data$'
}

case_dry_run() {
  ok $run -n 3 --bind none --dry-run -- app
  out_has '^would start 3 ranks of: app$'
  out_has '^  rank 2 '
  ok $run -n 8 --machine nehalem-sun --dry-run --json -- app
  python3 - "$tmp/out" <<'EOF' || fail "the shares are wrong"
import json, sys
run = json.load(open(sys.argv[1]))
masks = [rank["mask"] for rank in run["ranks"]]
assert run["format"] == "nigh-run" and len(masks) == 8 and len(set(masks)) == 8, masks
EOF
}

# One account from the job, however many ranks there are, after all that the program printed.
case_explain() {
  ok $run -n 3 --explain -- "$rank"
  says '^nigh: space: rank 0 reaches 3 of 3 ranks; joined in [0-9]* ms$'
  says '^nigh: memory: [0-9]* MiB of heap and anonymous mmap shared in a slot'
  [ "$(grep -c 'nigh: space: rank' "$tmp/err")" = 1 ] || fail "not one account"
  # A rank that does not end normally has none to give, a script has less to say than its program.
  status 137 $run -n 3 --explain -- sh -c "$rank hold=200 || exit; [ \$NIGH_RANK != 0 ] || kill -9 \$\$"
  says '^nigh: space: rank 0 reaches 3 of 3 ranks'
  ok $run -n 2 --explain -- "$rank" who=0 never=1 reach=1 timeout=20000
  says '^nigh: space: rank 1 reaches 1 of 2 ranks'
  says '^nigh: space: 1 rank(s), rank 0 first: ended before it had joined'
  ok env NIGH_SPACE=off $run -n 2 --explain -- true
  says '^nigh: space: none: NIGH_SPACE=off asks for none$'
  status 137 $run -n 2 --explain -- sh -c 'kill -9 $$'
  says '^nigh run: no account: no rank ended normally'
  ok $run -n 2 -- "$rank"
  silent
}

case_explain_file() {
  ok $run -n 2 --explain=json --explain-file "$tmp/told.%p" -- "$rank"
  silent
  [ "$(ls "$tmp" | grep -c '^told\.[0-9]*$')" = 1 ] || fail "not one file"
  python3 - "$tmp"/told.* <<'EOF' || fail "the account is wrong: $(cat "$tmp"/told.*)"
import json, sys
told = json.load(open(sys.argv[1]))
assert told["format"] == "nigh-space" and told["ranks"] == 2 and told["rank"] == 0, told
assert told["space"][0].startswith("space: rank 0 reaches 2 of 2 ranks"), told
EOF
  ok $run -n 2 --explain --explain-file "$tmp/no/such/folder" -- "$rank"
  says 'no/such/folder can.t be opened (No such file or directory): the account follows here'
  says '^nigh: space: rank 0 reaches 2 of 2 ranks'
}

# The work of --mpi does not depend on the command: it may be a script, or no MPI at all.
case_mpi_command() {
  ok $run --mpi -- env
  out_has '^LD_PRELOAD=[^:]*/libnigh-mpi.so$'
  out_lacks '^NIGH_EXPLAIN'
  silent
  status 7 $run --mpi -- sh -c 'exit 7'
  silent
  status 127 $run --mpi -- no-such-mpirun
  says 'no-such-mpirun: No such file'
  status 125 $run --mpi
  says 'say what to run'
  ok $run --mpi --teams 2,scatter -- env
  out_has '^LD_PRELOAD=[^:]*/libnigh-mpi.so:[^:]*/libnigh-openmp.so$'
  out_has '^OMP_NESTING_TEAM_SIZE=2,scatter$'
  ok $run --mpi --explain --explain-file /x/%p --dry-run -- mpirun -n 2 app
  out_has 'NIGH_EXPLAIN=text$'
  out_has 'NIGH_EXPLAIN_FILE=/x/%p$'
}

# Open MPI passes the environment on to other nodes only if it is told what; MPICH does it by itself.
case_mpi_nodes() {
  need mpirun.openmpi mpi
  list=OMPI_MCA_mca_base_env_list
  ok $run --mpi --dry-run -- mpirun.openmpi -host a,b -n 2 app
  out_has "^ *set *$list=.*LD_PRELOAD"
  ok env OMP_NUM_THREADS=3 $run --mpi --explain --dry-run -- mpirun.openmpi --hostfile hosts -n 2 app
  out_has "$list=.*OMP_NUM_THREADS"
  out_has "$list=.*NIGH_EXPLAIN"
  ok $run --mpi --dry-run -- mpirun.openmpi -n 2 app
  out_lacks $list
  ok env OMPI_MCA_orte_default_hostfile=hosts $run --mpi --dry-run -- mpirun.openmpi -n 2 app
  out_has $list
  ok env SLURM_JOB_NUM_NODES=2 $run --mpi --dry-run -- mpirun.openmpi -n 2 app
  out_has $list
  ok $run --mpi --dry-run -- mpirun.openmpi -x PATH -host a,b -n 2 app # it refuses both, so they are one
  out_lacks $list
  out_has "mpirun.openmpi .*-x LD_PRELOAD.* -x PATH -host a,b -n 2 app"
  ok $run --mpi --dry-run -- mpirun.openmpi -x LD_PRELOAD=/their.so -n 2 app # ranks here have both, too
  out_has "mpirun.openmpi -x LD_PRELOAD=[^ ]*/libnigh-mpi.so:[^ ]*/their.so -n 2 app"
  ok env $list="PATH;HOME" $run --mpi --dry-run -- mpirun.openmpi -host a,b -n 2 app
  out_has "$list=PATH;HOME;.*LD_PRELOAD"
  have mpirun.mpich || return 0
  ok $run --mpi --dry-run -- mpirun.mpich -host a,b -n 2 app
  out_lacks $list
  ok $run --mpi --dry-run -- mpirun.mpich -genvlist PATH -host a,b -n 2 app
  out_has "mpirun.mpich .*-genv LD_PRELOAD [^ ]*/libnigh-mpi.so .*-genvlist PATH -host"
}

# An MPI function called where no MPI library is: as the loader would say it, and no crash before.
case_mpi_absent() {
  need "${CC:-cc}" cc
  cat >"$tmp/p.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  (void)argv;
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_DEFAULT, "MPI_Init");
  if (!init) return 3;
  puts("before");
  fflush(stdout);
  return argc > 1 ? init(0, 0) : 0;
}
EOF
  ${CC:-cc} "$tmp/p.c" -o "$tmp/p" -ldl || fail "cc"
  ok $run --mpi -- "$tmp/p"
  silent
  ulimit -c 0
  status 134 sh -c "$run --mpi -- $tmp/p call; exit \$?"
  says '^nigh: MPI_Init was called, but no MPI library is loaded in this process$'
}

case_mpi_missing() { # of an installation that is not whole
  mkdir "$tmp/bin" "$tmp/lib"
  cp "$nigh" "$tmp/bin/nigh"
  status 125 "$tmp/bin/nigh" run --mpi -- true
  says "can't find libnigh-mpi.so in $tmp/lib or "
  status 125 "$tmp/bin/nigh" run -n 2 -- true
  says "can't find libnigh-space.so in $tmp/lib or "
  mkdir "$tmp/a b"
  mv "$tmp/bin" "$tmp/lib" "$tmp/a b"
  cp "$lib/libnigh-mpi.so" "$tmp/a b/lib"
  status 125 "$tmp/a b/bin/nigh" run --mpi -- true
  says 'LD_PRELOAD takes no blanks and colons'
  need mpirun.openmpi mpi
  need mpicc.openmpi mpi
  mpicc.openmpi "$here/hello.c" -o "$tmp/hello" || fail "mpicc"
  mv "$tmp/a b" "$tmp/half"
  ok "$tmp/half/bin/nigh" run --mpi -- mpirun.openmpi --oversubscribe -n 2 "$tmp/hello"
  out_is 'sum of 2 ranks 1'
  says '^nigh: MPI runs as without nigh: .*/libnigh-mpi-openmpi.so is missing or damaged'
  lines 1
}

case_mpi_explain() {
  seen=0
  for mpi in openmpi mpich; do
    have mpirun.$mpi && have mpicc.$mpi && [ -e "$lib/libnigh-mpi-$mpi.so" ] || continue
    seen=1 extra=
    [ $mpi = openmpi ] && extra=--oversubscribe
    mpicc.$mpi "$here/hello.c" -o "$tmp/hello" || fail "mpicc.$mpi"
    ok $run --mpi --explain -- mpirun.$mpi $extra -n 3 "$tmp/hello"
    out_is 'sum of 3 ranks 3'
    says "^nigh: MPI: .*; 3 of 3 ranks share memory on this node, $(uname -n)\$"
    says '^nigh: MPI: MPI_Allreduce  *3 ours'
    [ "$(grep -c 'share memory on this node' "$tmp/err")" = 1 ] || fail "not one account"
    ok $run --mpi --explain -- mpirun.$mpi $extra -n 1 "$tmp/hello"
    says "^nigh: MPI runs as without nigh: MPI_COMM_WORLD has one rank ($(uname -n))\$"
    lines 1
    ok $run --mpi -- mpirun.$mpi $extra -n 2 "$tmp/hello"
    out_is 'sum of 2 ranks 1'
    silent
  done
  [ $seen = 1 ] || skip mpi "there is no MPI library here"
}

# Every collective of the C API on known bytes; the program verifies them and says so.
case_collectives() {
  patterns=$build/bench/patterns-message
  [ -x "$patterns" ] || skip bench "the benchmark programs are not built"
  for n in 3 1 4; do
    only= whats="barrier,bcast 64 KiB,reduce 64 KiB cached,allreduce 64 KiB,alltoall 64 KiB cached"
    [ $n = 3 ] && whats="$whats,bcast 8 B,reduce 1 MiB,allreduce 4 KiB cached,alltoall 1 MiB" || only='--size 65536'
    ok $run --quiet -n $n -- "$patterns" --teams $n --pattern collectives --quick $only
    out_has '"verified":true,"errors":\[\]'
    IFS=,
    for what in $whats; do out_has "\"name\":\"$what\",\"value\":"; done
    unset IFS
    silent
  done
}

# OpenSHMEM's puts: each PE of the first half into one of the second, verified there.
case_puts() {
  patterns=$build/bench/patterns-shmem
  [ -x "$patterns" ] || skip bench "the benchmark programs are not built"
  for n in 2 4; do
    ok $run --quiet -n $n -- "$patterns" --teams $n --pattern put --quick
    out_has '"verified":true,"errors":\[\]'
    for what in '8 B' '1 MiB cached'; do out_has "\"name\":\"$what\",\"value\":"; done
    silent
  done
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case_$case
