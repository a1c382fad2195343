// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Variables of the environment that a user sets, read in one way by all code that is loaded into programs: a
// number is digits and nothing else, a word is one of those that there are, and what is neither counts as not
// set, which one sentence tells, once and on one rank of a node. Without the C++ runtime, as everything here
// may be.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "sys/launchers.hpp"
#include "sys/raw.h"

namespace nigh::sys {

// Digits without sign, blanks and point, of a number that fits; no other base.
inline bool whole_number(const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  std::uint64_t value = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(*text - '0'), &value))
      return false;
  }
  out = value;
  return value >= least && value <= most;
}

inline constinit std::atomic<const char*> told_variables[32]{};

// False: it was told before, by this library.
inline bool is_first_word_on(const char* name) {
  for (std::atomic<const char*>& one : told_variables) {
    const char* known = nullptr;
    if (one.compare_exchange_strong(known, name)) return true;
    if (std::strcmp(known, name) == 0) return false;
  }
  return false;
}

// The variable's text is not `allowed` ("a size such as 64M"); `instead` ends the sentence.
inline void tell_variable(const char* name, const char* text, const char* allowed,
                          const char* instead = "it counts as not set", Lookup lookup = lookup_variable,
                          void* context = nullptr) {
  if (!speaks_for_node(lookup, context) || !is_first_word_on(name)) return;
  char shown[64], line[640];
  std::size_t bytes = 0;
  for (; text[bytes] != '\0' && bytes < sizeof shown - 1; ++bytes) {
    const auto letter = static_cast<unsigned char>(text[bytes]);
    shown[bytes] = letter < ' ' || letter == 0x7f ? '?' : text[bytes];
  }
  shown[bytes] = '\0';
  const int length =
      std::snprintf(line, sizeof line, "nigh: %s='%s': it may be %s; %s\n", name, shown, allowed, instead);
  if (length > 0)
    nigh_raw_say(
        2, line,
        static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1);
}

// A whole number; `otherwise` where there is none.
inline std::uint64_t number_in_variable(const char* name, std::uint64_t least, std::uint64_t most,
                                        std::uint64_t otherwise, Lookup lookup = lookup_variable,
                                        void* context = nullptr) {
  const char* text = lookup(name, context);
  std::uint64_t out = 0;
  if (text == nullptr) return otherwise;
  if (whole_number(text, least, most, out)) return out;
  char allowed[80];
  std::snprintf(allowed, sizeof allowed, "a whole number from %llu to %llu",
                static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
  tell_variable(name, text, allowed, "it counts as not set", lookup, context);
  return otherwise;
}

// The index of the word; -1: the variable is not set, or empty, or none of them.
inline int word_in_variable(const char* name, std::initializer_list<const char*> words,
                            Lookup lookup = lookup_variable, void* context = nullptr) {
  const char* text = lookup(name, context);
  if (text == nullptr || *text == '\0') return -1;
  int index = 0;
  for (const char* word : words) {
    if (std::strcmp(text, word) == 0) return index;
    ++index;
  }
  char allowed[160] = "";
  std::size_t at = 0;
  for (const char* word : words) {
    --index;
    const char* between = at == 0 ? "" : index == 0 ? " or " : ", ";
    const int more = std::snprintf(allowed + at, sizeof allowed - at, "%s%s", between, word);
    if (more < 0 || static_cast<std::size_t>(more) >= sizeof allowed - at) break;
    at += static_cast<std::size_t>(more);
  }
  tell_variable(name, text, allowed, "it counts as not set", lookup, context);
  return -1;
}

// NAME=off, of a part that is on.
inline bool is_off(const char* name, Lookup lookup = lookup_variable, void* context = nullptr) {
  return word_in_variable(name, {"off", "on"}, lookup, context) == 0;
}
// NAME=1, of a part that is off.
inline bool is_on(const char* name, Lookup lookup = lookup_variable, void* context = nullptr) {
  return word_in_variable(name, {"0", "1"}, lookup, context) == 1;
}

// NIGH_MPI_FAKE_NODES: on how many nodes the ranks of this one are to believe that they are.
inline int pretended_nodes(Lookup lookup = lookup_variable, void* context = nullptr) {
  return static_cast<int>(number_in_variable("NIGH_MPI_FAKE_NODES", 1, 1'000'000, 1, lookup, context));
}

}  // namespace nigh::sys
