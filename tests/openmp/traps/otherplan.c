/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A libnigh.so of another time. */
int nigh_plan_abi(void) { return 999; }
