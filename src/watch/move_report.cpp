// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "watch/move_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <cerrno>
#include <numeric>

#include "sys/pages.hpp"

namespace nigh::watch {

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::busy: return "busy or pinned";
    case Cause::no_memory: return "target full";
    case Cause::shared: return "shared with other processes";
    case Cause::absent: return "freed meanwhile";
    case Cause::gone: return "process ended";
    case Cause::permission: return "not permitted";
    case Cause::no_node: return "target not usable";
    case Cause::other: return "other";
  }
  return "other";
}

Cause cause_of_page(int status) {
  switch (status) {
    case sys::untold:
    case -EBUSY:
    case -EAGAIN: return Cause::busy;
    case -ENOMEM: return Cause::no_memory;
    case -EACCES: return Cause::shared;
    case -ENOENT:
    case -EFAULT: return Cause::absent;
    default: return status >= 0 ? Cause::busy : Cause::other;  // still on its old node
  }
}

Cause cause_of_call(int error) {
  switch (-error) {
    case ESRCH:
    case EINVAL: return Cause::gone;  // it is exiting and has no memory any more
    case EPERM: return Cause::permission;
    case ENOMEM: return Cause::no_memory;
    case ENODEV:
    case EACCES: return Cause::no_node;
    default: return Cause::other;
  }
}

void MoveReport::add(const MoveReport& other) {
  asked += other.asked;
  moved += other.moved;
  already += other.already;
  for (std::size_t c = 0; c < causes; ++c) failed[c] += other.failed[c];
  bytes += other.bytes;
  held_back += other.held_back;
  other_policy = std::max(other_policy, other.other_policy);  // the same mappings each time
  seconds += other.seconds;
  moving += other.moving;
  paused += other.paused;
  longest_pause = std::max(longest_pause, other.longest_pause);
  pauses += other.pauses;
  expired_pauses += other.expired_pauses;
  calls += other.calls;
  if (other.call_pages > 0) call_pages = other.call_pages;
  longest_call = std::max(longest_call, other.longest_call);
  stopped = stopped || other.stopped;
  if (note.empty()) note = other.note;
}

std::uint64_t MoveReport::failures() const {
  return std::accumulate(failed.begin(), failed.end(), std::uint64_t{0});
}

std::string MoveReport::sentence() const {
  std::string text = fmt::format("{} of {} pages moved, {:.1f} MB in {:.3f} s", moved, asked,
                                 static_cast<double>(bytes) / 1e6, seconds);
  if (moving > 0) text += fmt::format(" ({:.2f} GB/s while moving)", gb_per_second());
  if (pauses > 0) text += fmt::format(", {} pauses of at most {:.0f} ms", pauses, longest_pause * 1e3);
  if (already > 0) text += fmt::format(", {} were there already", already);
  for (std::size_t i = 0; i < causes; ++i)
    if (failed[i] > 0) text += fmt::format(", {} {}", failed[i], cause_name(static_cast<Cause>(i)));
  if (held_back > 0)
    text += fmt::format(", {:.1f} MB held back for lack of room", static_cast<double>(held_back) / 1e6);
  if (other_policy > 0)
    text += fmt::format("; mappings with a memory policy for the old nodes: {}", other_policy);
  return note.empty() ? text : text + "; " + note;
}

}  // namespace nigh::watch
