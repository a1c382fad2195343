// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The addresses that a PE gives to the heaps of its elements: parts of the common range that are its own. An
// extent belongs to the heap that it was given to, wherever that goes, and to the PE that it is given back
// to: nobody has to be asked, and no address is used twice.
//
//     range:  epoch 0 | epoch 1 | ... | epoch 63          each:  PE 0 | PE 1 | ...
//
// A checkpoint says in which epochs its heaps lie; the job that reads it uses others for what is new.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "space/common_range.hpp"

namespace nigh::chare {

class Extents {
 public:
  static constexpr std::size_t smallest = std::size_t{64} << 10;
  static constexpr unsigned epochs = 64;

  // `is_shared`: what lies in the range has to be seen by other processes.
  Extents(space::CommonRange* range, bool is_shared, std::uint32_t pe, std::uint32_t pes);
  // False: there are no addresses that all processes have free.
  [[nodiscard]] bool can_be() const;
  [[nodiscard]] const space::CommonRange& range() const { return *range_; }

  // At least that many bytes, aligned to `smallest`; their number is left in `bytes`. Null: there is no
  // memory.
  void* take(std::size_t& bytes);
  void give(void* extent, std::size_t bytes);
  // One that another PE, or another job, has taken. False: it can't be here.
  bool place(const void* extent, std::size_t bytes);
  // It is elsewhere now.
  void leave(void* extent, std::size_t bytes) { range_->discard(extent, bytes); }

  // The epochs of what the heaps have that were written to a file meanwhile.
  void note_written(const void* extent) { written_ |= epoch_of(extent); }
  [[nodiscard]] std::uint64_t take_written() { return std::exchange(written_, 0); }
  // Those are in use from now on. False: this PE has taken some there.
  bool keep_out(std::uint64_t these);

 private:
  static constexpr std::size_t most_kept = std::size_t{128} << 10;  // larger ones leave their pages when free
  [[nodiscard]] std::uint64_t epoch_of(const void* extent) const;
  bool next_epoch();

  space::CommonRange* range_;
  bool is_shared_;
  std::uint32_t pe_, pes_;
  std::size_t slice_ = 0;  // bytes of a PE in an epoch
  std::uintptr_t at_ = 0, end_ = 0;
  unsigned next_ = 0;                      // epoch
  std::uint64_t taken_ = 0, avoided_ = 0;  // epochs
  std::uint64_t written_ = 0;
  std::array<std::vector<void*>, 48> free_;  // by the logarithm of their size
};

}  // namespace nigh::chare
