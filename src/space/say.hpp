// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of this room's loaded code: one sentence to stderr in one write, straight to the kernel, since
// stdio belongs to the program. Callers see to it that each is written once.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "sys/raw.h"

namespace nigh::space {

__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...) {
  char text[1024] = "nigh: ";
  const std::size_t prefix = std::strlen(text);
  va_list args;
  va_start(args, format);
  const int wanted = std::vsnprintf(text + prefix, sizeof text - prefix - 1, format, args);
  va_end(args);
  if (wanted < 0) return;
  const std::size_t end = std::strlen(text);
  text[end] = '\n';
  nigh_raw_say(2, text, end + 1);
}

}  // namespace nigh::space
