// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// SPE packets (Arm DDI 0487, D10.2). The header tells the length, so packets we have no use for are stepped
// over:
//
//   00000000 padding          01xx0010 events          1xxxxxxx with 10110 iii  address
//   00000001 end              01xx0011 data source              with 10011 iii  counter
//   01110001 timestamp        0110 01ii context        001000jj + a second byte: the same, longer index;
//   ..ss.... bytes: 1 << ss   0100 10ii operation               second byte 0: alignment
//
// A byte that begins no packet spoils the record it stands in, and no other.
#include <cstring>

#include "watch/data_source.hpp"

namespace nigh::watch {

namespace {

constexpr std::uint64_t address_bits = (std::uint64_t{1} << 56) - 1;

class SpeReader {
 public:
  SpeReader(std::span<const std::byte> bytes, std::uint64_t offset) : bytes_(bytes), offset_(offset) {}

  SpeBatch run() {
    while (at_ < bytes_.size()) {
      std::size_t length = step();
      if (length == 0) {  // no packet begins here
        ++out_.bad;
        spoilt_ = true;
        length = 1;
      }
      at_ += length;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] unsigned byte(std::size_t at) const {
    return at < bytes_.size() ? std::to_integer<unsigned>(bytes_[at]) : 0U;
  }

  // Reads the packet at at_; its length, 0: there is none, or it is cut off.
  std::size_t step() {
    unsigned header = byte(at_);
    if (header == 0x00) return 1;
    if (header == 0x01) return finish(1);
    std::size_t headers = 1;
    unsigned index = header & 7;
    if ((header & 0xfc) == 0x20) {
      if (at_ + 1 >= bytes_.size()) return 0;
      unsigned second = byte(at_ + 1);
      if (second == 0) return alignment();
      index = (header & 3) << 3 | (second & 7);
      header = second;
      headers = 2;
    }
    std::size_t size = std::size_t{1} << ((header >> 4) & 3);
    if (at_ + headers + size > bytes_.size()) return 0;
    std::uint64_t payload = 0;
    std::memcpy(&payload, bytes_.data() + at_ + headers,
                size);  // little endian, as the processors that have it
    return take(header, headers, index, payload) ? headers + size : 0;
  }

  bool take(unsigned header, std::size_t headers, unsigned index, std::uint64_t payload) {
    if ((header & 0xf8) == 0xb0) return take_address(index, payload);
    if ((header & 0xf8) == 0x98) {
      if (index == 0) record_.latency = static_cast<unsigned>(payload & 0xffff);
      return true;
    }
    if (headers == 2) return false;
    if (header == 0x71) {
      record_.time = payload;
      finish(0);
      return true;
    }
    if ((header & 0xcf) == 0x42) return record_.events = payload, true;
    if ((header & 0xcf) == 0x43) return record_.data_source = static_cast<int>(payload & 0xffff), true;
    if ((header & 0xfc) == 0x64) return record_.context = payload, true;
    if ((header & 0xfc) != 0x48) return false;
    record_.memory_op = (header & 3) == 1;
    record_.store = record_.memory_op && (payload & 1) != 0;
    return true;
  }

  bool take_address(unsigned index, std::uint64_t payload) {
    constexpr unsigned data_virtual = 2, data_physical = 3;
    if (index == data_virtual) record_.address = payload & address_bits;
    if (index == data_physical) record_.physical = payload & address_bits;
    return true;
  }

  [[nodiscard]] std::size_t alignment() const {
    std::size_t border = std::size_t{1} << ((byte(at_) & 0xf) + 1);
    return border - static_cast<std::size_t>((offset_ + at_) & (border - 1));
  }

  std::size_t finish(std::size_t length) {
    if (!spoilt_) out_.records.push_back(record_);
    record_ = SpeRecord();
    spoilt_ = false;
    return length;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t offset_;
  std::size_t at_ = 0;
  SpeRecord record_;
  bool spoilt_ = false;
  SpeBatch out_;
};

}  // namespace

SpeBatch parse_spe(std::span<const std::byte> bytes, std::uint64_t offset) {
  return SpeReader(bytes, offset).run();
}

Source source_of(const SpeRecord& record, bool neoverse) {
  constexpr std::uint64_t llc_miss = 1 << 9, remote = 1 << 10;
  bool far = (record.events & remote) != 0;
  if (neoverse && record.data_source >= 0) {
    switch (record.data_source) {
      case 0xe: return far ? Source::remote_memory : Source::local_memory;
      case 0xd: return Source::remote_memory;  // another socket: its memory or its caches, which is not told
      default: return Source::cache;
    }
  }
  if ((record.events & llc_miss) != 0) return far ? Source::remote_memory : Source::local_memory;
  return record.events != 0 ? Source::cache : Source::unknown;
}

}  // namespace nigh::watch
