// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// movers_tool CHECK...: moves a running application about in a NUMA guest, and does to it and to the mover
// what must not harm it: full nodes, pinned pages, kill -9 in a pause, a clock that jumps, memory that goes
// off-line.
#include <cstring>

#include "movers_checks.hpp"

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (int i = 1; i < count; ++i) {
    bool known = false;
    for (const movers::Check& one : movers::checks()) {
      if (std::strcmp(words[i], one.name) != 0) continue;
      known = true;
      int before = movers::failures();
      double since = movers::now();
      one.run();
      if (movers::failures() == before) std::printf("ok %s (%.2f s)\n", one.name, movers::now() - since);
    }
    movers::check(known, "no check is called \"%s\"", words[i]);
  }
  return movers::failures() == 0 ? 0 : 1;
}
