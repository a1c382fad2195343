// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "openmp/share.hpp"

#include <string.h>

#include "openmp/core.hpp"
#include "openmp/preload.hpp"
#include "sys/cpu_list.h"

namespace nigh::preload {

// The list up to `end`; false: it is none.
static bool read_list(const char* text, const char* end, Mask& mask) {
  char list[4096];
  const size_t length = end ? static_cast<size_t>(end - text) : strlen(text);
  if (length >= sizeof list) return false;
  memcpy(list, text, length);
  list[length] = '\0';
  return read_cpus(list, mask);
}

static long number_of(char* const* envp, const char* name) {
  const char* text = value_of(envp, name);
  const long number = text ? nigh_cpu_number(&text, kMaskCpus) : -1;
  return number >= 0 && !*text ? number : -1;
}

// Entry `index` of `count` that ';' divides; null: there are not so many.
static const char* entry_of(const char* list, long index, long count) {
  const char* entry = nullptr;
  long seen = 0;
  for (const char* at = list; at; seen++) {
    if (seen == index) entry = at;
    at = strchr(at, ';');
    if (at) at++;
  }
  return seen == count ? entry : nullptr;
}

void take_share(char* const* envp) {
  const char* shares = value_of(envp, "NIGH_RANK_SHARES");
  const char* whole = value_of(envp, "NIGH_RANK_SHARE");
  const long rank = number_of(envp, "OMPI_COMM_WORLD_LOCAL_RANK");
  const long size = number_of(envp, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!shares || !whole || rank < 0 || rank >= size) return;
  const char* entry = entry_of(shares, rank, size);
  Mask all, share, now;
  if (!entry || !read_list(whole, nullptr, all) || !read_list(entry, strchr(entry, ';'), share)) return;
  if (now.load(0) && now == all) share.store(0);
}

}  // namespace nigh::preload
