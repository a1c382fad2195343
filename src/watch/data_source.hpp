// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The source of a sampled access, in the three languages of the processors: perf's data_src word, AMD's raw
// IBS registers (for kernels that do not translate them), and Arm's SPE packets. Only accesses that memory
// served are traffic between nodes; those that a cache served are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nigh::watch {

enum class Source : std::uint8_t { unknown, cache, remote_cache, local_memory, remote_memory };
inline bool from_memory(Source source) {
  return source == Source::local_memory || source == Source::remote_memory;
}

// union perf_mem_data_src (linux/perf_event.h): mem_lvl_num, mem_remote and mem_hops, else the older mem_lvl.
Source source_of(std::uint64_t data_src);

// One IBS op sample as PERF_SAMPLE_RAW holds it: u32 caps, then the registers IbsOpCtl, IbsOpRip, IbsOpData,
// IbsOpData2, IbsOpData3, IbsDcLinAd, IbsDcPhysAd (AMD PPR family 19h, MSRs C001_1033 to 1039).
struct IbsOp {
  bool valid = false;  // long enough
  bool load = false, store = false;
  std::uint64_t address = 0;  // linear, 0: not valid
  std::uint64_t physical = 0;
  unsigned latency = 0;  // cycles of the data cache miss
  Source source = Source::unknown;
};
IbsOp parse_ibs_op(std::span<const std::byte> raw);

// One record of Arm SPE (Arm DDI 0487, D10.2): what lies between two END or TIMESTAMP packets.
struct SpeRecord {
  std::uint64_t address = 0;   // virtual, without its tag
  std::uint64_t physical = 0;  // 0: not recorded
  std::uint64_t events = 0;    // bit 9: missed the last cache, bit 10: went to another socket
  int data_source = -1;        // implementation defined, -1: not recorded
  unsigned latency = 0;        // cycles in all
  std::uint64_t context = 0;   // CONTEXTIDR, where recorded
  std::uint64_t time = 0;
  bool memory_op = false, store = false;
};
struct SpeBatch {
  std::vector<SpeRecord> records;
  std::uint64_t bad = 0;  // bytes that began no packet
};
// `offset`: where the bytes began in the AUX buffer, for alignment packets. An unfinished record at the end
// is left out.
SpeBatch parse_spe(std::span<const std::byte> bytes, std::uint64_t offset);
// `neoverse`: the data source is known to be in Arm's own encoding (Neoverse N1, N2, V1, V2).
Source source_of(const SpeRecord& record, bool neoverse);

}  // namespace nigh::watch
