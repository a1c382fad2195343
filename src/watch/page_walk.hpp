// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The choice of a process's pages to move. numa_maps says which mappings have pages on the source nodes at
// all, PAGEMAP_SCAN which of their places are filled and by huge pages, a query the node of each page: so a
// page that is there already, or does not exist, costs no move, and a huge page is asked for once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "sys/os.hpp"
#include "sys/pages.hpp"
#include "sys/task.hpp"

namespace nigh::watch {

struct AddressRange {
  std::uint64_t first = 0, last = 0;  // bytes [first, last)
};

struct PagePlan {
  sys::ProcessId process;
  std::map<int, int> nodes;          // source node -> target node, OS numbers
  int everything_to = -1;            // instead of `nodes`: from wherever it is to this node
  std::vector<AddressRange> ranges;  // empty: all its memory
  // The target of a page on `node`; -1: it stays.
  [[nodiscard]] int target_of(int node) const;
};

// A mapping's part that may hold pages to move.
struct Candidate {
  AddressRange range;
  std::uint64_t page_bytes = 4096;  // more: hugetlb
  int only_node = -1;  // all its pages are there, so they need no asking; -1: on several, not known
};
struct Candidates {
  std::vector<Candidate> parts;
  std::map<int, std::uint64_t> bytes_to;  // about so much will go to each target; empty: not known
  std::uint64_t other_policy = 0;         // parts whose memory policy names a source node
};
// All writable or anonymous memory of the process with pages on source nodes; what files give to read only is
// left where it is (others read it, too). Errors: io (gone), permission.
Result<Candidates> candidates(const sys::Os& os, const PagePlan& plan);

// Pages of one size for one target.
struct PageGroup {
  int target = 0;
  std::uint64_t page_bytes = 4096;
  std::vector<std::uint64_t> pages;
  [[nodiscard]] std::uint64_t bytes() const { return page_bytes * pages.size(); }
};

class PageWalk {
 public:
  static Result<PageWalk> open(const sys::Os& os, const PagePlan& plan);
  // The next pages to move, at least `bytes` of them where there are so many; empty: the end.
  Result<std::vector<PageGroup>> next(std::uint64_t bytes);
  [[nodiscard]] const Candidates& found() const { return candidates_; }

 private:
  [[nodiscard]] Result<std::vector<int>> nodes_of(const Candidate& part,
                                                  const std::vector<std::uint64_t>& pages) const;
  Result<void> look(const Candidate& part, AddressRange piece, std::vector<PageGroup>& groups);
  PagePlan plan_;
  Candidates candidates_;
  std::optional<sys::PresentPages> present_;  // none: every page is asked for
  std::size_t at_ = 0;
  std::uint64_t from_ = 0;    // in the part at_
  std::uint64_t stride_ = 0;  // address space looked at in one go: grows over empty places
};

}  // namespace nigh::watch
