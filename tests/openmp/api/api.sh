#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# api.sh CASE BUILD: builds one program the way a user would, then runs it without nigh and under it.
case=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../testing.sh"
include=$here/../../../include
program=$tmp/program

find_one() { for p in "$@"; do have "$p" && echo "$p" && return; done; echo "$1"; }
gcc=gcc gxx=g++ gfortran=gfortran
clang=$(find_one clang-19 clang) clangxx=$(find_one clang++-19 clang++)
flang=$(find_one flang-new-19 flang-19 flang-new flang)

make_() { "$@" >"$tmp/out" 2>"$tmp/err" || fail "can't build: $*"; }
observer() { make_ "$1" -fopenmp -c "$here/../observe.c" -o "$tmp/observe.o"; }
strict="-Wall -Wextra -Werror -Wpedantic -fopenmp -I$include"

build_c() { # COMPILER: header alone, nothing linked, C99
  observer "$1"
  make_ "$1" -std=c99 $strict "$here/calls.c" "$tmp/observe.o" -o "$program"
}
build_cxx() { # COMPILER C-COMPILER
  observer "$2"
  make_ "$1" -std=c++11 -x c++ $strict -c "$here/calls.c" -o "$tmp/calls.o"
  make_ "$1" -fopenmp "$tmp/calls.o" "$tmp/observe.o" -o "$program"
}
build_linked() {
  observer "$1"
  make_ "$1" -DDECLARED_ONLY -fopenmp "$here/calls.c" "$tmp/observe.o" -L"$lib" -lnigh-omp -o "$program"
}
build_fortran() { # COMPILER C-COMPILER SOURCES..
  compiler=$1
  observer "$2"
  shift 2
  cd "$tmp" || exit 1
  make_ "$compiler" -fopenmp "$@" "$tmp/observe.o" -L"$lib" -lnigh-omp -o "$program"
}

status_line=yes
case $case in
c-gcc) need gcc libgomp; build_c gcc ;;
c-clang) need "$clang" libomp; build_c "$clang" ;;
cxx-gcc) need g++ libgomp; build_cxx g++ gcc ;;
cxx-clang) need "$clangxx" libomp; build_cxx "$clangxx" "$clang" ;;
linked-gcc) need gcc libgomp; build_linked gcc ;;
linked-clang) need "$clang" libomp; build_linked "$clang" ;;
module-gfortran)
  need gfortran fortran
  build_fortran gfortran gcc -std=f2008 -fall-intrinsics "$include/nigh/nigh_omp.f90" "$here/module.f90" ;;
module-flang)
  need "$flang" fortran
  build_fortran "$flang" "$clang" "$include/nigh/nigh_omp.f90" "$here/module.f90" ;;
bare-gfortran) need gfortran fortran; build_fortran gfortran gcc "$here/bare.f90"; status_line= ;;
bare-flang) need "$flang" fortran; build_fortran "$flang" "$clang" "$here/bare.f90"; status_line= ;;
two-units) # the header in two files, and the archive on top: one definition is left
  need gcc libgomp
  observer gcc
  printf '#include <nigh/omp.h>\nint other(void) { return omp_set_nesting_info("x"); }\n' >"$tmp/other.c"
  make_ gcc $strict "$here/calls.c" "$tmp/other.c" "$tmp/observe.o" -L"$lib" -lnigh-omp -o "$program" ;;
*) fail "no case $case" ;;
esac
[ "$case" = module-gfortran ] && nm "$program" | grep -q omp_set_nesting_info_$ && fail "the module needs the archive"

# Without nigh: runs, quietly, and nothing is bound.
ok "$program"
silent
[ "$(grep -c ' : ' "$tmp/out")" = 12 ] || fail "not 12 threads"
[ -z "$status_line" ] || out_has '^== status -1 -1$'
two_pus
grep ' : [0-9]*$' "$tmp/out" && fail "a thread is bound without nigh"

# Under nigh: obeyed from the next outermost region on; the bad spec is told once and changes nothing.
pus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
first=${pus%%[,-]*}
second=$(taskset -cp $$ | sed 's/.*: //' | tr ',-' '\n\n' | sed -n 2p)
ok taskset -c "$first,$second" "$nigh" run --teams 1,compact -- "$program"
lines 1
says "^nigh: omp_set_nesting_info: .*'nowhere'"
[ -z "$status_line" ] || out_has '^== status 0 -1$'
part() { sed -n "/^== $1/,/^== /p" "$tmp/out" | grep ' : ' | sort; }
is() { # is PART PU-OF-0.0 PU-OF-0.1 PU-OF-1.0 PU-OF-1.1
  wanted=$(printf '0.0 : %s\n0.1 : %s\n1.0 : %s\n1.1 : %s' "$2" "$3" "$4" "$5")
  [ "$(part "$1")" = "$wanted" ] || fail "$1: not as planned: $wanted"
}
is first "$first" "$first" "$second" "$second"
is changed "$first" "$second" "$second" "$first"
is kept "$first" "$second" "$second" "$first"
