// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The form of the tests: a scenario must hold as the code is, and must fail for every mutant listed with it.
// With NIGH_SOAK set the scenarios that must hold are searched one preemption and one stale value deeper, as
// far as half a million executions go.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "model.hpp"

namespace nigh::model {

using Change = Mutant::Change;

template <class Kind>
Verdict explore(const Mutant& mutant, int preemptions, int stale, long executions) {
  return explore([] { return std::make_unique<Kind>(); },
                 {.preemptions = preemptions, .stale = stale, .executions = executions, .mutant = mutant});
}

template <class Kind>
void expect_holds(int preemptions, int stale = 2) {
  const bool deeper = std::getenv("NIGH_SOAK") != nullptr;
  const Verdict verdict = deeper ? explore<Kind>({}, preemptions + 1, stale + 1, 500'000)
                                 : explore<Kind>({}, preemptions, stale, 100'000);
  const bool enough = deeper && verdict.failure.starts_with("too many");
  EXPECT_TRUE(verdict.failure.empty() || enough) << verdict.failure;
  EXPECT_GT(verdict.executions, 20);
  std::printf("%ld executions, %ld operations\n", verdict.executions, verdict.operations);
}

template <class Kind>
void expect_caught(const std::vector<Mutant>& mutants, int preemptions = 2, int stale = 2) {
  for (const Mutant& mutant : mutants) {
    const Verdict verdict = explore<Kind>(mutant, preemptions, stale, 200'000);
    EXPECT_TRUE(verdict.mutated) << mutant.function << " has no such operation any more";
    EXPECT_NE(verdict.failure, "") << mutant.function << ": the model does not see it";
    EXPECT_EQ(verdict.failure.find("too many"), std::string::npos) << mutant.function;
    std::printf("%s: %s (after %ld executions)\n", mutant.function,
                verdict.failure.substr(0, verdict.failure.find('\n')).c_str(), verdict.executions);
  }
}

}  // namespace nigh::model
