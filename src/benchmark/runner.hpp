// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Takes the samples of a benchmark: for each runtime and team size, rounds in which every subject runs once,
// the first one changing from round to round, so that a slow minute of the machine falls on all of them. A
// subject that fails is noted with its reason and left out of the rest of its case; a wrong result stays in
// the record, not verified.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmark/catalog.hpp"
#include "benchmark/pingpong.hpp"
#include "benchmark/program.hpp"
#include "benchmark/record.hpp"

namespace nigh::benchmark {

struct BenchRequest {
  BenchKind kind;
  std::vector<std::string> runtimes;
  std::vector<launch::MpiInstall> installs;  // that the runtimes of a communication benchmark name
  std::vector<Teams> teams;
  std::vector<std::string> options;   // of the program, for its size
  std::vector<std::string> subjects;  // names to keep; empty: all
  int samples = 5;
  double timeout_seconds = 300;
  Usable usable;
  std::string nigh;  // path of the command
  // Told what is going on: how much of all runs is done (0..1), and what runs now.
  std::function<void(double, const std::string&)> progress = [](double, const std::string&) {};
};

// Adds to the file. Fails only when nothing at all could be measured.
Result<void> run_bench(const BenchRequest& request, BenchFile& file);

// Largest deviation of two lists of derivatives, relative to the largest of the reference; infinite when the
// lists differ in length.
double deviation(const std::vector<double>& values, const std::vector<double>& reference);
constexpr double most_deviation = 1e-8;

}  // namespace nigh::benchmark
