// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/lane_pass.hpp"

#include <cstring>
#include <limits>
#include <new>

#include "fft/panel.hpp"
#include "fft/workspace.hpp"

namespace nigh::fft {

namespace {
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr std::size_t ahead = 8;  // elements that are prefetched before they are wanted
// Columns are fetched, and put out, for several panels at a time, even if these have to wait in the last
// cache.
constexpr std::size_t group_bytes = 2 * own_cache + own_cache / 4, most_of_group = 4;
using transpose::line;

struct GiveWorkspace {
  void operator()(std::byte* memory) const { give_workspace(memory); }
};
using Workspace = std::unique_ptr<std::byte, GiveWorkspace>;
Workspace workspace_of(std::size_t bytes) {
  Workspace memory(static_cast<std::byte*>(get_workspace(bytes)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// The order of lines: elements of all of them together, those of each, or none.
enum class Lie : std::uint8_t { columns, rows, apart };

// The place of a panel's elements in an array.
class Side {
 public:
  Side(const View& view, std::size_t n, std::size_t element)
      : view_(view),
        lie_(view.line == element      ? Lie::columns
             : view.element == element ? Lie::rows
                                       : Lie::apart),
        at_(n) {}
  [[nodiscard]] Lie lie() const { return lie_; }
  [[nodiscard]] Spots spots(const Panel& panel) const {
    return {at_.data(), static_cast<std::ptrdiff_t>(panel.first * view_.line)};
  }
  // All elements of the first line of a matrix begin at a cache line.
  [[nodiscard]] bool at_lines() const { return at_lines_; }

  void go_to(const Panel& panel) {
    if (matrix_ == panel.matrix) return;
    matrix_ = panel.matrix;
    at_lines_ = true;
    each_piece(view_, at_.size(), matrix_, [&](std::byte* at, std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e, at += view_.element) {
        at_[e] = at;
        at_lines_ = at_lines_ && reinterpret_cast<std::uintptr_t>(at) % line == 0;
      }
    });
  }
  // Calls work(address of element `begin` of the panel's first line, begin, end).
  template <class Work>
  void each_run(const Panel& panel, const Work& work) const {
    each_piece(view_, at_.size(), matrix_, [&](std::byte* at, std::size_t begin, std::size_t end) {
      work(at + panel.first * view_.line, begin, end);
    });
  }
  [[nodiscard]] std::size_t line_bytes() const { return view_.line; }

 private:
  const View& view_;
  Lie lie_;
  std::size_t matrix_ = none;
  bool at_lines_ = false;
  std::vector<std::byte*> at_;
};

// True if the result bypasses the caches: not if they hold it, nor if it is written where it was just read.
bool streams(const Pass& pass, int parts) {
  if (!transpose::streams({}, pass.transform.to_bytes() * pass.lines * pass.matrices, parts)) return false;
  return pass.from.pieces.empty() || pass.to.pieces.empty() ||
         pass.from.pieces[0].at != pass.to.pieces[0].at ||
         pass.transform.n * pass.lanes->spot_bytes() > own_cache / 4;
}

class Worker {
 public:
  Worker(const Pass& pass, int parts)
      : pass_(pass),
        plan_(*pass.lanes),
        element_(bytes_of_complex(pass.transform.precision)),
        streamed_(streams(pass, parts)),
        from_(pass.from, plan_.n(), element_),
        to_(pass.to, plan_.n(), element_),
        slots_(plan_.n()),
        done_(plan_.n()),
        // Each at a line.
        scratch_bytes_((plan_.scratch_bytes() + line - 1) / line * line),
        group_(from_.lie() == Lie::columns || (to_.lie() == Lie::columns && streamed_)
                   ? std::clamp(group_bytes / scratch_bytes_, std::size_t{1}, most_of_group)
                   : 1),
        scratch_(workspace_of(group_ * scratch_bytes_)) {
    for (std::size_t e = 0; e < slots_.size(); ++e) {
      slots_[e] = slot(e / plan_.n2(), e % plan_.n2());
      done_[e] = slot(e % plan_.n1(), e / plan_.n1());
    }
    if (pass.twiddles != nullptr) turns_ = workspace_of(plan_.turns_bytes());
  }

  void panel(const Panel& panel) {
    from_.go_to(panel);
    to_.go_to(panel);
    const bool first = panel.matrix != begun_.matrix || panel.first - begun_.first >= begun_.count;
    if (first) begin(panel);
    shift_ = (panel.first - begun_.first) / plan_.lanes() * scratch_bytes_;
    if (first || from_.lie() != Lie::columns) fetch(panel);
    const bool as_columns = to_.lie() == Lie::columns && panel.count == plan_.lanes();
    const bool together = as_columns && streamed_ && whole_ > 1;
    const bool straight = as_columns && !together;
    LaneRun run;
    run.from = {slots_.data(), static_cast<std::ptrdiff_t>(shift_)};
    run.to = straight ? to_.spots(panel) : Spots{done_.data(), run.from.offset};
    run.backward = pass_.transform.kind == Kind::backward;
    run.streamed = straight && streamed_ && to_.at_lines();
    run.scratch = scratch_.get() + shift_;
    run.next = next_rows(panel);
    if (pass_.twiddles != nullptr) {
      run.turns = turns_.get();
      plan_.make_turns(*pass_.twiddles, panel.first + pass_.first_line, turns_.get());
    }
    plan_.run(run);
    if (together) {
      if (panel.first + panel.count == begun_.first + begun_.count) put_together();
    } else if (!straight) {
      put(panel);
    }
  }

 private:
  [[nodiscard]] std::byte* slot(std::size_t row, std::size_t column) const {
    return scratch_.get() + row * plan_.row_bytes() + column * plan_.spot_bytes();
  }

  // A group of panels, which has this one first. Not those of another thread, which may be writing them.
  void begin(const Panel& panel) {
    whole_ = std::min({group_, panel.ours, (pass_.lines - panel.first) / plan_.lanes()});
    begun_ = {panel.matrix, panel.first, whole_ == 0 ? panel.count : whole_ * plan_.lanes()};
  }

  // Not of columns: there are more of them than L2 holds, and they would push out what is worked on.
  [[nodiscard]] NextRows next_rows(const Panel& panel) const {
    NextRows next;
    if (from_.lie() != Lie::rows || panel.ours <= 1) return next;
    from_.each_run(panel, [&](const std::byte* at, std::size_t begin, std::size_t end) {
      if (begin == 0 && end == plan_.n())
        next = {at + panel.count * from_.line_bytes(),
                std::min(plan_.lanes(), pass_.lines - panel.first - panel.count), from_.line_bytes()};
    });
    return next;
  }

  void fetch(const Panel& panel) {
    if (panel.count < plan_.lanes())  // lanes without a line compute, too
      for (std::byte* slot : slots_) std::memset(slot + shift_, 0, plan_.spot_bytes());
    if (from_.lie() == Lie::rows) return turn<true>(from_, panel);
    if (from_.lie() == Lie::apart) return each_one<true>(from_, panel);
    fetch_columns(panel);
  }

  // All panels of the group, each into a scratch of its own: memory gives long runs faster (decision 0023).
  void fetch_columns(const Panel& panel) {
    const Spots from = from_.spots(panel);
    const std::size_t spot = plan_.spot_bytes(), last = slots_.size() - 1;
    const std::size_t bytes = whole_ == 0 ? panel.count * element_ : whole_ * spot;
    for (std::size_t e = 0; e <= last; ++e) {
      const std::byte* next = from.at[std::min(e + ahead, last)] + from.offset;
      for (std::size_t b = 0; b < bytes; b += line) __builtin_prefetch(next + b);
      const std::byte* at = from.at[e] + from.offset;
      if (whole_ == 0) std::memcpy(slots_[e], at, bytes);
      for (std::size_t i = 0; i < whole_; ++i)
        std::memcpy(slots_[e] + i * scratch_bytes_, at + i * spot, spot);
    }
  }

  // The results of the group.
  void put_together() const {
    const Spots to = to_.spots(begun_);
    plan_.set().put_out(
        {{done_.data(), 0}, to, done_.size(), whole_, plan_.spot_bytes(), scratch_bytes_, to_.at_lines()});
  }

  void put(const Panel& panel) {
    if (to_.lie() == Lie::rows) return turn<false>(to_, panel);
    if (to_.lie() == Lie::apart) return each_one<false>(to_, panel);
    const Spots to = to_.spots(panel);
    for (std::size_t e = 0; e < slots_.size(); ++e)
      std::memcpy(to.at[e] + to.offset, done_[e] + shift_, panel.count * element_);
  }

  // Rows, into the slots or out of them: they come in as n1 blocks and go out as n2.
  // Streaming these would wait for memory at the end of each block.
  template <bool in>
  void turn(const Side& side, const Panel& panel) {
    const transpose::Kernels& kernels = transpose::kernels();
    const std::size_t row = plan_.row_bytes() / element_, spot = plan_.spot_bytes() / element_,
                      stride = side.line_bytes() / element_;
    const auto index = transpose::Kernels::index(element_);
    side.each_run(panel, [&](std::byte* at, std::size_t begin, std::size_t end) {
      const std::size_t block = in ? plan_.n2() : plan_.n1();
      for (std::size_t e = begin; e < end;) {
        const std::size_t count = std::min(end, e / block * block + block) - e;
        std::byte* array = at + (e - begin) * element_;
        if constexpr (in) {
          kernels.cached[index]({array, stride, slots_[e] + shift_, spot, panel.count, count});
        } else {
          kernels.cached[index]({done_[e] + shift_, row, array, stride, count, panel.count});
        }
        e += count;
      }
    });
  }

  template <bool in>
  void each_one(const Side& side, const Panel& panel) {
    const Spots spots = side.spots(panel);
    for (std::size_t e = 0; e < slots_.size(); ++e)
      for (std::size_t l = 0; l < panel.count; ++l) {
        std::byte *array = spots.at[e] + spots.offset + l * side.line_bytes(),
                  *ours = (in ? slots_ : done_)[e] + shift_ + l * element_;
        std::memcpy(in ? ours : array, in ? array : ours, element_);
      }
  }

  const Pass& pass_;
  const LanePlan& plan_;
  std::size_t element_;
  bool streamed_;
  Side from_, to_;
  // In the scratch: where element e is before the transform, and where after it.
  std::vector<std::byte*> slots_, done_;
  // One for each panel of a group; that of the panel at hand is `shift_` bytes from the first.
  std::size_t scratch_bytes_, group_, shift_ = 0;
  Panel begun_{none, none, 0};  // the lines of the group
  std::size_t whole_ = 0;       // its panels; 0: one that is not full
  Workspace scratch_, turns_;
};
}  // namespace

void run_lanes(const Pass& pass, int part, int parts) {
  std::unique_ptr<Worker> worker;
  each_panel(pass, pass.lanes->lanes(), part, parts, [&](const Panel& panel) {
    if (worker == nullptr) worker = std::make_unique<Worker>(pass, parts);
    worker->panel(panel);
  });
}

}  // namespace nigh::fft
