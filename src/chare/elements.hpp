// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One array as one PE sees it: which of its elements are here, where the others are likely to be, and what
// waits for elements that are yet to come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Elements {
 public:
  struct Place {
    core::ElementBase* element = nullptr;  // here
    std::uint32_t pe = 0;                  // else there, as far as is known
  };

  // One of them for each PE of `pes`; `here` is this one's.
  Elements(core::ArrayId id, const Shape& shape, const core::Type& type, std::uint32_t here,
           std::uint32_t pes);
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements();  // with the elements

  const std::uint16_t array, mark;
  const Shape shape;
  const core::Type& type;
  bool tallied = false;  // done_inserting() was called
  bool made = false;     // those that are to be here at the beginning are here

  // An index as a number, and back. Nothing: it is outside.
  [[nodiscard]] std::optional<std::uint64_t> number_of(const Index& index) const {
    const auto x = static_cast<std::uint64_t>(index.x), y = static_cast<std::uint64_t>(index.y),
               z = static_cast<std::uint64_t>(index.z);
    if (shape.is_sparse) {
      const std::uint64_t a = x + sparse_half, b = y + sparse_half, c = z + sparse_half;
      if ((a | b | c) >= 2 * sparse_half) return std::nullopt;
      return (c << 21 | b) << 21 | a;
    }
    if (x >= nx_ || y >= ny_ || z >= nz_) return std::nullopt;  // negative ones, too
    return x + nx_ * (y + ny_ * z);
  }
  [[nodiscard]] Index index_of(std::uint64_t number) const;

  [[nodiscard]] Place& place(std::uint64_t number) {
    return shape.is_sparse ? sparse_place(number) : dense_[number];
  }
  // Those that this PE has to make first.
  [[nodiscard]] std::uint64_t first_mine() const { return first_of(here_); }
  [[nodiscard]] std::uint64_t end_mine() const { return first_of(here_ + 1); }

  void settle(std::uint64_t number, core::ElementBase* element);
  // It is on that PE from now on. The element, if it was here.
  core::ElementBase* leave(std::uint64_t number, std::uint32_t to);
  void forget_those_that_left();  // local() has them until then
  [[nodiscard]] bool may_move() const { return type.write != nullptr; }
  [[nodiscard]] const std::vector<core::ElementBase*>& local() const { return local_; }

  // Messages for an element that is to be here, but isn't yet.
  void park(std::uint64_t number, core::Header* message) { waiting_[number].push_back(message); }
  [[nodiscard]] std::vector<core::Header*> take_waiting(std::uint64_t number);
  [[nodiscard]] std::vector<core::Header*> take_all_waiting();
  template <class Use>
  void each_waiting(Use use) const {
    for (const auto& [number, messages] : waiting_)
      for (const core::Header* message : messages) use(number, message);
  }

 private:
  static constexpr std::uint64_t sparse_half = 1 << 20;

  Place& sparse_place(std::uint64_t number);
  // Blocks: PE p has the elements from first_of(p) on.
  [[nodiscard]] std::uint64_t first_of(std::uint64_t pe) const { return all_ * pe / pes_; }

  std::uint64_t nx_, ny_, nz_, all_;
  std::uint32_t here_, pes_;
  std::vector<Place> dense_;
  std::unordered_map<std::uint64_t, Place> sparse_;
  std::vector<core::ElementBase*> local_;
  std::unordered_map<std::uint64_t, std::vector<core::Header*>> waiting_;

 public:  // not among what each message needs
  // For an array that was restored from a file: its ids in earlier jobs, the last one first, and the number
  // of restorations.
  std::vector<core::ArrayId> names;
  std::uint16_t restored = 0;
  // ns, for balance(): what its elements have cost here until they were measured; what those of all other
  // arrays had cost by the last time.
  std::uint64_t measured_ns = 0, others_ns = 0;
};

// Elements of an array in all, but for sparse ones.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 31;
// True if there can be an array of that shape.
bool can_be(const Shape& shape);

// "[3]", "[3, 4, 5]"; "8", "8 x 8".
std::string text_of(const Index& index);
std::string text_of(const Shape& shape);

}  // namespace nigh::chare
