// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Small messages: one ring of cache lines for each ordered pair of ranks, in the receiver's memory, written
// by one and read by one. A message of up to 48 bytes is one line, so that it costs one line transfer:
//
//     line p       flag | kind, bytes | tag | context | 48 bytes of payload
//     line p+1 ..  the rest of the payload, 64 bytes a line
//
// The flag says for which position the line was written, and is odd; the receiver looks at the line where the
// next message must begin, and at nothing else, and writes to no line. A line that last held payload could
// show any flag: before a message is released, the flag of the line after it is cleared if that is so. The
// receiver tells how far it has read only once a quarter of the ring, in a line of its own, which the sender
// reads only when it has run out of room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "message/atomic.hpp"
#include "message/layout.hpp"

namespace nigh::message {

inline constexpr std::size_t line_bytes = 64, inline_bytes = 48;

struct alignas(line_bytes) Line {
  atomic<std::uint32_t> flag;
  std::uint32_t kind_and_bytes;
  std::int32_t tag;
  std::uint32_t context;
  char payload[inline_bytes];
};
static_assert(sizeof(Line) == line_bytes, "a message of 48 bytes is one line transfer");

enum class Parcel : std::uint32_t { eager, offer };  // offer: the payload is an OfferNote

struct OfferNote {
  std::uint64_t name;
  std::uint64_t bytes;
};

struct Head {
  Parcel parcel = Parcel::eager;
  std::uint32_t bytes = 0;
  std::int32_t tag = 0;
  std::uint32_t context = 0;
};

struct alignas(line_bytes) RingTop {
  atomic<std::uint64_t> consumed = 0;  // lines; by the receiver
};

// The rings of a receiver (Front::channels): ring s, of sender s, begins at base + s * stride.
struct Rings {
  std::uint32_t lines = 0;  // of each, a power of two
  std::size_t stride = 0;
  char* base = nullptr;

  static std::size_t stride_of(std::uint32_t lines) { return sizeof(RingTop) + lines * sizeof(Line); }
  [[nodiscard]] RingTop* top(int sender) const {
    return reinterpret_cast<RingTop*>(base + static_cast<std::size_t>(sender) * stride);
  }
};

inline std::uint32_t flag_of(std::uint64_t line) { return static_cast<std::uint32_t>(line) << 1 | 1; }

// A run of lines seen as the bytes of one payload.
template <class Move>  // move(line memory, first byte of the message, bytes)
void each_piece(Line* lines, std::uint32_t mask, std::uint64_t first, std::size_t bytes, Move&& move) {
  const std::size_t head = bytes < inline_bytes ? bytes : inline_bytes;
  move(lines[first & mask].payload, std::size_t{0}, head);
  std::size_t at = head;
  std::uint64_t line = first + 1;
  while (at < bytes) {
    const std::size_t to_end = (mask + 1 - (line & mask)) * line_bytes;
    const std::size_t piece = bytes - at < to_end ? bytes - at : to_end;
    move(reinterpret_cast<char*>(&lines[line & mask]), at, piece);
    at += piece;
    line += piece / line_bytes;
  }
}

// Bytes of up to 48; the call of memcpy would be the dearest part of a small message.
inline void copy_small(char* to, const char* from, std::size_t bytes) {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes > 8 && bytes <= 16) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

class RingWriter {
 public:
  RingWriter() = default;
  // `raw`: lines / 8 bytes of zeroes, private: which lines last held payload.
  RingWriter(RingTop* top, std::uint32_t lines, unsigned char* raw)
      : top_(top), lines_(reinterpret_cast<Line*>(top + 1)), mask_(lines - 1), raw_(raw) {}

  [[nodiscard]] bool connected() const { return top_ != nullptr; }
  [[nodiscard]] std::size_t largest() const {
    return (static_cast<std::size_t>(mask_ + 1) / 4 - 2) * line_bytes;
  }

