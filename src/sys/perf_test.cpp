// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The record reader on streams written out byte by byte, on random ones, and the ring on a real event: page
// faults of our own are counted by the kernel everywhere, also where there is no PMU.
#include "sys/perf.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "sys/pages.hpp"
#include "sys/perf_records.hpp"
#include "sys/raw.h"
#include "sys/test_tree.hpp"

namespace nigh::sys {
namespace {

// Builds records as the kernel lays them out.
class Stream {
 public:
  template <class T>
  Stream& put(T value) {
    auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  Stream& header(std::uint32_t type, std::uint16_t size) {
    return put(type).put<std::uint16_t>(0).put<std::uint16_t>(size);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

constexpr std::uint64_t fault_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
                                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_PAGE_SIZE;

Stream& put_fault(Stream& s, int pid, int tid, std::uint64_t address, int cpu) {
  return s.header(PERF_RECORD_SAMPLE, 56)
      .put<std::uint32_t>(static_cast<std::uint32_t>(pid))
      .put<std::uint32_t>(static_cast<std::uint32_t>(tid))
      .put<std::uint64_t>(12345)
      .put<std::uint64_t>(address)
      .put<std::uint32_t>(static_cast<std::uint32_t>(cpu))
      .put<std::uint32_t>(0)
      .put<std::uint64_t>(1)
      .put<std::uint64_t>(4096);
}

TEST(PerfRecords, FaultSample) {
  Stream s;
  put_fault(s, 7, 8, 0x7f0012345678, 3);
  auto batch = parse_records(s.bytes(), fault_type);
  ASSERT_EQ(batch.samples.size(), 1u);
  const PerfSample& one = batch.samples[0];
  EXPECT_EQ(one.pid, 7);
  EXPECT_EQ(one.tid, 8);
  EXPECT_EQ(one.time, 12345u);
  EXPECT_EQ(one.address, 0x7f0012345678u);
  EXPECT_EQ(one.cpu, 3);
  EXPECT_EQ(one.period, 1u);
  EXPECT_EQ(one.page_bytes, 4096u);
  EXPECT_EQ(batch.malformed, 0u);
}

// Every field that the meters ask for, each with a value of its own, in the order of linux/perf_event.h.
TEST(PerfRecords, FieldsStandInTheKernelsOrder) {
  Stream s;
  s.header(PERF_RECORD_SAMPLE, 8 + 13 * 8 + 8 + 8);
  for (std::uint64_t k = 1; k <= 2; ++k) s.put(k);      // identifier, ip
  s.put<std::uint32_t>(3).put<std::uint32_t>(4);        // pid, tid
  for (std::uint64_t k = 5; k <= 8; ++k) s.put(k);      // time, addr, id, stream_id
  s.put<std::uint32_t>(9).put<std::uint32_t>(0);        // cpu
  s.put<std::uint64_t>(10);                             // period
  s.put<std::uint32_t>(12).put<std::uint32_t>(0xaabb);  // raw: size, 12 bytes of which 4 ...
  s.put<std::uint64_t>(11);                             // ... and 8 here
  s.put<std::uint64_t>(0x0002000100000055);             // weight struct: var1_dw is the low half
  for (std::uint64_t k = 13; k <= 15; ++k) s.put(k);    // data_src, phys_addr, data_page_size
  auto batch = parse_records(s.bytes(), known_sample_bits() & ~std::uint64_t{PERF_SAMPLE_WEIGHT});
  ASSERT_EQ(batch.malformed, 0u);
  ASSERT_EQ(batch.samples.size(), 1u);
  const PerfSample& one = batch.samples[0];
  EXPECT_EQ(one.ip, 2u);
  EXPECT_EQ(one.pid, 3);
  EXPECT_EQ(one.tid, 4);
  EXPECT_EQ(one.time, 5u);
  EXPECT_EQ(one.address, 6u);
  EXPECT_EQ(one.cpu, 9);
  EXPECT_EQ(one.period, 10u);
  ASSERT_EQ(one.raw.size(), 12u);
  EXPECT_EQ(one.weight, 0x55u);
  EXPECT_EQ(one.data_source, 13u);
  EXPECT_EQ(one.physical, 14u);
  EXPECT_EQ(one.page_bytes, 15u);
}

TEST(PerfRecords, OthersAreCountedOrSteppedOver) {
  Stream s;
  s.header(PERF_RECORD_LOST, 24).put<std::uint64_t>(1).put<std::uint64_t>(40);
  s.header(PERF_RECORD_LOST_SAMPLES, 16).put<std::uint64_t>(2);
  s.header(PERF_RECORD_THROTTLE, 32).put<std::uint64_t>(0).put<std::uint64_t>(0).put<std::uint64_t>(0);
  s.header(PERF_RECORD_ITRACE_START, 16).put<std::uint32_t>(1).put<std::uint32_t>(2);
  s.header(PERF_RECORD_AUX, 32).put<std::uint64_t>(100).put<std::uint64_t>(64).put<std::uint64_t>(1);
  s.header(0xffff, 16).put<std::uint64_t>(0);
  put_fault(s, 1, 1, 0x1000, 0);
  auto batch = parse_records(s.bytes(), fault_type);
  EXPECT_EQ(batch.lost, 42u);
  EXPECT_EQ(batch.throttled, 1u);
  ASSERT_EQ(batch.aux.size(), 1u);
  EXPECT_EQ(batch.aux[0].size, 64u);
  EXPECT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.malformed, 0u);
}

TEST(PerfRecords, SizesThatLieEndTheStream) {
  for (std::uint16_t size : {0, 7, 57, 65535}) {
    Stream s;
    put_fault(s, 1, 1, 0x1000, 0);
    s.header(PERF_RECORD_SAMPLE, size).put<std::uint64_t>(0);
    auto batch = parse_records(s.bytes(), fault_type);
    EXPECT_EQ(batch.samples.size(), 1u) << size;
    EXPECT_EQ(batch.malformed, 1u) << size;
  }
  Stream s;  // a sample too short for its fields is left out, the next one is read
  s.header(PERF_RECORD_SAMPLE, 16).put<std::uint64_t>(0);
  put_fault(s, 1, 2, 0x1000, 0);
  auto batch = parse_records(s.bytes(), fault_type);
  EXPECT_EQ(batch.malformed, 1u);
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.samples[0].tid, 2);
}

TEST(PerfRecords, RandomBytesNeverHurt) {
  std::mt19937 random(4711);
  std::uint64_t records = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(random() % 200);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random());
    if (bytes.size() >= 8 && round % 2 == 0) {  // a header that can be believed
      std::uint32_t type = 1 + random() % 22;
      auto size = static_cast<std::uint16_t>(8 + random() % (bytes.size() - 7));
      std::memcpy(bytes.data(), &type, 4);
      std::memcpy(bytes.data() + 6, &size, 2);
    }
    auto batch = parse_records(bytes, random() & known_sample_bits());
    records += batch.samples.size() + batch.malformed;
    for (const PerfSample& one : batch.samples) {
      if (one.raw.empty()) continue;
      EXPECT_GE(one.raw.data(), bytes.data());
      EXPECT_LE(one.raw.data() + one.raw.size(), bytes.data() + bytes.size());
    }
  }
  EXPECT_GT(records, 10000u);
}

TEST(PerfRing, CopiesAcrossTheEnd) {
  std::vector<std::byte> ring(64);
  for (std::size_t k = 0; k < ring.size(); ++k) ring[k] = static_cast<std::byte>(k);
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::uint64_t tail = random(), size = random() % 65;
    std::vector<std::byte> out;
    copy_ring(ring.data(), ring.size(), tail, tail + size, out);
    ASSERT_EQ(out.size(), size);
    for (std::size_t k = 0; k < size; ++k) ASSERT_EQ(out[k], static_cast<std::byte>((tail + k) % 64));
  }
  std::vector<std::byte> out;
  copy_ring(ring.data(), ring.size(), 0, 65, out);  // more than fits: nothing can be believed
  EXPECT_TRUE(out.empty());
}

