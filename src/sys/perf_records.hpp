// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The records that perf_event_open(2) puts into its ring. The reader is pure and trusts nothing: every size
// is checked against the bytes that are there, unknown records are stepped over, and a record that
// contradicts itself ends the stream, since nothing after it can be found again.
//
//   | header: u32 type, u16 misc, u16 size | body, size - 8 bytes | header | ...
//   body of a sample: the fields of sample_type, in the kernel's order (linux/perf_event.h,
//   PERF_RECORD_SAMPLE)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nigh::sys {

// One PERF_RECORD_SAMPLE; fields that sample_type did not ask for are 0 (cpu: -1).
struct PerfSample {
  int pid = 0;
  int tid = 0;
  int cpu = -1;
  std::uint64_t ip = 0;
  std::uint64_t time = 0;  // ns
  std::uint64_t address = 0;
  std::uint64_t period = 0;
  std::uint64_t weight = 0;  // what the event says: mostly a latency in cycles
  std::uint64_t data_source = 0;
  std::uint64_t physical = 0;
  std::uint64_t page_bytes = 0;    // size of the page at `address` when the event came, 0: none was there
  std::span<const std::byte> raw;  // inside the bytes that were parsed
};

// One PERF_RECORD_AUX: new bytes in the AUX buffer, in its endless count.
struct PerfAux {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t flags = 0;  // PERF_AUX_FLAG_TRUNCATED, ...
};

struct PerfBatch {
  std::vector<PerfSample> samples;
  std::vector<PerfAux> aux;
  std::uint64_t lost = 0;       // records (LOST) and samples (LOST_SAMPLES) that the kernel could not keep
  std::uint64_t throttled = 0;  // times that the kernel stopped the event for a while
  std::uint64_t malformed = 0;  // records that contradict themselves
};

// The sample_type bits that parse_records understands; others (call chains, registers, ...) must not be asked
// for.
std::uint64_t known_sample_bits();

// `sample_type` is the attribute's; sample_id_all must be off.
PerfBatch parse_records(std::span<const std::byte> bytes, std::uint64_t sample_type);

}  // namespace nigh::sys
