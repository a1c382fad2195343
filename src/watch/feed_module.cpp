// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/feed_module.hpp"

extern "C" __attribute__((visibility("default"))) void nigh_feed_open(const std::string* where,
                                                                      const nigh::watch::FeedPage* page,
                                                                      nigh::watch::OpenedFeed* out);

void nigh_feed_open(const std::string* where, const nigh::watch::FeedPage* page,
                    nigh::watch::OpenedFeed* out) {
  *out = nigh::watch::Feed::open(*where, *page);
}
