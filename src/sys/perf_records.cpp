// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A cursor that can run dry but never out: reading past the end gives 0 and is remembered.
#include "sys/perf_records.hpp"

#include <linux/perf_event.h>

#include <cstring>

namespace nigh::sys {

namespace {

constexpr std::size_t typical_sample = 56;  // bytes

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (left_.size() < sizeof(T)) {
      dry_ = true;
      left_ = {};
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (left_.size() < count) {
      dry_ = true;
      left_ = {};
      return {};
    }
    auto out = left_.first(count);
    left_ = left_.subspan(count);
    return out;
  }
  [[nodiscard]] bool dry() const { return dry_; }

 private:
  std::span<const std::byte> left_;
  bool dry_ = false;
};

// The identity part, common to all events.
void take_identity(Cursor& at, std::uint64_t type, PerfSample& out) {
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_IP) != 0) out.ip = at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_TID) != 0) {
    out.pid = static_cast<int>(at.take<std::uint32_t>());
    out.tid = static_cast<int>(at.take<std::uint32_t>());
  }
  if ((type & PERF_SAMPLE_TIME) != 0) out.time = at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_ADDR) != 0) out.address = at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_ID) != 0) at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_STREAM_ID) != 0) at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_CPU) != 0) {
    out.cpu = static_cast<int>(at.take<std::uint32_t>());
    at.take<std::uint32_t>();  // reserved
  }
  if ((type & PERF_SAMPLE_PERIOD) != 0) out.period = at.take<std::uint64_t>();
}

bool take_sample(std::span<const std::byte> body, std::uint64_t type, PerfSample& out) {
  Cursor at(body);
  take_identity(at, type, out);
  if ((type & PERF_SAMPLE_RAW) != 0) out.raw = at.take_bytes(at.take<std::uint32_t>());
  if ((type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) != 0) {
    out.weight = at.take<std::uint64_t>();
    if ((type & PERF_SAMPLE_WEIGHT_STRUCT) != 0) out.weight &= 0xffffffff;  // var1_dw: the first of three
  }
  if ((type & PERF_SAMPLE_DATA_SRC) != 0) out.data_source = at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_PHYS_ADDR) != 0) out.physical = at.take<std::uint64_t>();
  if ((type & PERF_SAMPLE_DATA_PAGE_SIZE) != 0) out.page_bytes = at.take<std::uint64_t>();
  return !at.dry();
}

// False: the body is too short for what its type says.
bool take_record(const perf_event_header& header, std::span<const std::byte> body, std::uint64_t sample_type,
                 PerfBatch& out) {
  Cursor at(body);
  switch (header.type) {
    case PERF_RECORD_SAMPLE: {
      if (take_sample(body, sample_type, out.samples.emplace_back())) return true;
      out.samples.pop_back();
      return false;
    }
    case PERF_RECORD_LOST: {
      at.take<std::uint64_t>();  // id
      out.lost += at.take<std::uint64_t>();
      return !at.dry();
    }
    case PERF_RECORD_LOST_SAMPLES: out.lost += at.take<std::uint64_t>(); return !at.dry();
    case PERF_RECORD_THROTTLE: ++out.throttled; return true;
    case PERF_RECORD_AUX: {
      PerfAux aux;
      aux.offset = at.take<std::uint64_t>();
      aux.size = at.take<std::uint64_t>();
      aux.flags = at.take<std::uint64_t>();
      if (!at.dry()) out.aux.push_back(aux);
      return !at.dry();
    }
    default: return true;
  }
}

}  // namespace

std::uint64_t known_sample_bits() {
  return PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
         PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
         PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR |
         PERF_SAMPLE_DATA_PAGE_SIZE;
}

PerfBatch parse_records(std::span<const std::byte> bytes, std::uint64_t sample_type) {
  PerfBatch out;
  out.samples.reserve(bytes.size() / typical_sample);
  while (!bytes.empty()) {
    perf_event_header header{};
    if (bytes.size() < sizeof header) {
      ++out.malformed;
      return out;
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof header || header.size > bytes.size()) {
      ++out.malformed;
      return out;
    }
    auto body = bytes.subspan(sizeof header, header.size - sizeof header);
    if (!take_record(header, body, sample_type, out)) ++out.malformed;
    bytes = bytes.subspan(header.size);
  }
  return out;
}

}  // namespace nigh::sys