  // False: no room now.
  bool put(const Head& head, const void* data, const Layout* layout) {
    const std::uint64_t first = next_;
    const std::uint32_t count = lines_of(head.bytes);
    if (!room(count + 1)) return false;
    Line& line = lines_[first & mask_];
    line.kind_and_bytes = head.bytes << 1 | static_cast<std::uint32_t>(head.parcel);
    line.tag = head.tag;
    line.context = head.context;
    if (head.bytes <= inline_bytes && !layout) {
      note_read(data, head.bytes);
      copy_small(line.payload, static_cast<const char*>(data), head.bytes);
    } else {
      each_piece(lines_, mask_, first, head.bytes, [&](char* memory, std::size_t at, std::size_t bytes) {
        copy(memory - at, nullptr, data, layout, at, bytes);
      });
    }
    note_write(&line.kind_and_bytes, line_bytes - sizeof line.flag);
    mark(first, count);
    line.flag.store(flag_of(first), std::memory_order_release);
    next_ = first + count;
    return true;
  }

 private:
  [[nodiscard]] static std::uint32_t lines_of(std::size_t bytes) {
    return bytes <= inline_bytes
               ? 1
               : 1 + static_cast<std::uint32_t>((bytes - inline_bytes + line_bytes - 1) / line_bytes);
  }
  bool room(std::uint32_t count) {
    if (next_ + count - consumed_ <= mask_ + std::uint64_t{1}) return true;
    consumed_ = top_->consumed.load(std::memory_order_acquire);
    return next_ + count - consumed_ <= mask_ + std::uint64_t{1};
  }
  // Keeps account of which lines hold payload where their flag should be, and clears the flag that the
  // receiver will look at after this message.
  void mark(std::uint64_t first, std::uint32_t count) {
    for (std::uint64_t line = first + 1; line < first + count; ++line) bit(line, true);
    const std::uint64_t after = (first + count) & mask_;
    if ((raw_[after / 8] >> (after % 8) & 1) == 0) return;
    lines_[after].flag.store(0, std::memory_order_relaxed);
    bit(after, false);
  }
  void bit(std::uint64_t line, bool on) {
    line &= mask_;
    const auto one = static_cast<unsigned char>(1u << (line % 8));
    raw_[line / 8] = static_cast<unsigned char>(on ? raw_[line / 8] | one : raw_[line / 8] & ~one);
  }

  RingTop* top_ = nullptr;
  Line* lines_ = nullptr;
  std::uint32_t mask_ = 0;
  unsigned char* raw_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t consumed_ = 0;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(RingTop* top, std::uint32_t lines)
      : top_(top), lines_(reinterpret_cast<Line*>(top + 1)), mask_(lines - 1) {}

  // The head of the next message, if one is there. Cheap: one load of a line that is ours until it is
  // written.
  bool look(Head& head) {
    Line& line = lines_[next_ & mask_];
    if (line.flag.load(std::memory_order_acquire) != flag_of(next_)) return false;
    note_read(&line.kind_and_bytes, line_bytes - sizeof line.flag);
    head = {.parcel = static_cast<Parcel>(line.kind_and_bytes & 1),
            .bytes = line.kind_and_bytes >> 1,
            .tag = line.tag,
            .context = line.context};
    return true;
  }

  // For a wait for a message of several lines: its second line comes while the first one does.
  void expect_more() { __builtin_prefetch(&lines_[(next_ + 1) & mask_]); }

  // Copies the first `bytes` of that message, and goes on to the next with pass().
  void read(void* to, const Layout* layout, std::size_t bytes) {
    if (bytes <= inline_bytes && !layout) {
      copy_small(static_cast<char*>(to), lines_[next_ & mask_].payload, bytes);
      note_write(to, bytes);
      return;
    }
    each_piece(lines_, mask_, next_, bytes, [&](char* memory, std::size_t at, std::size_t piece) {
      copy(to, layout, memory - at, nullptr, at, piece);
    });
  }
  void pass(const Head& head) {
    next_ += head.bytes <= inline_bytes ? 1 : 1 + (head.bytes - inline_bytes + line_bytes - 1) / line_bytes;
    if (next_ - told_ < (mask_ + std::uint64_t{1}) / 4) return;
    told_ = next_;
    top_->consumed.store(next_, std::memory_order_release);
  }

 private:
  RingTop* top_ = nullptr;
  Line* lines_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace nigh::message
