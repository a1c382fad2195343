// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The circumstances of a figure: machine, kernel, settings, time, and the load by other programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/cpuset.hpp"
#include "machine/machine.hpp"
#include "sys/os.hpp"

namespace nigh::benchmark {

nlohmann::ordered_json fingerprint(const Machine& machine, const CpuSet& mask, const sys::Os& os);
// The first figure of /proc/loadavg; -1 if unknown.
double load_average(const sys::Os& os);
// "2026-11-21 21:18 UTC"
std::string now_text();
// One line for people, from a fingerprint of ours or of an older file.
std::string fingerprint_line(const nlohmann::ordered_json& fingerprint);

}  // namespace nigh::benchmark
