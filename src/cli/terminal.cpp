// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace nigh::cli {

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40) return 80;
  return size.ws_col > 120 ? 120 : size.ws_col;
}

bool use_color(bool refused) {
  const char* no_color = std::getenv("NO_COLOR");
  return !refused && (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) != 0;
}

}  // namespace nigh::cli
