#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh CASE BUILD: one case of `nigh run`.
case=$1 build=$2
. "$(dirname "$0")/../testing.sh"
run="$nigh run --teams 2,scatter,2,subcompact"
mask_of_me='sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status'

case_status() {
  status 0 $run -- true
  silent
  status 7 $run -- sh -c 'exit 7'
  status 127 $run -- no-such-program-here
  says 'nigh run: no-such-program-here: No such file'
  status 126 $run -- /etc/passwd
  says 'Permission denied'
  status 2 $run --no-such-option -- true
  status 125 "$nigh" run --teams 2,scatter
  says 'say what to run'
  status 125 $run --json -- true
  says '--json is the form of'
}

case_signal() {
  status 137 sh -c "$nigh run --quiet --teams 2,scatter -- sh -c 'kill -9 \$\$'; exit \$?"
  # A signal to the launched process is the program's: no launcher stays between.
  $run -- sh -c 'trap "echo caught; exit 3" TERM; echo ready; for i in $(seq 200); do sleep 0.05; done' >"$tmp/out" &
  pid=$!
  for _ in $(seq 100); do grep -q ready "$tmp/out" && break || sleep 0.1; done
  kill -TERM $pid
  got=0
  wait $pid || got=$?
  [ $got = 3 ] || fail "status $got, not 3"
  out_has caught
}

case_process() { # it is the same process: nigh's number becomes the program's
  sh -c 'echo $$; exec "$@"' sh "$nigh" run --quiet --teams 2,scatter -- sh -c 'echo $$' >"$tmp/out"
  [ "$(sort -u "$tmp/out" | wc -l)" = 1 ] || fail "the program is another process"
  echo text | $run -- cat >"$tmp/out"
  out_is text
}

case_environment() {
  ok $run -- env
  out_has '^OMP_NESTING_TEAM_SIZE=2,scatter,2,subcompact$'
  out_has '^OMP_MAX_ACTIVE_LEVELS=2$'
  out_has '^OMP_NUM_THREADS=2,2$'
  out_has '^KMP_HOT_TEAMS_MAX_LEVEL=2$'
  out_has "^LD_PRELOAD=.*/libnigh-openmp.so$"
  out_has "^NIGH_MASK=$(sh -c "$mask_of_me")$"
  out_lacks NIGH_EXPLAIN
  ok env OMP_NUM_THREADS=5 "$nigh" run --teams 2,scatter -- env
  out_has '^OMP_NUM_THREADS=5$'
  says 'kept OMP_NUM_THREADS=5 although the plan is for teams of 2'
  lines 1
  ok env OMP_NUM_THREADS=5 "$nigh" run --quiet --teams 2,scatter -- true
  silent
  loaded=$($run -- cat /proc/self/maps | grep -c libnigh-openmp)
  [ "$loaded" -gt 0 ] || fail "the library is not in the program"
}

case_stripped() {
  ok env OMP_PROC_BIND=close OMP_PLACES=cores GOMP_CPU_AFFINITY=0 KMP_AFFINITY=compact "$nigh" run --teams 2,scatter -- env
  lines 1
  says 'took OMP_PROC_BIND=close, OMP_PLACES=cores, GOMP_CPU_AFFINITY=0, KMP_AFFINITY=compact out of'
  out_lacks '^OMP_PROC_BIND\|^OMP_PLACES\|^GOMP_CPU\|^KMP_AFF'
  out_has '^NIGH_STRIPPED=OMP_PROC_BIND=close;OMP_PLACES=cores;GOMP_CPU_AFFINITY=0;KMP_AFFINITY=compact$'
}

case_keep_env() {
  ok env OMP_PROC_BIND=close "$nigh" run --keep-env --teams 2,scatter -- env
  says 'kept OMP_PROC_BIND=close as --keep-env asks'
  out_has '^OMP_PROC_BIND=close$'
}

