#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# The work of a batch job around its programs.
seq 1 1500000 | awk '{ print ($1 * 7919) % 1000003 }' | sort -n --parallel=2 | uniq -c | xz -1 -T2 | xz -d | sha256sum
i=0
while [ $i -lt 150 ]; do
  sed -n 2p /etc/passwd | cut -d: -f1 >/dev/null
  i=$((i + 1))
done
