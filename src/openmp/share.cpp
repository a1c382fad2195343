// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "openmp/share.hpp"

#include "openmp/core.hpp"
#include "openmp/preload.hpp"
#include "sys/cpu_list.h"
#include "sys/raw_text.hpp"

namespace nigh::preload {

// The list up to `end`; false: it is none.
static bool read_list(const char* text, char end, Mask& mask) {
  char list[4096];
  return sys::raw_copy(list, sizeof list, text, sys::raw_length_to(text, end)) && read_cpus(list, mask);
}

static long number_of(char* const* envp, const char* name) {
  const char* text = sys::raw_variable(envp, name);
  const long number = text ? nigh_cpu_number(&text, kMaskCpus) : -1;
  return number >= 0 && !*text ? number : -1;
}

// Entry `index` of `count` that ';' divides; null: there are not so many.
static const char* entry_of(const char* list, long index, long count) {
  const char* entry = nullptr;
  long seen = 0;
  for (const char* at = list; at; seen++) {
    if (seen == index) entry = at;
    at += sys::raw_length_to(at, ';');
    at = *at ? at + 1 : nullptr;
  }
  return seen == count ? entry : nullptr;
}

void take_share(char* const* envp) {
  const char* shares = sys::raw_variable(envp, "NIGH_RANK_SHARES");
  const char* whole = sys::raw_variable(envp, "NIGH_RANK_SHARE");
  const long rank = number_of(envp, "OMPI_COMM_WORLD_LOCAL_RANK");
  const long size = number_of(envp, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!shares || !whole || rank < 0 || rank >= size) return;
  const char* entry = entry_of(shares, rank, size);
  Mask all, share, now;
  if (!entry || !read_list(whole, ';', all) || !read_list(entry, ';', share)) return;
  if (now.load(0) && now == all) share.store(0);
}

}  // namespace nigh::preload
