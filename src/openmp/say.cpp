// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One sentence, one write.
#include "openmp/say.hpp"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys/raw.h"

namespace nigh::preload {

void say(const char* format, ...) {
  char text[1024] = "nigh: ";
  const size_t prefix = strlen(text);
  va_list args;
  va_start(args, format);
  const int wanted = vsnprintf(text + prefix, sizeof text - prefix - 1, format, args);
  va_end(args);
  if (wanted < 0) return;
  const size_t end = strlen(text);
  text[end] = '\n';
  nigh_raw_say(2, text, end + 1);
}

}  // namespace nigh::preload