case_mask() {
  two_pus
  own=$(sh -c "$mask_of_me")
  first=${own%%[,-]*}
  ok $run --mask "$first" -- sh -c "$mask_of_me; echo \$NIGH_MASK"
  out_is "$first
$first"
  ok taskset -c "$first" "$nigh" run --teams 2,scatter -- sh -c 'echo $NIGH_MASK'
  out_is "$first"
  status 125 $run --mask 60000 -- true
  says 'none of the PUs 60000 is among the usable ones'
  status 125 $run --mask 3-1 -- true
  says 'runs backwards'
}

case_badspec() { # typed here: nothing is started
  status 125 "$nigh" run --teams 2,scatter,two,compact -- echo started
  says "^nigh run: --teams: token 3 ('two')"
  lines 1
  out_lacks started
}

case_inherited() { # from the environment: the program runs, unbound and untouched
  ok env OMP_NESTING_TEAM_SIZE=2,scatter "$nigh" run -- env
  silent
  out_has '^OMP_NUM_THREADS=2$'
  ok env OMP_NESTING_TEAM_SIZE=2,scatter "$nigh" run --teams 3,compact -- env
  out_has '^OMP_NESTING_TEAM_SIZE=3,compact$'
  ok env OMP_NESTING_TEAM_SIZE=2,bogus "$nigh" run -- env
  says "OMP_NESTING_TEAM_SIZE: token 2 ('bogus').*; the program runs unbound$"
  lines 1
  out_lacks LD_PRELOAD
}

case_words() { # the program's words reach it as they are
  ok $run -- printf '<%s>' -- --teams '[a,b]' '%x' '' 'a b' --json run
  out_is '<--><--teams><[a,b]><%x><><a b><--json><run>'
  ok $run printf '<%s>' --dry-run -q
  out_is '<--dry-run><-q>'
  ok "$nigh" run --teams=2,scatter --quiet printf '<%s>' x
  out_is '<x>'
  status 5 $run -- sh -c 'exit 5' plan
}

case_dryrun() {
  ok env OMP_PLACES=cores "$nigh" run --teams 1,scatter --dry-run -- sh -c 'echo started'
  out_lacks '^started'
  out_has '^  set      OMP_NUM_THREADS=1$'
  out_has '^  removed  OMP_PLACES=cores$'
  out_has '^plan 1,scatter on PUs'
  status 125 env OMP_NESTING_TEAM_SIZE=bad "$nigh" run --dry-run -- true
}

case_dryrun_json() {
  ok env KMP_AFFINITY=none "$nigh" run --teams 4,scatter,4,subcompact --machine tigerton --dry-run --json -- ./app "$(printf 'a\377')"
  python3 - "$tmp/out" <<'PY' || fail "the JSON is not as documented"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["format"] == "nigh-run" and d["version"] == 1
assert d["command"][0] == "./app" and len(d["command"]) == 2
assert d["environment"]["set"]["OMP_NUM_THREADS"] == "4,4"
assert d["environment"]["removed"] == {"KMP_AFFINITY": "none"}
assert d["mask"] == "0-15"
p = d["plan"]
assert p["format"] == "nigh-plan" and p["spec"] == "4,scatter,4,subcompact" and p["machine"] == "tigerton"
places = {tuple(t["path"]): t["pu"] for t in p["threads"]}
assert places == {(i, j): 4 * i + j for i in range(4) for j in range(4)}, places
assert all(t["reason"] for t in p["threads"])
PY
}

case_dryrun_other() {
  ok "$nigh" run --teams 4,scatter,4,scatter --machine tigerton --dry-run -- ./app
  out_has '^  team of 1 *PUs 4 9 14 3$'
  out_has '^  team of 3 *PUs 12 1 6 11$'
  ok "$nigh" run --teams 2,scatter --machine tigerton --mask 4-7 --dry-run -- ./app
  out_has '^  team *PUs 4 6$'
  status 125 "$nigh" run --teams 2,scatter --machine no-such-machine --dry-run -- ./app
  says '^nigh run: --machine: '
}

