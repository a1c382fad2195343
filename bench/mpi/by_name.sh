#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# by_name.sh CC CXX SRC ABI NAME PROGRAM SOURCES...: builds PROGRAM-NAME, which the loader gives the library of MPI
# that is called NAME (libmpi.so.40), from our own declarations of its ABI. No MPI has to be installed: it is linked
# to an empty library of that name, with the symbols that the program lacks.
set -eu
cc=$1 cxx=$2 src=$3 abi=$4 name=$5 program=$6
shift 6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Werror"
for source in "$@"; do
  object=$work/$(basename "$source").o
  case $source in
    # Position independent, so that addresses of the library's objects (handles of Open MPI) are the library's.
    *.cpp) "$cxx" -std=gnu++20 -O3 $warnings -fPIC -fno-exceptions -fno-rtti -I"$src" -isystem "$src/mpi/abi/$abi" -c "$source" -o "$object" ;;
    *) "$cc" -std=gnu11 -O3 $warnings -fPIC -c "$source" -o "$object" ;;
  esac
done
nm -u "$work"/*.o | awk '$NF ~ /^MPI_/ { print "void " $NF "(void) {}" } $NF ~ /^ompi_/ { print "char " $NF "[8];" }' \
  | sort -u > "$work/empty.c"
"$cc" -w -shared -fPIC -nostdlib "$work/empty.c" "-Wl,-soname,$name" -o "$work/$name"
"$cc" "$work"/*.o "$work/$name" -Wl,-z,dynamic-undefined-weak -o "$program-$name"
