/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For Fortran: how many CPUs the caller may run on. */
#include "trap.h"

int trap_mask_size(void) { return mask_size(); }
