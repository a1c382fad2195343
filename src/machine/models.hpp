// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The shipped machine models, compiled in: `nigh` works from any place it is copied to. The source of the
// table is made from models/*.json by embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace nigh {

struct EmbeddedModel {
  std::string_view name;
  std::string_view json;
};

std::span<const EmbeddedModel> embedded_models();

}  // namespace nigh
