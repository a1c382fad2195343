// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The feed as a library of its own, libnigh-feed.so, which --listen and --web open: the HTTP library and
// what it brings (OpenSSL) take 2.5 ms to load, which no other command should pay. Both are of one build.
#pragma once

#include <memory>
#include <string>

#include "watch/feed.hpp"

namespace nigh::watch {

using OpenedFeed = Result<std::unique_ptr<Feed>>;
using OpenFeed = void (*)(const std::string* where, const FeedPage* page, OpenedFeed* out);
inline constexpr const char* feed_module_file = "libnigh-feed.so";
inline constexpr const char* feed_module_entry = "nigh_feed_open";

}  // namespace nigh::watch
