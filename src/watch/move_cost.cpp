// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/move_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "sys/memory.hpp"
#include "sys/pages.hpp"
#include "sys/threads.hpp"

namespace nigh::watch {

namespace {
constexpr int rounds = 5;

struct Samples {
  std::vector<double> gb_s;
  [[nodiscard]] double median() {
    std::sort(gb_s.begin(), gb_s.end());
    return gb_s[gb_s.size() / 2];
  }
  [[nodiscard]] double spread() {
    double middle = median();
    return middle > 0 ? (gb_s.back() - gb_s.front()) / middle : 0;
  }
};

Result<Samples> measure(std::uint64_t bytes, bool huge, int from, int to) {
  auto buffer = sys::Buffer::map(bytes);
  if (!buffer) return tl::unexpected(buffer.error());
  sys::want_huge_pages(buffer->data(), bytes, huge);
  if (auto bound = buffer->bind(from); !bound) return tl::unexpected(bound.error());
  std::memset(buffer->data(), 1, bytes);
  if (huge && sys::huge_bytes(sys::Os(), buffer->data(), bytes) < bytes)
    return fail(Errc::unsupported, "there are no huge pages to be had");
  std::vector<std::uint64_t> pages;
  for (std::uint64_t at = 0; at < bytes; at += huge ? sys::huge_page_bytes : sys::page_bytes())
    pages.push_back(reinterpret_cast<std::uint64_t>(buffer->data()) + at);
  std::vector<int> status(pages.size());
  Samples out;
  for (int i = 0; i < rounds; ++i) {
    int target = i % 2 == 0 ? to : from;
    double since = sys::now_seconds();
    long left = sys::move_pages_to(0, pages, target, status);
    double took = sys::now_seconds() - since;
    if (left != 0)
      return fail(left == -1 ? Errc::permission : Errc::io,
                  fmt::format("the cost of moving can't be measured: {} of {} pages did not go to node {}",
                              left, pages.size(), target));
    out.gb_s.push_back(static_cast<double>(bytes) / std::max(took, 1e-9) / 1e9);
  }
  return out;
}
}  // namespace

double MoveCost::seconds_for(std::uint64_t bytes, bool huge) const {
  double rate = huge && huge_gb_s > 0 ? huge_gb_s : base_gb_s;
  return rate > 0 ? static_cast<double>(bytes) / rate / 1e9 : 0;
}

std::string MoveCost::sentence() const {
  std::string text = fmt::format("moving pages from node {} to {}: {:.2f} GB/s for 4 KiB (spread {:.0f} %)",
                                 from, to, base_gb_s, spread * 100);
  return text +
         (huge_gb_s > 0 ? fmt::format(", {:.2f} GB/s for 2 MiB", huge_gb_s) : ", no huge pages to measure");
}

Result<MoveCost> calibrate(const sys::Os& os, std::uint64_t bytes) {
  bytes = std::max(bytes / sys::huge_page_bytes, std::uint64_t{1}) * sys::huge_page_bytes;
  CpuSet allowed = sys::allowed_nodes(os);
  std::vector<int> nodes;
  for (const sys::NodeMemory& one : sys::node_memory(os))
    if (one.free > 4 * bytes && (allowed.empty() || allowed.test(one.node))) nodes.push_back(one.node);
  if (nodes.size() < 2)
    return fail(Errc::unsupported,
                "what moving costs can't be measured: fewer than two nodes with free memory");
  MoveCost out;
  out.from = nodes[0];
  out.to = nodes[1];
  auto base = measure(bytes, false, out.from, out.to);
  if (!base) return tl::unexpected(base.error());
  out.base_gb_s = base->median();
  out.spread = base->spread();
  if (auto huge = measure(bytes, true, out.from, out.to)) out.huge_gb_s = huge->median();
  return out;
}

}  // namespace nigh::watch
