// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See children.hpp.
#include "sys/children.hpp"

#include <unistd.h>

#include <sstream>
#include <string>

#include "sys/os.hpp"

namespace nigh::sys {

std::vector<int> own_children() {
  std::string self = std::to_string(::getpid());
  auto text = Os().read("/proc/" + self + "/task/" + self + "/children");
  std::vector<int> out;
  if (!text) return out;
  std::istringstream words(*text);
  for (int pid = 0; words >> pid;) out.push_back(pid);
  return out;
}

}  // namespace nigh::sys
