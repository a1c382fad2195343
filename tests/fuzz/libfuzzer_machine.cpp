// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer entry point of the machine file parser: built under clang with -DNIGH_LIBFUZZER=ON.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "parse_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto wrong = nigh::fuzz::check_machine_text({reinterpret_cast<const char*>(data), size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
