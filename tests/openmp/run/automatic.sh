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
  ok $run -- "$program" slow 0.6
  bound
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
  out_is 'teams=off'
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
  out_has 'libnigh-mpi.so:.*libnigh-openmp.so:off$'
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
    says 'runs without nigh: a sanitizer'
    ok env LD_PRELOAD="$(gcc -print-file-name=libasan.so)" "$nigh" run -- sh -c 'exit 0'
  fi
  ok "$nigh" run -- "$nigh" run --off mpi,teams -- sh -c 'echo "<$LD_PRELOAD$NIGH_TEAMS>"'
  out_is '<>'
  ok "$nigh" run -- env LD_PRELOAD="$lib/libnigh-openmp.so:libdl.so.2" "$nigh" run --off mpi,teams -- sh -c 'echo "<$LD_PRELOAD>"'
  out_is '<libdl.so.2>'
  two_pus
  ok "$nigh" run --mask 1 -- nproc
  out_is 1
}

# The children of a script have the libraries only where their loader takes them, by whatever function they
# are started.
case_children() {
  printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { printf("<%%s>\\n", getenv("LD_PRELOAD") ? "with" : "without"); return 3; }\n' >"$tmp/p.c"
  gcc "$tmp/p.c" -o "$tmp/usual" || fail "gcc"
  if [ "$compiler" = gcc ]; then
    gcc -fsanitize=address "$tmp/p.c" -o "$tmp/barred" 2>/dev/null || skip "AddressSanitizer" "gcc has no libasan"
  else
    need musl-gcc musl
    musl-gcc "$tmp/p.c" -o "$tmp/barred" || fail "musl-gcc"
  fi
  cat >"$tmp/start.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
int main(int argc, char** argv) {
  const char* how = argv[1];
  char* words[] = {argv[2], NULL};
  int status = 0;
  pid_t child = 0;
  const char* name = strrchr(argv[2], '/') + 1;
  (void)argc;
  if (!strcmp(how, "posix_spawn") && posix_spawn(&child, argv[2], NULL, NULL, words, environ)) return 99;
  if (!strcmp(how, "posix_spawnp") && posix_spawnp(&child, name, NULL, NULL, words, environ)) return 99;
  if (child == 0 && (child = !strncmp(how, "v", 1) ? vfork() : fork()) == 0) {
    if (*how == 'v') how++;
    if (!strcmp(how, "execve")) execve(argv[2], words, environ);
    if (!strcmp(how, "execv")) execv(argv[2], words);
    if (!strcmp(how, "execvp")) execvp(name, words);
    if (!strcmp(how, "execvpe")) execvpe(name, words, environ);
    if (!strcmp(how, "execl")) execl(argv[2], name, (char*)NULL);
    if (!strcmp(how, "execlp")) execlp(name, name, (char*)NULL);
    if (!strcmp(how, "execle")) execle(argv[2], name, (char*)NULL, environ);
    if (!strcmp(how, "fexecve")) fexecve(open(argv[2], O_RDONLY | O_CLOEXEC), words, environ);
    if (!strcmp(how, "execveat")) execveat(open(argv[3], O_PATH | O_CLOEXEC), name, words, environ, 0);
    _exit(98);
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
END
  gcc "$tmp/start.c" -o "$tmp/start" || fail "gcc"
  PATH=$tmp:$PATH
  for how in execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp vexecve vexecvp vexecl; do
    status 3 "$nigh" run -- "$tmp/start" "$how" "$tmp/barred" "$tmp"
    silent
    out_is '<without>'
    status 3 "$nigh" run -- "$tmp/start" "$how" "$tmp/usual" "$tmp"
    out_is '<with>'
  done
  for off in mpi teams; do
    status 3 "$nigh" run --off "$off" -- sh -c "$tmp/barred; exit 3"
    silent
  done
  [ "$compiler" = gcc ] || status 3 "$nigh" run -- sh -c "env LD_PRELOAD=\$LD_PRELOAD:libdl.so.2 $tmp/barred; exit 3"
  [ "$compiler" = gcc ] || out_is '<with>' # libdl.so.2, which is the user's
  # Without the filter the loader complains.
  status 3 env NIGH_CURES_OFF=preload "$nigh" run -- sh -c "$tmp/barred; exit 3"
  says .
}

case_chroot() { # another root, where our libraries are not
  [ "$(id -u)" = 0 ] || skip "chroot" "not root"
  printf 'int main(void) { return 3; }\n' >"$tmp/p.c"
  mkdir -p "$tmp/root"
  gcc "$tmp/p.c" -o "$tmp/root/p" || fail "gcc"
  for file in $(ldd "$tmp/root/p" | grep -o '/[^ ]*'); do
    mkdir -p "$tmp/root${file%/*}"
    cp "$file" "$tmp/root$file"
  done
  status 3 "$nigh" run -- chroot "$tmp/root" /p
  silent
}

case_early() { # string functions of the program's own, which are not ready while the first constructors run
  cat >"$tmp/p.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static int ready;
#define LOOP __asm__ volatile("" ::: "memory")
static void check(void) { if (!ready) abort(); }
size_t strlen(const char* s) { size_t n = 0; check(); while (s[n]) { n++; LOOP; } return n; }
int strcmp(const char* a, const char* b) { check(); while (*a && *a == *b) { a++; b++; LOOP; } return *a - *b; }
int strncmp(const char* a, const char* b, size_t n) { check(); for (; n--; a++, b++) { if (*a != *b || !*a) return *a - *b; LOOP; } return 0; }
char* strchr(const char* s, int c) { check(); for (;; s++) { if (*s == (char)c) return (char*)s; if (!*s) return 0; LOOP; } }
int memcmp(const void* x, const void* y, size_t n) { const char *a = x, *b = y; check(); for (; n--; a++, b++) { if (*a != *b) return *a - *b; LOOP; } return 0; }
__attribute__((constructor)) static void begin(void) { ready = 1; }
int main(void) { puts("ready"); return 0; }
END
  gcc -O1 -fno-builtin -rdynamic "$tmp/p.c" -o "$tmp/p" || fail "gcc"
  ok "$nigh" run --off mpi -- "$tmp/p"
  ok env NIGH_EXPLAIN=text "$nigh" run --off mpi -- "$tmp/p"
  ok env NIGH_EXPLAIN=line OMP_PROC_BIND=true NIGH_CURES_OFF=pin,fork "$nigh" run --off mpi -- "$tmp/p"
  ok env OMP_NESTING_TEAM_SIZE=2,scatter OMP_PLACES=cores LD_PRELOAD="$lib/libnigh-openmp.so" "$tmp/p"
  ok env NIGH_RANK_SHARES="0;1" NIGH_RANK_SHARE=0-1 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 "$nigh" run --off mpi -- "$tmp/p"
  [ "$compiler" = clang ] || return 0
  printf 'int main(void) { return 3; }\n' >"$tmp/q.c"
  clang-19 -fsanitize=thread "$tmp/q.c" -o "$tmp/q" 2>/dev/null || return 0
  status 3 "$nigh" run -- "$tmp/q"
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
