// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// GPUs that a process may see, in the variables of each vendor's runtime. Pure.
//
//     NVIDIA    CUDA_VISIBLE_DEVICES=2,3     with CUDA_DEVICE_ORDER=PCI_BUS_ID, so that numbers go by address
//     AMD       ROCR_VISIBLE_DEVICES=2,3
//     Intel     ZE_AFFINITY_MASK=2,3         with ZE_ENABLE_PCI_ID_DEVICE_ORDER=1
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "launch/launcher_words.hpp"
#include "machine/machine.hpp"

namespace nigh::launch {

using Lookup = std::function<std::string(const std::string&)>;  // of a variable; "" if it is not set
// Empty lists leave no GPU, and are not the same as none.
using SetLookup = std::function<std::optional<std::string>(const std::string&)>;

// The GPUs that the variables leave: all where none is set. Errors: invalid: a variable holds more than
// numbers of GPUs that are there (UUIDs, parts of a GPU); unsupported: they are not the numbers of the node.
Result<std::vector<int>> usable_gpus(const Machine& machine, const SetLookup& variable);

// For a process that may see `gpus`, indices into Machine::devices: one variable for each vendor that has one
// in the machine.
std::vector<std::pair<std::string, std::string>> gpu_variables(const Machine& machine,
                                                               const std::vector<int>& gpus);

// The launcher's words with `wrapper` before the program. Errors: invalid: there is no program, or several;
// the words bind ranks.
Result<std::vector<std::string>> words_with_wrapper(Launcher launcher, const std::vector<std::string>& words,
                                                    const std::vector<std::string>& wrapper,
                                                    const Lookup& variable);

}  // namespace nigh::launch