case_files() { # a copy elsewhere finds its library, and says so when there is none
  mkdir -p "$tmp/a/bin" "$tmp/a/lib" "$tmp/b/bin" "$tmp/c d/bin" "$tmp/c d/lib"
  cp "$nigh" "$tmp/a/bin" && cp "$nigh" "$tmp/b/bin" && cp "$nigh" "$tmp/c d/bin"
  cp "$lib/libnigh-openmp.so" "$tmp/a/lib" && cp "$lib/libnigh-openmp.so" "$tmp/c d/lib"
  ok "$tmp/a/bin/nigh" run --teams 2,scatter -- sh -c 'echo $LD_PRELOAD'
  out_is "$tmp/a/lib/libnigh-openmp.so"
  status 125 "$tmp/b/bin/nigh" run --teams 2,scatter -- true
  says "can't find libnigh-openmp.so"
  status 125 "$tmp/c d/bin/nigh" run --teams 2,scatter -- true
  says "takes no blanks and colons"
}

case_static() {
  need gcc libgomp
  cat >"$tmp/p.c" <<'C'
#include <stdio.h>
int main(void) {
  int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
  n++;
  printf("%d threads\n", n);
}
C
  gcc -fopenmp "$tmp/p.c" -o "$tmp/shared" || fail "gcc"
  ok $run -- "$tmp/shared"
  silent
  [ -e "$(gcc -print-file-name=libgomp.a)" ] || skip libgomp "there is no libgomp.a here"
  gcc -fopenmp -static "$tmp/p.c" -o "$tmp/full" 2>/dev/null || skip libgomp "can't link statically here"
  gcc -fopenmp "$tmp/p.c" -Wl,-Bstatic -lgomp -Wl,-Bdynamic -o "$tmp/own" || fail "gcc"
  strip "$tmp/own" -o "$tmp/own-stripped"
  ok $run -- "$tmp/full"
  says 'full is statically linked'
  out_is '2 threads'
  for own in own own-stripped; do
    ok $run -- "$tmp/$own"
    says 'has libgomp linked into it statically'
    out_is '2 threads'
  done
}

case_foreign() { # musl: nigh's library can't be loaded, so everything stays as the user has it
  need musl-gcc musl
  printf 'int puts(const char*); int main(void) { puts("started"); return 3; }\n' >"$tmp/p.c"
  musl-gcc "$tmp/p.c" -o "$tmp/p" || fail "musl-gcc"
  for how in '--teams 2,scatter' '-n 2 --teams 2,scatter' '-n 2' '--mpi --teams 2,scatter' --mpi; do
    status 3 env OMP_PROC_BIND=close "$nigh" run $how -- "$tmp/p"
    out_has started
    grep -v 'ended with status 3' "$tmp/err" >"$tmp/said"
    [ "$(wc -l <"$tmp/said")" = 1 ] || fail "not one line: $how"
    says 'p runs on another C library than glibc (its loader is /.*ld-musl.*), .* threads are not bound'
  done
  ok "$nigh" run --teams 2,scatter -- sh -c "$tmp/p || true"
  says 'another C library than glibc'
  out_is started
}

case_start() { # as many jobs of one rank instead of one job
  for mpi in openmpi mpich; do
    have "mpicc.$mpi" && have "mpirun.$mpi" || skip mpi "there is no mpicc.$mpi here"
    printf '#include <mpi.h>\nint main(int n, char** v) { MPI_Init(&n, &v); return MPI_Finalize(); }\n' >"$tmp/m.c"
    "mpicc.$mpi" "$tmp/m.c" -o "$tmp/$mpi" || fail "mpicc.$mpi"
  done
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  status 125 "$nigh" run -n 2 -- "$tmp/openmpi"
  says 'openmpi is linked to Open MPI, whose launcher has to start its ranks: -n 2 would be 2 jobs of one rank'
  lines 1
  status 125 "$nigh" run -n 3 "$tmp/mpich"
  ok "$nigh" run -n 1 -- "$tmp/mpich"
  silent
  ok "$nigh" run --mpi -- "$tmp/mpich"
  says 'mpich is linked to MPICH .* and started without a launcher: it is a job of one rank'
  lines 1
  ok "$nigh" run --mpi -- mpirun.mpich -n 2 "$tmp/openmpi"
  says 'mpirun.mpich starts ranks of MPICH .*, but .*/openmpi is linked to Open MPI: unless'
  lines 1
  for right in 'mpirun.mpich -n 2' 'mpirun.mpich -n 1'; do
    ok "$nigh" run --mpi -- $right "$tmp/mpich"
    silent
  done
  ok "$nigh" run --mpi -- mpirun.openmpi -n 2 "$tmp/openmpi"
  silent
  ok mpirun.mpich -n 2 "$nigh" run --mpi -- "$tmp/mpich" # the launcher is around us
  silent
  ok "$nigh" run --mpi -- sh -c "mpirun.mpich -n 2 $tmp/mpich" # what a script does is its own affair
  silent
  status 2 "$nigh" run -np 2 -- "$tmp/mpich"
  says "-np is mpirun's word, here it is -n"
}

