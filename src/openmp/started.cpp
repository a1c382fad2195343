// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "openmp/started.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "openmp/cures.hpp"
#include "sys/preload_bar.hpp"
#include "sys/raw.h"
#include "sys/raw_text.hpp"

namespace nigh::preload {

namespace {

// One library of a list that colons and spaces divide.
struct Word {
  const char* text;
  size_t length;

  static Word first(const char* list) {
    while (*list == ':' || *list == ' ') list++;
    size_t length = 0;
    while (list[length] && list[length] != ':' && list[length] != ' ') length++;
    return {list, length};
  }
  [[nodiscard]] Word next() const { return first(text + length); }
  [[nodiscard]] bool is(const char* begin) const {
    const char* name = text;
    for (const char* at = text; at < text + length; at++)
      if (*at == '/') name = at + 1;
    return sys::raw_begins(name, begin);
  }
  [[nodiscard]] bool ours() const { return is("libnigh-"); }
  [[nodiscard]] bool is_there() const {
    char path[PATH_MAX];
    return sys::raw_copy(path, sizeof path, text, length) &&
           !nigh_raw_syscall3(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(path), R_OK);
  }
};

bool names_ours(const char* list) {
  for (Word word = Word::first(list); word.length; word = word.next())
    if (word.ours()) return true;
  return false;
}

bool misses_ours(const char* list) {
  for (Word word = Word::first(list); word.length; word = word.next())
    if (word.ours() && !word.is_there()) return true;
  return false;
}

sys::PreloadBar bar_of(const Started& program) {
  return program.by_path ? sys::preload_bar_of_command(program.file)
                         : sys::preload_bar(program.folder, program.file);
}

}  // namespace

StartedEnvironment::StartedEnvironment(const Started& program, char* const* entries) : entries_(entries) {
  if (!entries || !program.file || !cured(Cure::kPreload)) return;
  preload_ = sys::raw_variable(entries, "LD_PRELOAD");
  if (!preload_ || !names_ours(preload_)) return;
  const sys::PreloadBar bar = bar_of(program);
  all_ = sys::names_sanitizer(preload_) || bar != sys::PreloadBar::none;
  const char* spec = sys::raw_variable(entries, "OMP_NESTING_TEAM_SIZE");
  tells_ = bar == sys::PreloadBar::foreign_loader && spec && *spec;
  if (!all_ && !misses_ours(preload_)) return;
  size_t count = 0;
  while (entries[count]) count++;
  bytes_ = (count + 1) * sizeof *entries + sizeof "LD_PRELOAD=" + sys::raw_length(preload_);
}

char* const* StartedEnvironment::entries(void* memory) const {
  if (!bytes_) return entries_;
  auto** slot = static_cast<char**>(memory);
  size_t count = 0;
  while (entries_[count]) count++;
  char* const value = static_cast<char*>(memory) + (count + 1) * sizeof *slot;
  char* end = value;
  for (const char* at = "LD_PRELOAD="; *at; at++) *end++ = *at;
  char* const list = end;
  for (Word word = Word::first(preload_); word.length; word = word.next()) {
    if (word.ours() && ((all_ && !(tells_ && word.is("libnigh-openmp.so"))) || !word.is_there())) continue;
    if (end > list) *end++ = ':';
    for (size_t i = 0; i < word.length; i++) *end++ = word.text[i];
  }
  *end = '\0';
  for (char* const* entry = entries_; *entry; entry++) {
    if (!sys::raw_begins(*entry, "LD_PRELOAD="))
      *slot++ = *entry;
    else if (end > list)
      *slot++ = value;
  }
  *slot = nullptr;
  return static_cast<char* const*>(memory);
}

}  // namespace nigh::preload
