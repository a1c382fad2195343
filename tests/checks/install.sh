#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The files that `make install` puts under a prefix work from there, with nothing of the build folder: the
# command and its libraries, pkg-config, CMake's package, the header, the man pages, the NUMA guests'
# command. Usage: install.sh BUILD_FOLDER
set -eu
build=$1
tmp=$(mktemp -d)
manifest=$build/install_manifest.txt  # of the user's own installation, for make uninstall
[ ! -f "$manifest" ] || cp "$manifest" "$tmp/manifest"
trap 'rm -f "$manifest"; [ ! -f "$tmp/manifest" ] || cp "$tmp/manifest" "$manifest"; rm -rf "$tmp"' EXIT
prefix=$tmp/a/prefix
fail() { echo "FAIL: $*"; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$tmp/log" || { cat "$tmp/log"; fail "cmake --install"; }
# The installed files can be removed again, and nothing else is.
cmake --install "$build" --prefix "$tmp/u" >"$tmp/log" || { cat "$tmp/log"; fail "cmake --install"; }
mkdir -p "$tmp/u/bin" && echo mine >"$tmp/u/bin/mine"
mkdir "$tmp/tree" && cp "$(dirname "$0")/../../Makefile" "$tmp/tree" && mkdir "$tmp/tree/build" && cp "$manifest" "$tmp/tree/build"
make -s -C "$tmp/tree" uninstall || fail "make uninstall"
[ "$(find "$tmp/u" -type f -o -type l)" = "$tmp/u/bin/mine" ] || { find "$tmp/u" -type f -o -type l; fail "make uninstall leaves files"; }
! make -s -C "$tmp/tree" uninstall 2>"$tmp/log" && grep -q "nothing was installed from here" "$tmp/log" || fail "make uninstall twice"
mv "$tmp/a" "$tmp/moved"  # the tree can be moved as a whole
prefix=$tmp/moved/prefix
nigh=$prefix/bin/nigh
for page in nigh nigh-run nigh-compare nigh-tune nigh-doctor nigh-settings nigh-ps nigh-machine nigh-plan nigh-bench nigh-report nigh-watch; do
  [ -f "$prefix/share/man/man1/$page.1" ] || fail "no man page $page"
done
! "$nigh" doctor --json | grep missing-file || fail "libraries are missing"
# Completion in each shell that is here: the option that a word begins, and the commands.
wanted="--only"
[ "$(bash "$prefix/share/bash-completion/completions/nigh" nigh run --on)" = $wanted ] || fail "bash completion"
bash "$prefix/share/bash-completion/completions/nigh" nigh "" | grep -qx compare || fail "bash completion of commands"
if command -v zsh >/dev/null; then
  got=$(zsh -f -c "fpath=($prefix/share/zsh/site-functions \$fpath); autoload -U compinit; compinit -u -d $tmp/zcompdump
    compadd() { shift; print -l -- \$@ }; words=(nigh run --on); CURRENT=3; _nigh" 2>&1)
  [ "$got" = $wanted ] || fail "zsh completion: $got"
fi
if command -v fish >/dev/null; then
  got=$(HOME=$tmp fish --no-config -c "source $prefix/share/fish/vendor_completions.d/nigh.fish; complete -C 'nigh run --on'" 2>&1)
  [ "$got" = $wanted ] || fail "fish completion: $got"
fi
# The unit alone names the prefix it was installed to.
grep -q "^ExecStart=$tmp/a/prefix/bin/nigh watch --all" "$prefix/lib/systemd/system/nigh-watch.service" || fail "no unit"
[ -f "$prefix/share/nigh/machines/barcelona.json" ] || fail "no models"
[ -f "$prefix/include/nigh/nigh_omp.f90" ] || fail "no Fortran module"
"$nigh" plan --model barcelona --teams 4,scatter --json | grep -q '"pu": 12' || fail "nigh plan"
"$nigh" bench | grep -q nested-stream || fail "nigh bench"
"$prefix/bin/nigh-vm" --machine barcelona --print-machine >"$tmp/machine" && grep -q nigh-machine "$tmp/machine" || fail "nigh-vm"

# Links of README and docs lead to what is there.
for page in README.md docs/guide.md docs/mpi.md; do
  grep -o '](\([a-z0-9/-]*\.\(md\|png\)\)' "$prefix/share/doc/nigh/$page" | cut -c3- | while read -r link; do
    [ -f "$prefix/share/doc/nigh/$(dirname "$page")/$link" ] || fail "$page names $link, which is not installed"
  done || exit 1
done
for name in nigh nigh-omp nigh-pomp2 nigh-chare nigh-shmem nigh-space nigh-transpose nigh-fft nigh-fft-openmpi; do
  found=$(find "$prefix" -name "$name.pc")
  [ -n "$found" ] || fail "no $name.pc"
  ls "$prefix"/lib*/lib$name.so "$prefix"/lib*/*/lib$name.so "$prefix"/lib*/lib$name.a "$prefix"/lib*/*/lib$name.a 2>/dev/null | grep -q . || fail "$name.pc names no library"
done

# The launcher finds its library, the library the planner.
"$nigh" run --teams 1,compact -- sh -c 'echo "$LD_PRELOAD"' | grep -q "$prefix/lib.*/libnigh-openmp.so" || fail "nigh run"
printf '#include <sched.h>\n#include <omp.h>\nint main(void) {\n  int bound = 1;\n#pragma omp parallel num_threads(2) reduction(&& : bound)\n  {\n    cpu_set_t s;\n    sched_getaffinity(0, sizeof s, &s);\n    bound = CPU_COUNT(&s) == 1;\n  }\n  return !bound;\n}\n' >"$tmp/omp.c"
gcc -D_GNU_SOURCE -fopenmp "$tmp/omp.c" -o "$tmp/omp"
"$nigh" run --teams 2,scatter -- "$tmp/omp" || fail "threads are not bound from an installed nigh"

# A runtime that links the planner, by pkg-config and by CMake.
cat >"$tmp/use.c" <<'C'
#include <nigh/plan.h>
#include <stdio.h>
int main(void) {
  char err[256];
  nigh_planner* p = nigh_planner_new("4,scatter", 0, 0, "barcelona", err, sizeof err);
  nigh_place place[4];
  if (!p || nigh_planner_team(p, 0, 0, 0, 0, 4, place)) return 1;
  printf("%d %d\n", place[0].pu, nigh_plan_abi());
  nigh_planner_free(p);
  return 0;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name nigh.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
gcc "$tmp/use.c" -o "$tmp/use" $(pkg-config --cflags --libs nigh)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir nigh) "$tmp/use" >/dev/null || fail "a program linked by pkg-config"
printf 'cmake_minimum_required(VERSION 3.20)\nproject(use C)\nfind_package(nigh REQUIRED)\nadd_executable(use use.c)\ntarget_link_libraries(use nigh::nigh)\nadd_executable(use2 use.c)\ntarget_link_libraries(use2 nigh::nigh nigh::omp)\n' >"$tmp/CMakeLists.txt"
cmake -S "$tmp" -B "$tmp/b" -DCMAKE_PREFIX_PATH="$prefix" >"$tmp/log" 2>&1 && cmake --build "$tmp/b" >>"$tmp/log" 2>&1 ||
  { cat "$tmp/log"; fail "find_package(nigh)"; }
"$tmp/b/use" >/dev/null || fail "a program linked by CMake"

# A message-driven program, by pkg-config; its errors are caught and told.
cat >"$tmp/token.cpp" <<'CPP'
#include <nigh/chare.hpp>
#include <stdexcept>
struct Ring : nigh::chare::Element<Ring> {
  void token(int hops) {
    if (hops < 0) throw std::runtime_error("hops below 0");
    if (hops == 0) return nigh::chare::finish();
    array()[(index().x + 1) % 8].send<&Ring::token>(hops - 1);
  }
};
int main(int argc, char** argv) {
  return nigh::chare::run(argc, argv, [&] { nigh::chare::Array<Ring>::create({8})[0].send<&Ring::token>(argc > 1 ? -1 : 100); });
}
CPP
# shellcheck disable=SC2046
g++ -std=c++20 -Wall -Wextra -Werror "$tmp/token.cpp" -o "$tmp/token" $(pkg-config --cflags --libs nigh-chare)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir nigh-chare)
export LD_LIBRARY_PATH
"$tmp/token" --pes 2 || fail "a message-driven program"
"$tmp/token" --pes 2 wrong 2>"$tmp/log" && fail "a message-driven program that is wrong"
grep -q "Ring::token of element \[0\]: hops below 0" "$tmp/log" || { cat "$tmp/log"; fail "its error"; }
# And the one of docs/chare.md, word for word.
{ echo '#include <cstdio>'; awk '/^```/ { if (on) exit; on = /cpp/; next } on' "$(dirname "$0")/../../docs/chare.md"; } >"$tmp/doc.cpp"
# shellcheck disable=SC2046
g++ -std=c++20 -Wall -Wextra -Werror "$tmp/doc.cpp" -o "$tmp/doc" $(pkg-config --cflags --libs nigh-chare)
[ "$("$tmp/doc" --pes 3)" = 0.0976562 ] || fail "the program of docs/chare.md: $("$tmp/doc" --pes 3)"
echo "install: works from a moved prefix"
