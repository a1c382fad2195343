// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/page_calls.hpp"

#include <cerrno>
#include <vector>

#include "sys/pages.hpp"

namespace nigh::watch {

namespace {
using Addresses = std::vector<std::uint64_t>;

struct Outcome {
  Addresses untried;
  Addresses failed;  // tried in vain, may be tried once more
  std::vector<int> why;
};

// Sorts the pages of a call. Those not told to be there are asked for: they may have moved all the same.
Outcome sort_out(const CallTarget& to, std::span<const std::uint64_t> pages, std::span<const int> status,
                 std::uint64_t& moved) {
  Outcome out;
  std::size_t first_untold = pages.size(), last_told = 0;
  Addresses open;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (status[i] == sys::untold && first_untold == pages.size()) first_untold = i;
    if (status[i] != sys::untold) last_told = i;
    if (status[i] != to.node) open.push_back(pages[i]);
  }
  moved = pages.size() - open.size();
  if (open.empty()) return out;
  std::vector<int> now(open.size());
  if (!sys::query_pages(to.pid, open, now)) now.assign(open.size(), sys::untold);
  std::size_t at = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (status[i] == to.node) continue;
    int is = now[at++];
    bool never_tried = status[i] == sys::untold && first_untold < last_told && i > last_told;
    if (is == to.node) {
      ++moved;
    } else if (never_tried) {
      out.untried.push_back(pages[i]);
    } else {
      out.failed.push_back(pages[i]);
      out.why.push_back(is == -ENOENT || is == -EFAULT ? is : status[i]);
    }
  }
  return out;
}

void count(const Outcome& outcome, MoveReport& report) {
  for (int status : outcome.why) ++report.failed[static_cast<std::size_t>(cause_of_page(status))];
}

// One call for all pages, again for those it never came to. False: the call itself failed, with its cause.
bool call(const CallTarget& to, Addresses pages, MoveReport& report, Outcome& failed, Cause& cause) {
  while (!pages.empty()) {
    std::vector<int> status(pages.size());
    long left = sys::move_pages_to(to.pid, pages, to.node, status, to.also_shared);
    ++report.calls;
    report.call_pages = static_cast<int>(pages.size());
    std::uint64_t moved = 0;
    Outcome outcome = sort_out(to, pages, status, moved);
    report.moved += moved;
    report.bytes += moved * to.page_bytes;
    if (left < 0) {
      cause = cause_of_call(static_cast<int>(left));
      give_up(outcome.untried.size() + outcome.failed.size(), cause, report);
      return false;
    }
    failed.failed.insert(failed.failed.end(), outcome.failed.begin(), outcome.failed.end());
    failed.why.insert(failed.why.end(), outcome.why.begin(), outcome.why.end());
    pages = std::move(outcome.untried);
  }
  return true;
}
}  // namespace

void give_up(std::size_t pages, Cause cause, MoveReport& report) {
  report.failed[static_cast<std::size_t>(cause)] += pages;
}

bool move_slice(const CallTarget& to, std::span<const std::uint64_t> pages, MoveReport& report) {
  report.asked += pages.size();
  Outcome first, second;
  Cause cause = Cause::other;
  bool good = call(to, Addresses(pages.begin(), pages.end()), report, first, cause);
  if (!good) {
    count(first, report);
    return false;
  }
  if (first.failed.empty()) return true;
  // Busy is often over at once (a page under writing, in a per-CPU list); what is pinned stays busy.
  good = call(to, std::move(first.failed), report, second, cause);
  count(second, report);
  return good;
}

}  // namespace nigh::watch