case_ranks() { # what each rank of a launcher would get
  ok "$nigh" run --mpi --teams 4,compact --machine barcelona --dry-run -- mpirun.openmpi -n 2 ./hybrid
  out_has '^would run: mpirun.openmpi --bind-to none -n 2 ./hybrid$'
  says 'added --bind-to none to the words of mpirun.openmpi, which would give a rank fewer PUs than its teams need'
  grep -A1 '^rank [01]: plan 4,compact on PUs' "$tmp/out" | grep -o 'PUs.*' >"$tmp/plans"
  [ "$(grep -c 'PUs [0-9]* [0-9]* [0-9]* [0-9]*$' "$tmp/plans")" = 2 ] || fail "not the plans of two ranks"
  [ "$(grep 'PUs [0-9]* [0-9]* ' "$tmp/plans" | tr ' ' '\n' | grep '[0-9]' | sort -u | wc -l)" = 8 ] || fail "ranks share PUs"
  ok "$nigh" run --mpi --teams 4,compact --machine barcelona --dry-run --json -- mpirun.mpich -n 4 ./hybrid
  python3 - "$tmp/out" <<'PY' || fail "the ranks' plans are not as documented"
import json, sys
d = json.load(open(sys.argv[1]))
pus = [[t["pu"] for t in r["threads"]] for r in d["ranks"]]
assert len(pus) == 4 and all(len(p) == 4 for p in pus) and len({p for r in pus for p in r}) == 16, pus
assert d["command"][1] == "-n"
PY
  # also without --mpi: ranks of a launcher must not all plan on the same PUs
  ok "$nigh" run --teams 4,compact --machine barcelona --dry-run -- mpirun.openmpi --bind-to core -n 2 ./hybrid
  out_has '^would run: mpirun.openmpi --bind-to core -n 2'
  out_has '^each rank plans within the PUs that its launcher leaves it'
  out_has 'NIGH_RANK_SHARE=0-15'
  ok "$nigh" run --teams 4,scatter,8,subcompact --machine barcelona --mask 0,1 --dry-run -- ./app
  says 'the plan has 32 threads for 2 PUs (0-1), which they will share'
  ok "$nigh" run --teams 2,scatter --machine barcelona --mask 0,1 --dry-run -- ./app
  silent
}

case_watch() { # on one node there is nothing to tell, and nothing else is shown instead
  [ "$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)" -le 1 ] || skip nodes "this machine has several NUMA nodes"
  for what in "-p $$" --all "--all --listen 127.0.0.1:0" "-p $$ --listen 127.0.0.1:0" "--listen 127.0.0.1:0" "--log $tmp/log"; do
    status 1 "$nigh" watch $what --duration 1
    says 'this machine has one NUMA node'
    lines 1
    [ ! -s "$tmp/out" ] || fail "something was shown: $what"
  done
  status 3 "$nigh" watch --listen 127.0.0.1:0 -- sh -c 'exit 3'
  says 'nothing is served or logged'
  ok "$nigh" watch
  out_has 'A simulated'
}

