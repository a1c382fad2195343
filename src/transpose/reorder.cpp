// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/reorder.hpp"

#include <algorithm>
#include <cstring>

#include "transpose/kernels.hpp"
#include "transpose/queue.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t most_pieces = 4096;  // in a list
constexpr std::size_t ahead_bytes = 4096;  // prefetched, at least
constexpr std::size_t pieces_each = 4;     // for each thread, at least

// The next run is prefetched meanwhile.
void move_run(std::byte* to, const std::byte* from, const std::byte* next, std::size_t bytes) {
  constexpr std::size_t at_once = 4 * line;
  std::size_t k = 0;
  for (; k + at_once <= bytes; k += at_once) {
    for (std::size_t l = 0; l < at_once; l += line) __builtin_prefetch(next + k + l, 0, 2);
    std::memcpy(to + k, from + k, at_once);
  }
  for (std::size_t l = k; l < bytes; l += line) __builtin_prefetch(next + l, 0, 2);
  std::memcpy(to + k, from + k, bytes - k);
}
}  // namespace

Reorder::Reorder(const Order& order, std::size_t bytes, int threads)
    : order_(order),
      bytes_(bytes),
      most_places_(order.count()),
      listed_(order.count()),
      room_(static_cast<std::size_t>(threads)) {
  if (threads > 1) {
    const std::size_t parts = pieces_each * static_cast<std::size_t>(threads);
    most_places_ = std::max<std::size_t>(1, (order.count() + parts - 1) / parts);
    room_ += 2 * parts;  // all full pieces, and the last ones of cycles longer than one
  }
  pieces_.reserve(std::min(most_pieces, order.count()) + room_);
  held_.reset(new std::byte[room_ * bytes]);
}

void Reorder::list_cycle(std::size_t start) {
  const std::size_t first = pieces_.size();
  std::size_t place = start;
  do {
    if (pieces_.size() == first || pieces_.back().places == most_places_) pieces_.push_back({place, 0, 0, 0});
    ++pieces_.back().places;
    listed_[place] = true;
    place = order_.from(place);
  } while (place != start);
  if (pieces_.size() > first + 1) {
    const std::size_t first_cut = cut_;
    for (std::size_t i = first; i < pieces_.size(); ++i) {
      pieces_[i].held = cut_++;
      pieces_[i].wanted = i + 1 < pieces_.size() ? cut_ : first_cut;
    }
  } else if (pieces_.back().places == 1) {
    pieces_.pop_back();  // it stays
  }
}

void Reorder::list() {
  pieces_.clear();
  cut_ = 0;
  for (; next_ < listed_.size() && pieces_.size() < most_pieces; ++next_)
    if (!listed_[next_]) list_cycle(next_);
}

void Reorder::move(std::byte* data, const Piece& piece, std::byte* aside) const {
  const bool whole = piece.held == piece.wanted;
  if (whole) std::memcpy(aside, data + piece.first * bytes_, bytes_);
  // Short runs are prefetched several moves before.
  constexpr std::size_t most_ahead = 8;
  const std::size_t ahead = std::clamp<std::size_t>(ahead_bytes / bytes_, 1, most_ahead);
  std::size_t next[most_ahead + 1];  // a ring
  std::size_t to = piece.first;
  next[0] = order_.from(to);
  for (std::size_t i = 1; i <= ahead; ++i) next[i] = order_.from(next[i - 1]);
  for (std::size_t i = 1, at = 0; i < piece.places; ++i) {
    const std::size_t last = at == 0 ? ahead : at - 1;
    move_run(data + to * bytes_, data + next[at] * bytes_, data + next[last] * bytes_, bytes_);
    to = next[at];
    next[at] = order_.from(next[last]);
    at = at == ahead ? 0 : at + 1;
  }
  std::memcpy(data + to * bytes_, whole ? aside : held(piece.wanted), bytes_);
}

void Reorder::run(std::byte* data, Team& team) {
  for (; !pieces_.empty(); list()) {
    const auto own = [&](int thread) { return held(room_ - 1 - static_cast<std::size_t>(thread)); };
    Queue saved(pieces_.size(), 1), moved(pieces_.size(), 1);
    if (cut_ > 0) {
      team.run([&](int) {
        saved.serve([&](std::size_t i, std::size_t) {
          if (pieces_[i].held == pieces_[i].wanted) return;
          std::memcpy(held(pieces_[i].held), data + pieces_[i].first * bytes_, bytes_);
        });
      });
    }
    team.run([&](int thread) {
      moved.serve([&](std::size_t i, std::size_t) { move(data, pieces_[i], own(thread)); });
    });
  }
  std::fill(listed_.begin(), listed_.end(), false);
  next_ = 0;
}

}  // namespace nigh::transpose
