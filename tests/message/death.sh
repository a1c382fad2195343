#!/bin/sh
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# Three ranks without a launcher that would end them all: rank 1 is killed while the others wait for it, and
# they must be told so and go on.
talk=$1
NIGH_SIZE=3
NIGH_JOB=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export NIGH_SIZE NIGH_JOB
NIGH_RANK=0 timeout 40 "$talk" death & zero=$!
NIGH_RANK=1 timeout 40 "$talk" death & one=$!
NIGH_RANK=2 timeout 40 "$talk" death & two=$!
wait $one && { echo "rank 1 was to be killed"; exit 1; }
wait $zero || { echo "rank 0 failed"; exit 1; }
wait $two || { echo "rank 2 failed"; exit 1; }
