// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Finds obstacles on a machine, in a container, in a shell or batch job, each with its cure. A function of
// files below a root, variables and limits, so that each finding is provoked in a test and gone after its
// cure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "sys/os.hpp"

namespace nigh::doctor {

// hindrance: something does not work, or is slower than it must be. note: worth knowing.
enum class Level : std::uint8_t { hindrance, note, fine };
const char* level_name(Level level);

struct Finding {
  std::string id;  // "cpu-quota", stable
  Level level = Level::note;
  std::string sentence;
  std::string cure;  // what to type or to ask for; empty: nothing need be done
};

struct Patient {
  sys::Os os;
  std::function<std::string(const std::string&)> variable;  // its value, or ""
  CpuSet own;                                               // PUs that we may use
  bool is_root = false;
  bool limited_address_space = false, limited_data = false;  // ulimit -v, -d
  std::uint64_t largest_file = ~std::uint64_t{0};            // ulimit -f, bytes
  std::uint64_t shm_bytes = 0;                               // size of /dev/shm; 0: there is none
  bool has_proc = true;                                      // nigh finds itself there
  std::vector<std::string> missing_files;                    // libraries of ours
  bool has_probe = false;
  std::string unused_probe;                   // why a kept one is not used
  std::vector<std::string> unknown_settings;  // a sentence for each
};

std::vector<Finding> examine(const Patient& patient);

}  // namespace nigh::doctor
