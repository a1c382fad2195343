// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The first moment that is ours, when no malloc came before it: as early as libraries allow. Static data is
// shared here, before the program's own constructors have made threads, and the registry opens.
#include <stdlib.h>
#include <string.h>

#include "space/memory.hpp"
#include "sys/raw.h"

namespace nigh::space {

__attribute__((constructor(101))) static void begin() {
  if (!memory().on) return;
  const char* wish = start_environment("NIGH_SHARE");
  const char* why = "";
  if (wish != nullptr && strstr(wish, "data") != nullptr && !share_static_data(&why)) {
    static const char text[] = "nigh: static data is not shared: ";
    nigh_raw_write(2, text, sizeof text - 1);
    nigh_raw_write(2, why, strlen(why));
    nigh_raw_write(2, "\n", 1);
  }
  if (registry_start != nullptr) registry_start();
}

}  // namespace nigh::space
