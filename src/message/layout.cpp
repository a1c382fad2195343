// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Walks two layouts at once. A Walk stands on one run of bytes in one piece; runs that touch are joined, and
// each step moves what both sides have in one piece. Elements of one block (vectors, columns of a matrix) are
// common enough for a loop of their own, with the small sizes unrolled by the compiler.
#include "message/layout.hpp"

#include <cstdint>
#include <cstring>

#include "message/atomic.hpp"

namespace nigh::message {
namespace {

constexpr std::size_t large_piece = 256;

class Walk {
 public:
  Walk(char* base, const Layout* layout, std::size_t skip) : layout_(layout), at_(base) {
    if (!layout) {
      at_ += skip;
      left_ = SIZE_MAX;
      return;
    }
    const auto element = static_cast<std::ptrdiff_t>(skip / layout->element_bytes);
    base_ = base + element * layout->extent;
    skip %= layout->element_bytes;
    while (skip >= layout->blocks[block_].bytes) skip -= layout->blocks[block_++].bytes;
    stand(skip);
  }

  [[nodiscard]] char* at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return left_; }

  void step(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
    if (left_ == 0) {
      next();
      stand(0);
    }
  }

 private:
  void next() {
    if (++block_ < layout_->block_count) return;
    block_ = 0;
    base_ += layout_->extent;
  }

  // On the current block, `skip` bytes into it, together with all that follow without a gap.
  void stand(std::size_t skip) {
    while (layout_->blocks[block_].bytes == 0) next();
    at_ = base_ + layout_->blocks[block_].offset + skip;
    left_ = layout_->blocks[block_].bytes - skip;
    for (std::size_t joined = 1; joined < layout_->block_count && joined < 64; ++joined) {
      const std::size_t here = block_;
      char* const base = base_;
      next();
      if (base_ + layout_->blocks[block_].offset != at_ + left_) {
        block_ = here;
        base_ = base;
        return;
      }
      left_ += layout_->blocks[block_].bytes;
    }
  }

  const Layout* layout_;
  char* base_ = nullptr;
  std::size_t block_ = 0;
  char* at_;
  std::size_t left_ = 0;
};

template <std::size_t bytes>
void copy_equal(char* to, std::ptrdiff_t to_stride, const char* from, std::ptrdiff_t from_stride,
                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride) std::memcpy(to, from, bytes);
}

void copy_pieces(char* to, std::ptrdiff_t to_stride, const char* from, std::ptrdiff_t from_stride,
                 std::size_t bytes, std::size_t count) {
  switch (bytes) {
    case 1: return copy_equal<1>(to, to_stride, from, from_stride, count);
    case 2: return copy_equal<2>(to, to_stride, from, from_stride, count);
    case 4: return copy_equal<4>(to, to_stride, from, from_stride, count);
    case 8: return copy_equal<8>(to, to_stride, from, from_stride, count);
    case 12: return copy_equal<12>(to, to_stride, from, from_stride, count);
    case 16: return copy_equal<16>(to, to_stride, from, from_stride, count);
    case 32: return copy_equal<32>(to, to_stride, from, from_stride, count);
    case 64: return copy_equal<64>(to, to_stride, from, from_stride, count);
    default: break;
  }
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride) copy_bytes(to, from, bytes);
}

bool one_piece(const Layout* layout) {
  return !layout || (layout->block_count == 1 && layout->blocks[0].offset == 0 &&
                     layout->extent == static_cast<std::ptrdiff_t>(layout->blocks[0].bytes));
}

// One side (or both, with blocks of the same size) has elements of one block, the other is in one piece.
bool copy_regular(char* to, const Layout* to_layout, const char* from, const Layout* from_layout,
                  std::size_t skip, std::size_t bytes) {
  const Layout* either = to_layout ? to_layout : from_layout;
  const std::size_t piece = either->element_bytes;
  if (piece > large_piece || skip % piece != 0) return false;
  for (const Layout* layout : {to_layout, from_layout})
    if (layout && (layout->block_count != 1 || layout->element_bytes != piece)) return false;
  const auto stride = [&](const Layout* l) { return l ? l->extent : static_cast<std::ptrdiff_t>(piece); };
  const auto start = [&](const Layout* l) {
    return (l ? l->blocks[0].offset : 0) + static_cast<std::ptrdiff_t>(skip / piece) * stride(l);
  };
  to += start(to_layout);
  from += start(from_layout);
  const std::size_t count = bytes / piece;
  copy_pieces(to, stride(to_layout), from, stride(from_layout), piece, count);
  const auto done = static_cast<std::ptrdiff_t>(count);
  std::memcpy(to + done * stride(to_layout), from + done * stride(from_layout), bytes % piece);
  return true;
}

}  // namespace

void copy(void* to, const Layout* to_layout, const void* from, const Layout* from_layout, std::size_t skip,
          std::size_t bytes) {
  if (bytes == 0) return;
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  if (one_piece(to_layout)) to_layout = nullptr;
  if (one_piece(from_layout)) from_layout = nullptr;
  if (!to_layout && !from_layout) {
    note_read(source + skip, bytes);
    copy_bytes(target + skip, source + skip, bytes);
    return note_write(target + skip, bytes);
  }
  if (copy_regular(target, to_layout, source, from_layout, skip, bytes)) return;
  Walk write(target, to_layout, skip);
  Walk read(const_cast<char*>(source), from_layout, skip);
  while (true) {
    std::size_t piece = write.left() < read.left() ? write.left() : read.left();
    if (piece > bytes) piece = bytes;
    if (piece >= large_piece)
      copy_bytes(write.at(), read.at(), piece);
    else
      std::memcpy(write.at(), read.at(), piece);
    bytes -= piece;
    if (bytes == 0) return;  // the walks may have no next run
    write.step(piece);
    read.step(piece);
  }
}

}  // namespace nigh::message
