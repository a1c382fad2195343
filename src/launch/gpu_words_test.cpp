// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/gpu_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "machine/load.hpp"

namespace nigh::launch {
namespace {

Machine with_gpus_of(const std::vector<const char*>& vendors) {
  Machine machine = *load_machine("synthetic:pack:2 core:2 pu:1");
  for (std::size_t i = 0; i < vendors.size(); ++i) {
    Device& device = machine.devices.emplace_back();
    device.bus = fmt::format("0000:{:02}:00.0", i);
    device.vendor = vendors[i];
    device.pus = machine.pus();
  }
  return machine;
}

SetLookup from_set(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Lookup from(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

std::string told(const Machine& machine, const std::vector<int>& gpus) {
  std::string out;
  for (const auto& [name, value] : gpu_variables(machine, gpus))
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

TEST(GpuWords, NumbersOfEachVendorGoByAddress) {
  const Machine nvidia = with_gpus_of({"NVIDIA", "NVIDIA", "NVIDIA"});
  EXPECT_EQ(told(nvidia, {0, 2}), "CUDA_VISIBLE_DEVICES=0,2 CUDA_DEVICE_ORDER=PCI_BUS_ID");
  EXPECT_EQ(told(nvidia, {}), "CUDA_VISIBLE_DEVICES= CUDA_DEVICE_ORDER=PCI_BUS_ID");
  EXPECT_EQ(told(with_gpus_of({"Intel", "AMD", "AMD"}), {0, 2}),
            "ROCR_VISIBLE_DEVICES=1 ZE_AFFINITY_MASK=0 ZE_ENABLE_PCI_ID_DEVICE_ORDER=1");
  EXPECT_EQ(told(with_gpus_of({}), {}), "");
}

TEST(GpuWords, WhatUsersLeaveVisibleIsAllThatIsSharedOut) {
  const Machine machine = with_gpus_of({"NVIDIA", "NVIDIA", "NVIDIA", "AMD"});
  const auto usable = [&](const std::map<std::string, std::string>& variables) {
    const auto gpus = usable_gpus(machine, from_set(variables));
    return gpus ? fmt::format("{}", fmt::join(*gpus, " ")) : gpus.error().message;
  };
  EXPECT_EQ(usable({}), "0 1 2 3");
  EXPECT_EQ(usable({{"CUDA_VISIBLE_DEVICES", "2,0"}}), "0 2 3");
  EXPECT_EQ(usable({{"ROCR_VISIBLE_DEVICES", "0"}}), "0 1 2 3");
  EXPECT_EQ(usable({{"CUDA_VISIBLE_DEVICES", ""}}), "3");
  for (const char* text : {"3", "GPU-1234", "0,", "-1", "0 1"})
    EXPECT_EQ(usable({{"CUDA_VISIBLE_DEVICES", text}}),
              fmt::format("CUDA_VISIBLE_DEVICES={} is not a list of numbers below 3, the GPUs of NVIDIA "
                          "here: they stay as they are",
                          text));
}

TEST(GpuWords, ABatchSystemsPartOfANodeStaysAsItIs) {
  const Machine machine = with_gpus_of({"NVIDIA", "NVIDIA", "NVIDIA", "NVIDIA"});
  const auto whole =
      usable_gpus(machine, from_set({{"CUDA_VISIBLE_DEVICES", "2,3"}, {"SLURM_JOB_GPUS", "2,3"}}));
  EXPECT_EQ(whole, (std::vector<int>{2, 3}));
  const auto own =
      usable_gpus(machine, from_set({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "2,3"}}));
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().message,
            "SLURM_STEP_GPUS=2,3, but CUDA_VISIBLE_DEVICES=0,1 numbers them anew: which GPUs these are is "
            "not known");
}

std::string wrapped_words(Launcher launcher, const std::string& text,
                          const std::map<std::string, std::string>& variables = {}) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  const auto made = words_with_wrapper(launcher, words, {"nigh", "rank-gpus", "--"}, from(variables));
  return made ? fmt::format("{}", fmt::join(*made, " ")) : made.error().message;
}

TEST(GpuWords, TheProgramStartsThroughUs) {
  EXPECT_EQ(wrapped_words(Launcher::open_mpi, "mpirun -n 4 ./app -n 3"),
            "mpirun --bind-to none -n 4 nigh rank-gpus -- ./app -n 3");
  EXPECT_EQ(wrapped_words(Launcher::hydra, "mpiexec -n 4 ./app"), "mpiexec -n 4 nigh rank-gpus -- ./app");
  EXPECT_EQ(wrapped_words(Launcher::slurm, "srun -n 4 ./app"),
            "srun --cpu-bind=none -n 4 nigh rank-gpus -- ./app");
  EXPECT_EQ(wrapped_words(Launcher::open_mpi, "mpirun -n 4"), "the launcher's words name no program");
  EXPECT_EQ(wrapped_words(Launcher::open_mpi, "mpirun -n 1 ./a : -n 1 ./b"),
            "the command starts several programs; GPUs are given to the ranks of one");
  EXPECT_EQ(
      wrapped_words(Launcher::open_mpi, "mpirun --bind-to core ./app"),
      "words or variables of yours bind the ranks; leave them out, and nigh binds ranks near their GPUs");
}

}  // namespace
}  // namespace nigh::launch
