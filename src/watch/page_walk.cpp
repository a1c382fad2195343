// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/page_walk.hpp"

#include <algorithm>
#include <cerrno>

namespace nigh::watch {

namespace {
constexpr std::uint64_t least_stride = std::uint64_t{4} << 20, most_stride = std::uint64_t{1} << 30;

bool movable(const sys::Mapping& one) { return !one.special() && (one.writable || one.inode == 0); }

// The nodes that a policy of numa_maps names: "bind:0-1", "interleave=static:0,2"; none for "default",
// "local".
CpuSet policy_nodes(const std::string& policy) {
  std::size_t colon = policy.rfind(':');
  if (colon == std::string::npos) return {};
  return CpuSet::parse(policy.substr(colon + 1)).value_or(CpuSet{});
}

// The part of a mapping that was asked for, as pieces.
std::vector<AddressRange> asked_of(const PagePlan& plan, AddressRange whole) {
  if (plan.ranges.empty()) return {whole};
  std::vector<AddressRange> out;
  for (const AddressRange& one : plan.ranges) {
    AddressRange cut{std::max(one.first, whole.first), std::min(one.last, whole.last)};
    if (cut.first < cut.last) out.push_back(cut);
  }
  return out;
}

// The line of numa_maps for a mapping of the plan; true: nothing of it has to move.
bool nothing_to_move(const PagePlan& plan, const sys::NumaMapping& facts, Candidates& out) {
  bool any = false;
  for (auto [node, pages] : facts.by_node) {
    int target = plan.target_of(node);
    if (target < 0 || pages == 0) continue;
    any = true;
    if (plan.ranges.empty()) out.bytes_to[target] += pages * facts.page_bytes;
  }
  // New pages would go to the old node; a policy that names the new one, too, lets them go there.
  const CpuSet named = any ? policy_nodes(facts.policy) : CpuSet{};
  const std::vector<int> nodes = named.members();
  out.other_policy += std::any_of(nodes.begin(), nodes.end(), [&](int node) {
    const int target = plan.target_of(node);
    return target >= 0 && !named.test(target);
  });
  return !any;
}
}  // namespace

int PagePlan::target_of(int node) const {
  if (node < 0) return -1;  // not there
  if (everything_to >= 0) return node == everything_to ? -1 : everything_to;
  auto found = nodes.find(node);
  return found == nodes.end() || found->second == node ? -1 : found->second;
}

Result<Candidates> candidates(const sys::Os& os, const PagePlan& plan) {
  auto maps = sys::mappings(os, plan.process.pid);
  if (!maps) return tl::unexpected(maps.error());
  auto numa = sys::numa_mappings(os, plan.process.pid);
  Candidates out;
  std::size_t at = 0;
  for (const sys::Mapping& one : *maps) {
    if (!movable(one)) continue;
    const std::vector<AddressRange> asked = asked_of(plan, {one.first, one.last});
    if (asked.empty()) continue;
    std::uint64_t page = sys::page_bytes();
    int only = -1;
    if (numa) {
      while (at < numa->size() && (*numa)[at].first < one.first) ++at;
      // A mapping that came between the two files has no line: it is asked page by page.
      bool told = at < numa->size() && (*numa)[at].first == one.first;
      if (told && nothing_to_move(plan, (*numa)[at], out)) continue;
      if (told) page = (*numa)[at].page_bytes;
      if (told && (*numa)[at].by_node.size() == 1) only = (*numa)[at].by_node.begin()->first;
    }
    for (AddressRange piece : asked) {
      piece.first = piece.first / page * page;
      out.parts.push_back({piece, page, only});
    }
  }
  return out;
}

Result<PageWalk> PageWalk::open(const sys::Os& os, const PagePlan& plan) {
  auto found = candidates(os, plan);
  if (!found) return tl::unexpected(found.error());
  PageWalk out;
  out.plan_ = plan;
  out.candidates_ = std::move(*found);
  auto present = sys::PresentPages::open(os, plan.process.pid);
  if (present) out.present_.emplace(std::move(*present));
  if (!present && present.error().code != Errc::unsupported && !sys::lives(os, plan.process))
    return fail(Errc::io, "process " + std::to_string(plan.process.pid) + " has ended", ESRCH);
  out.stride_ = least_stride;
  return out;
}

Result<std::vector<int>> PageWalk::nodes_of(const Candidate& part,
                                            const std::vector<std::uint64_t>& pages) const {
  bool known = part.only_node >= 0 && present_ && part.page_bytes == sys::page_bytes();
  std::vector<int> status(pages.size(), part.only_node);
  if (known) return status;
  auto asked = sys::query_pages(plan_.process.pid, pages, status);
  if (!asked) return tl::unexpected(asked.error());
  return status;
}

Result<void> PageWalk::look(const Candidate& part, AddressRange piece, std::vector<PageGroup>& groups) {
  std::vector<sys::PageRun> runs = {{piece.first, piece.last, false}};
  if (present_ && part.page_bytes == sys::page_bytes()) {
    auto scanned = present_->scan(piece.first, piece.last);
    if (!scanned) return tl::unexpected(scanned.error());
    runs = std::move(*scanned);
  }
  std::vector<std::uint64_t> pages;
  std::size_t huge_from = 0;
  for (bool huge : {false, true}) {  // base pages first, then the huge ones
    if (huge) huge_from = pages.size();
    for (const sys::PageRun& run : runs) {
      if (run.huge != huge) continue;
      std::uint64_t step = huge ? sys::huge_page_bytes : part.page_bytes;
      for (std::uint64_t a = run.first; a < run.last; a = a / step * step + step) pages.push_back(a);
    }
  }
  auto nodes = nodes_of(part, pages);
  if (!nodes) return tl::unexpected(nodes.error());
  const std::vector<int>& status = *nodes;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    int target = plan_.target_of(status[i]);
    if (target < 0) continue;
    std::uint64_t bytes = i >= huge_from ? sys::huge_page_bytes : part.page_bytes;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const PageGroup& one) {
      return one.target == target && one.page_bytes == bytes;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {target, bytes, {}});
    group->pages.push_back(pages[i]);
  }
  return {};
}

Result<std::vector<PageGroup>> PageWalk::next(std::uint64_t bytes) {
  std::vector<PageGroup> groups;
  std::uint64_t sum = 0;
  while (at_ < candidates_.parts.size() && sum < bytes) {
    const Candidate& part = candidates_.parts[at_];
    std::uint64_t from = std::max(from_, part.range.first);
    std::uint64_t stride = std::max(stride_, part.page_bytes);
    std::uint64_t to = std::min((from / stride + 1) * stride, part.range.last);
    if (auto looked = look(part, {from, to}, groups); !looked) {
      // Unmapped meanwhile is no error of the process; what ended it is seen by the next call.
      if (looked.error().sys_errno != EFAULT && looked.error().sys_errno != EINVAL)
        return tl::unexpected(looked.error());
    }
    std::uint64_t before = sum;
    sum = 0;
    for (const PageGroup& one : groups) sum += one.bytes();
    stride_ = sum == before && present_ ? std::min(stride_ * 2, most_stride) : least_stride;
    from_ = to;
    if (to >= part.range.last) ++at_, from_ = 0;
  }
  return groups;
}

}  // namespace nigh::watch
