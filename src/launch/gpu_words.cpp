// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/gpu_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "plan/devices.hpp"

namespace nigh::launch {
namespace {

struct VendorWords {
  const char *vendor, *visible;
  const char *order, *by_address;  // null: it goes by address anyway
};
constexpr VendorWords vendors[] = {{"NVIDIA", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                   {"AMD", "ROCR_VISIBLE_DEVICES", nullptr, nullptr},
                                   {"Intel", "ZE_AFFINITY_MASK", "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}};

// By PCI address, as Machine::devices are.
std::vector<int> gpus_of(const Machine& machine, const char* vendor) {
  std::vector<int> out = devices_of(machine, Device::Type::gpu);
  std::erase_if(out,
                [&](int gpu) { return machine.devices[static_cast<std::size_t>(gpu)].vendor != vendor; });
  return out;
}

Result<std::vector<int>> listed_gpus(const VendorWords& words, const std::string& text,
                                     const std::vector<int>& all) {
  std::vector<int> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, number);
    if (error != std::errc() || stop != text.data() + end || number >= all.size())
      return fail(
          Errc::invalid,
          fmt::format("{}={} is not a list of numbers below {}, the GPUs of {} here: they stay as they are",
                      words.visible, text, all.size(), words.vendor));
    out.push_back(all[number]);
    at = end + 1;
  }
  return out;
}

// Slurm numbers the GPUs that it gives to a job from 0 again.
Result<void> same_numbers_as_slurm(const VendorWords& words, const std::string& text,
                                   const SetLookup& variable) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
    const auto given = variable(name);
    if (!given || given->empty()) continue;
    if (*given == text) break;  // a step's GPUs are some of the job's
    return fail(Errc::unsupported,
                fmt::format("{}={}, but {}={} numbers them anew: which GPUs these are is not known", name,
                            *given, words.visible, text));
  }
  return {};
}

}  // namespace

Result<std::vector<int>> usable_gpus(const Machine& machine, const SetLookup& variable) {
  std::vector<int> out;
  for (const VendorWords& words : vendors) {
    std::vector<int> all = gpus_of(machine, words.vendor);
    const auto text = variable(words.visible);
    if (text && text->empty()) continue;  // none is left
    if (text && !all.empty()) {
      if (auto same = same_numbers_as_slurm(words, *text, variable); !same)
        return tl::unexpected(same.error());
      auto listed = listed_gpus(words, *text, all);
      if (!listed) return listed;
      all = *std::move(listed);
    }
    out.insert(out.end(), all.begin(), all.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::pair<std::string, std::string>> gpu_variables(const Machine& machine,
                                                               const std::vector<int>& gpus) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const VendorWords& words : vendors) {
    const std::vector<int> all = gpus_of(machine, words.vendor);
    if (all.empty()) continue;
    std::string list;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (std::find(gpus.begin(), gpus.end(), all[i]) != gpus.end())
        list += fmt::format("{}{}", list.empty() ? "" : ",", i);
    out.emplace_back(words.visible, list);
    if (words.order != nullptr) out.emplace_back(words.order, words.by_address);
  }
  return out;
}

Result<std::vector<std::string>> words_with_wrapper(Launcher launcher, const std::vector<std::string>& words,
                                                    const std::vector<std::string>& wrapper,
                                                    const Lookup& variable) {
  std::size_t at = 1;
  for (const LauncherOption& option : launcher_options(launcher, words)) at = option.at + option.words;
  if (at >= words.size()) return fail(Errc::invalid, "the launcher's words name no program");
  if (std::find(words.begin(), words.end(), ":") != words.end())
    return fail(Errc::invalid, "the command starts several programs; GPUs are given to the ranks of one");
  std::vector<std::string> out = words;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), wrapper.begin(), wrapper.end());
  if (launcher == Launcher::hydra) return out;
  // Nobody is to be bound by srun, in an allocation or not.
  const auto as_if_allocated = [&](const std::string& name) {
    return name == "SLURM_JOB_ID" ? std::string("1") : variable(name);
  };
  const TeamWords made = team_words(launcher, out, 1, as_if_allocated);
  if (made.added.empty())
    return fail(
        Errc::invalid,
        "words or variables of yours bind the ranks; leave them out, and nigh binds ranks near their GPUs");
  return made.words;
}

}  // namespace nigh::launch
