// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// perf's word and AMD's registers: fixed fields, read by shift and mask.
#include "watch/data_source.hpp"

#include <cstring>

namespace nigh::watch {

namespace {

constexpr std::uint64_t bits(std::uint64_t value, int first, int count) {
  return (value >> first) & ((std::uint64_t{1} << count) - 1);
}

// mem_lvl (bits 5 to 18), which older kernels fill.
Source source_of_level(std::uint64_t level) {
  constexpr std::uint64_t hit = 0x02, lfb = 0x10, l1 = 0x08, l2 = 0x20, l3 = 0x40, local = 0x80;
  constexpr std::uint64_t remote = 0x100 | 0x200, remote_cache = 0x400 | 0x800;
  if ((level & hit) == 0) return Source::unknown;
  if ((level & remote) != 0) return Source::remote_memory;
  if ((level & local) != 0) return Source::local_memory;
  if ((level & remote_cache) != 0) return Source::remote_cache;
  return (level & (lfb | l1 | l2 | l3)) != 0 ? Source::cache : Source::unknown;
}

constexpr std::uint32_t ibs_caps_zen4 = 1 << 11;  // DataSrc has two more bits

// IbsOpData2.DataSrc (bits 0-2, 6-7) and RmtNode (bit 4).
Source ibs_source(std::uint64_t data2, std::uint64_t data3, std::uint32_t caps) {
  bool dc_miss = bits(data3, 7, 1) != 0, l2_miss = bits(data3, 20, 1) != 0;
  if (!dc_miss || !l2_miss) return Source::cache;
  bool remote = bits(data2, 4, 1) != 0;
  std::uint64_t source = bits(data2, 0, 3);
  if ((caps & ibs_caps_zen4) != 0) {
    source |= bits(data2, 6, 2) << 3;
    constexpr std::uint64_t local = 1, near = 2, dram = 3, far = 5, persistent = 6, extension = 8, peer = 12;
    if (source == local || source == near) return Source::cache;
    if (source == far) return Source::remote_cache;
    bool memory = source == dram || source == persistent || source == extension || source == peer;
    if (!memory) return Source::unknown;
  } else {
    constexpr std::uint64_t local = 2, dram = 3, other = 4;
    if (source == local) return Source::cache;
    if (source == other) return remote ? Source::remote_cache : Source::cache;
    if (source != dram) return Source::unknown;
  }
  return remote ? Source::remote_memory : Source::local_memory;
}

}  // namespace

Source source_of(std::uint64_t data_src) {
  std::uint64_t number = bits(data_src, 33, 4);
  bool remote = bits(data_src, 37, 1) != 0 || bits(data_src, 43, 3) > 1;  // hops 1: the same node
  switch (number) {
    case 0x1:  // L1
    case 0x2:  // L2
    case 0x3:  // L3
    case 0x4:  // L4
    case 0x5:  // L2 miss handling buffer
    case 0x6:  // memory-side cache
    case 0xb:  // any cache
    case 0xc:  // line fill buffer
      return remote ? Source::remote_cache : Source::cache;
    case 0x9:  // CXL
    case 0xd:  // RAM
    case 0xe:  // persistent memory
      return remote ? Source::remote_memory : Source::local_memory;
    default: return source_of_level(bits(data_src, 5, 14));
  }
}

IbsOp parse_ibs_op(std::span<const std::byte> raw) {
  std::uint32_t caps = 0;
  std::uint64_t registers[7];  // ctl, rip, data, data2, data3, linear, physical
  IbsOp out;
  if (raw.size() < sizeof caps + sizeof registers) return out;
  std::memcpy(&caps, raw.data(), sizeof caps);
  std::memcpy(registers, raw.data() + sizeof caps, sizeof registers);
  std::uint64_t data2 = registers[3], data3 = registers[4];
  out.valid = true;
  out.load = bits(data3, 0, 1) != 0;
  out.store = bits(data3, 1, 1) != 0;
  if (bits(data3, 17, 1) != 0) out.address = registers[5];
  if (bits(data3, 18, 1) != 0) out.physical = registers[6];
  if (out.load) {  // DataSrc and the latency are told of loads only
    out.latency = static_cast<unsigned>(bits(data3, 32, 16));
    out.source = ibs_source(data2, data3, caps);
  }
  return out;
}

}  // namespace nigh::watch
