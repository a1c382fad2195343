// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nigh::tune {

namespace {

constexpr std::size_t most_layouts = 12;

Choice with_options(const Choice& choice, const std::vector<std::string>& more) {
  Choice out = choice;
  out.options.insert(out.options.end(), more.begin(), more.end());
  return out;
}

// All ways to use `count` PUs or cores: many ranks first.
void add_layouts(const TuneFacts& facts, int count, std::vector<Choice>& out) {
  for (int ranks = count; ranks >= 1; --ranks) {
    if (count % ranks != 0) continue;
    Choice one;
    if (facts.ranks_free) one.ranks = ranks;
    if (facts.threads_free) one.threads = facts.ranks_free ? count / ranks : ranks;
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  }
}

std::vector<Choice> layouts(const TuneFacts& facts) {
  std::vector<Choice> out{first_choice(facts)};
  if (!facts.ranks_free && !facts.threads_free) return out;
  add_layouts(facts, facts.cores, out);
  if (facts.pus > facts.cores) add_layouts(facts, facts.pus, out);
  if (out.size() > most_layouts) out.resize(most_layouts);
  return out;
}

// A spec does only what it says: messages are to be named, too.
std::vector<std::string> compact(const TuneFacts& facts, int threads) {
  std::vector<std::string> out{"--teams", fmt::format("{},compact", threads)};
  if (facts.launcher && facts.mpi) out.insert(out.begin(), "--mpi");
  return out;
}

std::vector<Choice> parts(const TuneFacts& facts, const Choice& best) {
  std::vector<Choice> out{best};
  Choice alone = best;
  alone.options.clear();
  alone.alone = true;
  out.push_back(alone);
  if (facts.openmp) {
    const int threads = best.threads > 0 ? best.threads : facts.threads > 0 ? facts.threads : facts.pus;
    out.push_back(with_options(best, {"--teams", "auto"}));
    if (threads > 1 && threads < facts.pus) out.push_back(with_options(best, compact(facts, threads)));
  }
  if (facts.openmp && facts.mpi)
    for (const char* part : {"mpi", "teams"}) out.push_back(with_options(best, {"--off", part}));
  return out;
}

std::vector<Choice> memory(const TuneFacts& facts, const Choice& best) {
  std::vector<Choice> out{best};
  const bool huge = facts.huge_pages == "madvise";  // "always" gives them to everybody, "never" to nobody
  Choice with = best;
  with.alone = false;
  // A memory policy and huge pages need nothing of what nigh does besides.
  if (best.alone) with.options = {"--off", "mpi,teams"};
  if (huge) out.push_back(with_options(with, {"--huge-pages"}));
  if (facts.nodes > 1) out.push_back(with_options(with, {"--interleave", "all"}));
  if (facts.nodes > 1 && huge) out.push_back(with_options(with, {"--interleave", "all", "--huge-pages"}));
  return out;
}

void replace_all(std::string& text, const std::string& what, int number) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;)
    text.replace(at, what.size(), std::to_string(number));
}

}  // namespace

bool operator==(const Choice& one, const Choice& other) {
  return one.options == other.options && one.ranks == other.ranks && one.threads == other.threads &&
         one.alone == other.alone;
}

// The numbers that launchers and runtimes take by themselves: a rank on each core, a thread on each PU.
Choice first_choice(const TuneFacts& facts) {
  Choice out;
  if (facts.ranks_free) out.ranks = facts.cores;
  if (facts.threads_free) out.threads = facts.ranks_free ? 1 : facts.pus;
  return out;
}

TuneStage stage_of(StageKind kind, const TuneFacts& facts, const Choice& best) {
  switch (kind) {
    case StageKind::layout: return {"ranks and threads", layouts(facts)};
    case StageKind::parts: return {"what nigh does", parts(facts, best)};
    case StageKind::memory: return {"memory", memory(facts, best)};
  }
  return {};
}

std::vector<std::string> written_in(const std::vector<std::string>& words, const Choice& choice) {
  std::vector<std::string> out = words;
  for (std::string& word : out) {
    if (choice.ranks > 0) replace_all(word, "{ranks}", choice.ranks);
    if (choice.threads > 0) replace_all(word, "{threads}", choice.threads);
  }
  return out;
}

std::string text_of(const Choice& choice) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto number = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (choice.ranks > 0 && choice.threads > 0)
    add(number(choice.ranks, "rank") + " x " + number(choice.threads, "thread"));
  else if (choice.ranks > 0 || choice.threads > 0)
    add(choice.ranks > 0 ? number(choice.ranks, "rank") : number(choice.threads, "thread"));
  if (choice.alone) add("without nigh");
  if (!choice.options.empty()) add(fmt::format("{}", fmt::join(choice.options, " ")));
  return out.empty() ? "nigh run" : out;
}

}  // namespace nigh::tune