case_rights() {
  cp /bin/true "$tmp/gifted"
  { chown 65534 "$tmp/gifted" && chmod 4755 "$tmp/gifted"; } 2>/dev/null || skip root "only root can make a file set-user-ID for another"
  chmod 755 "$tmp"
  ok $run -- "$tmp/gifted"
  says 'runs with the rights of another user or group'
}

case_script() {
  printf '#!/bin/sh\necho script $1\n' >"$tmp/script"
  chmod +x "$tmp/script"
  ok $run -- "$tmp/script" one
  silent
  out_is 'script one'
}

case_as() { # OpenMP's own variables put the threads where the plan has them
  two_pus
  for compiler in gcc clang; do
    program=$build/tests/automatic-$compiler
    [ -x "$program" ] || continue
    ok "$nigh" plan --teams 2,scatter --as omp
    cp "$tmp/out" "$tmp/variables"
    ok sh -c ". '$tmp/variables'; exec '$program' plain 0.01"
    planned=$("$nigh" plan --teams 2,scatter --json | python3 -c 'import json, sys
print(*(str(i) + ":" + str(t["pu"]) for i, t in enumerate(json.load(sys.stdin)["threads"])))')
    out_is "$planned"
  done
  ok "$nigh" plan --teams 4,scatter --model barcelona --as slurm
  out_is 'srun --nodes=1 --ntasks=4 --cpus-per-task=1 --cpu-bind=mask_cpu:0x1,0x10,0x100,0x1000'
  status 1 "$nigh" plan --teams 2,scatter,2,compact --model barcelona --as gomp
  says 'gomp has one level of threads'
}

case_doctor() { # each hindrance goes with the cure that it names
  finds() { # finds ID COMMAND..: yes or no
    id=$1
    shift
    "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -le 1 ] || fail "status above 1: $*"
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["format"] == "nigh-doctor"
print("yes" if any(f["id"] == sys.argv[2] for f in d["findings"]) else "no")' "$tmp/out" "$id"
  }
  for one in "limit-file:ulimit -f 1000:ulimit -f unlimited" "too-many-threads:export OMP_NUM_THREADS=4000:unset OMP_NUM_THREADS" \
             "switched-off:export NIGH_MPI=off:unset NIGH_MPI" "user-binds:export OMP_PROC_BIND=close:unset OMP_PROC_BIND"; do
    id=${one%%:*} rest=${one#*:}
    [ "$(finds "$id" sh -c "${rest%%:*}; '$nigh' doctor --json | cat")" = yes ] || fail "$id was not found"
    [ "$(finds "$id" sh -c "${rest#*:}; '$nigh' doctor --json | cat")" = no ] || fail "$id was found after its cure"
  done
  got=0
  NIGH_MPI=off "$nigh" doctor >"$tmp/out" || got=$?
  [ $got = 1 ] || fail "status $got where something is in the way"
  head -1 "$tmp/out" | grep -q '^in the way' || fail "a hindrance does not come first"
  out_has 'cure: unset NIGH_MPI'
  cp "$nigh" "$tmp/nigh" # without its libraries
  [ "$(finds missing-file "$tmp/nigh" doctor --json)" = yes ] || fail "missing libraries were not found"
}

case_memory() { # what the program inherits
  "$nigh" run --interleave all -- true 2>/dev/null || skip numa "no memory policy may be set here"
  for row in "interleave:interleave" "membind:bind" "preferred:prefer"; do
    ok "$nigh" run --off mpi "--${row%%:*}" all -- cat /proc/self/numa_maps
    out_has " ${row#*:}[:=]"
    ok "$nigh" run --teams 2,scatter "--${row%%:*}" all -- cat /proc/self/numa_maps
    out_has " ${row#*:}[:=]"
  done
  ok env GLIBC_TUNABLES=glibc.malloc.arena_max=1 "$nigh" run --huge-pages --threads 3 -- sh -c 'echo "$GLIBC_TUNABLES $OMP_NUM_THREADS"'
  out_is 'glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1 3'
  ok "$nigh" run --dry-run --interleave all --threads 3 -- true
  says 'the memory policy would be --interleave all'
  says 'OMP_NUM_THREADS would be 3'
}

case_tune() { # programs whose fastest way is known
  export XDG_CONFIG_HOME="$tmp/config"
  cat >"$tmp/model" <<'END'
#!/bin/sh
case "$OMP_NUM_THREADS" in 2) t=0.04 ;; *) t=0.08 ;; esac
[ -n "$LD_PRELOAD" ] || t=0.09
sleep $t
echo "result 42"
END
  chmod +x "$tmp/model"
  two_pus
  ok "$nigh" tune --time 30 --json --check 'result (.*)' -- "$tmp/model" "{threads}"
  python3 - "$tmp/out" <<'END' || fail "the model's best was not found"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["format"] == "nigh-tune" and d["output"] == "equal", d
stages = {stage["name"]: stage for stage in d["stages"]}
layouts = stages["ranks and threads"]["choices"]
two = [one for one in layouts if one["threads"] == 2]
assert d["best"]["threads"] == 2 if two else True, d["best"]
assert not d["best"]["alone"], d["best"]
alone = [one for one in stages["what nigh does"]["choices"] if one["alone"]][0]
assert len(alone["seconds"]) <= 3, "a loser ran on"
END
  # One where nothing makes a difference: it says so and keeps nothing.
  printf '#!/bin/sh\nsleep 0.05\n' >"$tmp/same"
  chmod +x "$tmp/same"
  ok "$nigh" tune --time 30 --precision 0.2 -- "$tmp/same"
  out_has '^nothing is faster than nigh run by more than 20.0 %$'
  [ -z "$(find "$tmp/config" -name 'same-*')" ] || fail "something was kept"
  # The same words use a kept result, name it, and leave it out where that is said.
  ok "$nigh" tune --dry-run -- "$tmp/model" "{threads}"
  out_has '1 thread$'
  mkdir -p "$tmp/config/nigh/profiles"
  cat >"$tmp/model2" <<'END'
#!/bin/sh
case "$OMP_NUM_THREADS" in 1) t=0.03 ;; *) t=0.09 ;; esac
sleep $t
END
  chmod +x "$tmp/model2"
  ok "$nigh" tune --time 30 -- "$tmp/model2" "{threads}"
  out_has '^kept for nigh run'
  ok "$nigh" run --dry-run -- "$tmp/model2" "{threads}"
  says 'as nigh tune found on .*: 1 thread'
  out_has 'model2 1$'
  ok "$nigh" run --no-profile --dry-run -- "$tmp/model2" "{threads}"
  out_has 'model2 {threads}$'
  file=$(find "$tmp/config" -name 'model2-*')
  sed -i 's/"topology": "/&x/' "$file"
  status 125 "$nigh" run -- "$tmp/model2" "{threads}"
  says 'of another machine'
  echo '{' >"$file"
  status 125 "$nigh" run -- "$tmp/model2" "{threads}"
  says 'is damaged'
  ok "$nigh" tune --forget -- "$tmp/model2" "{threads}"
  [ ! -e "$file" ] || fail "it was not forgotten"
}

case_explain() {
  two_pus
  need gcc libgomp
  printf 'int main(void) {\n#pragma omp parallel\n  ;\n}\n' >"$tmp/p.c"
  gcc -fopenmp "$tmp/p.c" -o "$tmp/p" || fail "gcc"
  ok $run --explain -- "$tmp/p"
  says 'account of'
  ok $run --explain --json -- "$tmp/p"
  python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["format"] == "nigh-account"' "$tmp/err" || fail "no JSON account"
  ok $run --explain-file "$tmp/account.%p" -- "$tmp/p"
  silent
  grep -q 'account of' "$tmp"/account.* || fail "no account in the file"
  ok $run --explain=json --explain-file "$tmp/json.%p" -- "$tmp/p"
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp"/json.* || fail "no JSON account in the file"
}

"case_$(echo "$case" | tr - _)"
