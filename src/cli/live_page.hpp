// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The page of web/ while something runs: a feed serves it on the loopback address, to whoever knows its
// token, and tells it what is new.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "watch/feed.hpp"

namespace nigh::cli {

// libnigh-feed.so is loaded here. Errors: io, and those of watch::Feed::open().
Result<std::unique_ptr<watch::Feed>> open_feed(const std::string& where, const watch::FeedPage& page = {});

// A feed with the page. `where`: "[ADDRESS:]PORT", 0: a free one; `of`: "watch" or "run", what the page shows
// first; `title`: of what is looked at.
Result<std::unique_ptr<watch::Feed>> open_live_page(const std::string& where, const std::string& of,
                                                    const std::string& title, const Machine* machine);

// A document in one line; bytes that are not UTF-8 become U+FFFD.
std::string one_line_json(const nlohmann::ordered_json& document);

}  // namespace nigh::cli
