/* Copyright (c) 2026, the nigh authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libnigh-omp.a: omp_set_nesting_info as a linkable symbol, for C (the weak definition of the header) and for
 * a bare external call from Fortran. Everything real happens in whatever nigh library runs the program. */
#include <nigh/omp.h>
#include <stdlib.h>
#include <string.h>

/* Fortran hands over blank-padded text and, hidden behind the arguments, its length. */
__attribute__((weak)) void omp_set_nesting_info_(const char* spec, size_t length);

void omp_set_nesting_info_(const char* spec, size_t length) {
  while (length > 0 && spec[length - 1] == ' ') --length;
  char* text = malloc(length + 1);
  if (text == NULL) return;
  memcpy(text, spec, length);
  text[length] = '\0';
  (void)omp_set_nesting_info(text);
  free(text);
}
