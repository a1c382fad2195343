// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nigh::tune {
namespace {

std::vector<std::string> texts(const TuneStage& stage) {
  std::vector<std::string> out;
  for (const Choice& choice : stage.choices) out.push_back(text_of(choice));
  return out;
}

using Texts = std::vector<std::string>;

TEST(TuneCandidates, LayoutsUseAllCores) {
  TuneFacts facts;
  facts.pus = facts.cores = 8;
  facts.ranks_free = facts.threads_free = true;
  EXPECT_EQ(
      texts(stage_of(StageKind::layout, facts, {})),
      (Texts{"8 ranks x 1 thread", "4 ranks x 2 threads", "2 ranks x 4 threads", "1 rank x 8 threads"}));
  facts.pus = 16;  // two hardware threads a core
  const auto all = stage_of(StageKind::layout, facts, {}).choices;
  EXPECT_EQ(all.size(), 9U);
  for (const Choice& one : all) EXPECT_TRUE(one.ranks * one.threads == 8 || one.ranks * one.threads == 16);
}

TEST(TuneCandidates, OneNumberAlone) {
  TuneFacts facts;
  facts.cores = 4;
  facts.pus = 8;
  facts.threads_free = true;
  EXPECT_EQ(texts(stage_of(StageKind::layout, facts, {})),
            (Texts{"8 threads", "4 threads", "2 threads", "1 thread"}));
  facts.threads_free = false;
  facts.ranks_free = true;
  EXPECT_EQ(texts(stage_of(StageKind::layout, facts, {})),
            (Texts{"4 ranks", "2 ranks", "1 rank", "8 ranks"}));
  facts.ranks_free = false;
  EXPECT_EQ(texts(stage_of(StageKind::layout, facts, {})), (Texts{"nigh run"}));
}

TEST(TuneCandidates, LargeMachinesHaveFewLayouts) {
  TuneFacts facts;
  facts.cores = 240;
  facts.pus = 480;
  facts.ranks_free = facts.threads_free = true;
  EXPECT_LE(stage_of(StageKind::layout, facts, {}).choices.size(), 12U);
}

TEST(TuneCandidates, PartsByWhatTheProgramUses) {
  TuneFacts facts;
  facts.pus = facts.cores = 8;
  facts.threads = 4;
  EXPECT_EQ(
      texts(stage_of(StageKind::parts, facts, {})),
      (Texts{"nigh run", "without nigh", "--teams auto", "--teams 4,compact", "--off mpi", "--off teams"}));
  facts.launcher = true;
  EXPECT_EQ(texts(stage_of(StageKind::parts, facts, {}))[3], "--mpi --teams 4,compact");
  facts.openmp = false;
  EXPECT_EQ(texts(stage_of(StageKind::parts, facts, {})), (Texts{"nigh run", "without nigh"}));
  facts.openmp = true;
  facts.mpi = false;
  facts.threads = 8;
  EXPECT_EQ(texts(stage_of(StageKind::parts, facts, {})),
            (Texts{"nigh run", "without nigh", "--teams auto"}));
}

TEST(TuneCandidates, MemoryByTheMachine) {
  TuneFacts facts;
  EXPECT_EQ(stage_of(StageKind::memory, facts, {}).choices.size(), 1U);
  facts.huge_pages = "madvise";
  facts.nodes = 2;
  Choice best;
  best.options = {"--teams", "auto"};
  EXPECT_EQ(texts(stage_of(StageKind::memory, facts, best)),
            (Texts{"--teams auto", "--teams auto --huge-pages", "--teams auto --interleave all",
                   "--teams auto --interleave all --huge-pages"}));
  best = {};
  best.alone = true;
  EXPECT_EQ(text_of(stage_of(StageKind::memory, facts, best).choices[1]), "--off mpi,teams --huge-pages");
}

TEST(TuneCandidates, NumbersAreWrittenIn) {
  Choice choice;
  choice.ranks = 4;
  choice.threads = 2;
  EXPECT_EQ(written_in({"mpirun", "-n", "{ranks}", "./app", "-t={threads}", "{x}"}, choice),
            (Texts{"mpirun", "-n", "4", "./app", "-t=2", "{x}"}));
}

}  // namespace
}  // namespace nigh::tune
