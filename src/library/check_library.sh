#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The promises of libnigh.so to every process that opens it: it exports nigh_* only, and needs no C++
# library.
set -u
library=$1
failed=0
exported=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort)
others=$(printf '%s\n' "$exported" | grep -v '^nigh_')
if [ -n "$others" ]; then
  echo "check_library: $library exports more than nigh_*: $(echo $others | cut -c1-300)" >&2
  failed=1
fi
for name in nigh_plan_abi nigh_planner_new nigh_planner_free nigh_planner_levels nigh_planner_size nigh_planner_team; do
  printf '%s\n' "$exported" | grep -qx "$name" || { echo "check_library: $library does not export $name" >&2; failed=1; }
done
needed=$(objdump -p "$library" | awk '$1 == "NEEDED" {print $2}')
for lib in $needed; do
  case $lib in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | ld-linux* | libhwloc.so.*) ;;
    *) echo "check_library: $library needs $lib, which not every process can take" >&2; failed=1 ;;
  esac
done
echo "check_library: needs" $needed
exit $failed