// A real ring: pages touched for the first time (page_bytes 0), then dropped and touched again.
TEST(PerfEvent, SeesOurOwnFaults) {
  perf_event_attr attr = {};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  attr.sample_period = 1;
  attr.sample_type = fault_type;
  attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
  auto event = PerfEvent::open(attr, 0, -1);
  if (!event) GTEST_SKIP() << event.error().message;
  auto mapped = event->map(16);
  if (!mapped) GTEST_SKIP() << mapped.error().message;
  constexpr std::size_t pages = 1000;  // more than the ring's 64 KiB hold in one go
  auto* data = static_cast<char*>(
      ::mmap(nullptr, pages * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(data, MAP_FAILED);
  ::madvise(data, pages * page_bytes(), MADV_NOHUGEPAGE);
  ASSERT_TRUE(event->enable());
  std::vector<bool> seen(pages);
  std::vector<std::byte> bytes;
  for (std::size_t k = 0; k < pages; ++k) {
    *static_cast<volatile char*>(data + k * page_bytes()) = 1;
    if (k % 100 == 99) event->drain(bytes);
  }
  ASSERT_TRUE(event->disable());
  auto batch = parse_records(bytes, fault_type);
  EXPECT_EQ(batch.malformed, 0u);
  EXPECT_EQ(batch.lost, 0u);
  auto base = reinterpret_cast<std::uint64_t>(data);
  for (const PerfSample& one : batch.samples) {
    if (one.address < base || one.address >= base + pages * page_bytes()) continue;
    seen[(one.address - base) / page_bytes()] = true;
    EXPECT_EQ(one.tid, nigh_raw_gettid());
    EXPECT_EQ(one.page_bytes, 0u);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<long>(pages));
  ::munmap(data, pages * page_bytes());
}

TEST(PerfLimits, RingsAreCountedByCpu) {
  TestTree tree;
  tree.put("/proc/self/status", "Name: x\nCapEff:\t0000000000000000\n");
  tree.put("/proc/sys/kernel/perf_event_paranoid", "2\n");
  tree.put("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
  tree.put("/sys/devices/system/cpu/online", "0-3\n");
  Os os = tree.os();
  rlimit own = {};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &own), 0);
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(ring_limit(os),
            own.rlim_cur == RLIM_INFINITY ? none : std::size_t{516} * 1024 * 4 + own.rlim_cur);
  EXPECT_EQ(perf_paranoid(os), 2);
  EXPECT_FALSE(may_perfmon(os));
  tree.put("/proc/self/status", "CapEff:\t0000004000004000\n");  // CAP_PERFMON, CAP_IPC_LOCK
  EXPECT_TRUE(may_perfmon(os));
  EXPECT_EQ(ring_limit(os), none);
}

}  // namespace
}  // namespace nigh::sys
