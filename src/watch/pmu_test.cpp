// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// PMUs of machines we do not have: their files below /sys as recorded trees, their records as literal bytes
// in the documented layouts (linux/perf_event.h, AMD PPR 19h, Arm DDI 0487 D10.2), and random bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sys/test_tree.hpp"
#include "watch/data_source.hpp"
#include "watch/pmu_plan.hpp"

namespace nigh::watch {
namespace {

class Tree : public sys::TestTree {
 public:
  Tree& add(const std::string& path, const std::string& text) {
    put(path, text + "\n");
    return *this;
  }
  Tree& pmu(const std::string& name, const std::string& file, const std::string& text) {
    return add("/sys/bus/event_source/devices/" + name + "/" + file, text);
  }
};

Tree& zen3(Tree& tree) {
  return tree.pmu("ibs_op", "type", "11").pmu("ibs_op", "format/cnt_ctl", "config:19");
}

TEST(PmuPlan, IbsCountsOps) {
  Tree tree;
  auto plan = plan_pmu(zen3(tree).os(), true);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kind, PmuKind::ibs);
  ASSERT_EQ(plan->attrs.size(), 1u);
  const perf_event_attr& attr = plan->attrs[0];
  EXPECT_EQ(attr.type, 11u);
  EXPECT_EQ(attr.config, 1u << 19);
  EXPECT_EQ(attr.exclude_kernel, 0u);
  EXPECT_NE(attr.sample_type & PERF_SAMPLE_RAW, 0u);
  EXPECT_NE(attr.sample_type & PERF_SAMPLE_ADDR, 0u);
  EXPECT_TRUE(plan->rate_known);
}

TEST(PmuPlan, IbsOfZen4KeepsMissesOnly) {
  Tree tree;
  zen3(tree).pmu("ibs_op", "format/l3missonly", "config:16").pmu("ibs_op", "format/swfilt", "config2:0");
  auto plan = plan_pmu(tree.os(), false);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->attrs[0].config, 1u << 19 | 1u << 16);
  EXPECT_EQ(plan->attrs[0].config2, 1u);
  EXPECT_EQ(plan->attrs[0].exclude_kernel, 1u);
  EXPECT_FALSE(plan->rate_known);
}

TEST(PmuPlan, IbsThatCannotLeaveTheKernelOutNeedsARight) {
  Tree tree;
  auto plan = plan_pmu(zen3(tree).os(), false);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::permission);
}

Tree& intel(Tree& tree, const std::string& name) {
  return tree.pmu(name, "type", "4")
      .pmu(name, "format/event", "config:0-7")
      .pmu(name, "format/umask", "config:8-15")
      .pmu(name, "format/ldlat", "config1:0-15")
      .pmu(name, "caps/max_precise", "3")
      .pmu(name, "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
}

TEST(PmuPlan, PebsTakesTheEventFromSysfs) {
  Tree tree;
  auto plan = plan_pmu(intel(tree, "cpu").os(), false);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kind, PmuKind::pebs);
  ASSERT_EQ(plan->attrs.size(), 1u);
  EXPECT_EQ(plan->attrs[0].config, 0x1cdu);
  EXPECT_EQ(plan->attrs[0].config1, 30u);  // ours, not the 3 of the event
  EXPECT_EQ(plan->attrs[0].precise_ip, 3u);
  EXPECT_EQ(plan->attrs[0].exclude_kernel, 1u);
  EXPECT_EQ(plan->attrs[0].disabled, 1u);
}

TEST(PmuPlan, SapphireRapidsNeedsALeader) {
  Tree tree;
  intel(tree, "cpu_core").pmu("cpu_core", "events/mem-loads-aux", "event=0x03,umask=0x82");
  auto plan = plan_pmu(tree.os(), true);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->attrs.size(), 2u);
  EXPECT_EQ(plan->attrs[0].config, 0x8203u);
  EXPECT_EQ(plan->attrs[0].precise_ip, 0u);
  EXPECT_EQ(plan->attrs[0].sample_period, 0u);
  EXPECT_EQ(plan->attrs[0].disabled, 1u);
  EXPECT_EQ(plan->attrs[1].config, 0x1cdu);
  EXPECT_EQ(plan->attrs[1].disabled, 0u);
}

TEST(PmuPlan, SpeFiltersSlowLoads) {
  Tree tree;
  tree.pmu("arm_spe_0", "type", "9")
      .pmu("arm_spe_0", "format/load_filter", "config:33")
      .pmu("arm_spe_0", "format/jitter", "config:16")
      .pmu("arm_spe_0", "format/min_latency", "config2:0-11")
      .pmu("arm_spe_0", "caps/min_interval", "1024")
      .add("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000413fd0c1");
  auto plan = plan_pmu(tree.os(), true);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->kind, PmuKind::spe);
  EXPECT_EQ(plan->attrs[0].config, std::uint64_t{1} << 33 | 1u << 16);
  EXPECT_EQ(plan->attrs[0].config2, 30u);
  EXPECT_EQ(plan->attrs[0].freq, 0u);
  EXPECT_GE(plan->attrs[0].sample_period, 1024u);
  EXPECT_TRUE(plan->neoverse);
}

TEST(PmuPlan, FieldsMayBeScattered) {
  Tree tree;
  tree.pmu("cpu", "format/event", "config:0-7,32-35").pmu("cpu", "format/odd", "config9:1");
  perf_event_attr attr = {};
  const std::string folder = "/sys/bus/event_source/devices/cpu";
  ASSERT_TRUE(set_field(tree.os(), folder, "event", 0xabc, attr));
  EXPECT_EQ(attr.config, 0xa000000bcULL);
  EXPECT_FALSE(set_field(tree.os(), folder, "odd", 1, attr));
  EXPECT_FALSE(set_field(tree.os(), folder, "nothing", 1, attr));
}

TEST(PmuPlan, NoPmuIsSaidInOneSentence) {
  Tree tree;
  auto plan = plan_pmu(tree.add("/proc/cpuinfo", "flags : fpu hypervisor lahf_lm").os(), true);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::unsupported);
  EXPECT_NE(plan.error().message.find("virtual machine"), std::string::npos);
}

TEST(DataSource, PerfWord) {
  auto word = [](std::uint64_t level, std::uint64_t remote, std::uint64_t hops) {
    return PERF_MEM_OP_LOAD | level << PERF_MEM_LVLNUM_SHIFT | remote << PERF_MEM_REMOTE_SHIFT |
           hops << PERF_MEM_HOPS_SHIFT;
  };
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_RAM, 0, 0)), Source::local_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_RAM, 1, 0)), Source::remote_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_RAM, 0, PERF_MEM_HOPS_0)), Source::local_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_RAM, 0, PERF_MEM_HOPS_2)), Source::remote_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_CXL, 1, 0)), Source::remote_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_L3, 0, 0)), Source::cache);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_ANY_CACHE, 1, PERF_MEM_HOPS_1)), Source::remote_cache);
  EXPECT_EQ(source_of(word(PERF_MEM_LVLNUM_NA, 0, 0)), Source::unknown);
  EXPECT_EQ(source_of(0), Source::unknown);
}

TEST(DataSource, OlderKernelsFillTheLevelOnly) {
  auto word = [](std::uint64_t level) {
    return PERF_MEM_OP_LOAD | (level | PERF_MEM_LVL_HIT) << PERF_MEM_LVL_SHIFT;
  };
  EXPECT_EQ(source_of(word(PERF_MEM_LVL_LOC_RAM)), Source::local_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVL_REM_RAM1)), Source::remote_memory);
  EXPECT_EQ(source_of(word(PERF_MEM_LVL_REM_CCE2)), Source::remote_cache);
  EXPECT_EQ(source_of(word(PERF_MEM_LVL_L2)), Source::cache);
  EXPECT_EQ(source_of(word(PERF_MEM_LVL_UNC)), Source::unknown);
}

// caps and the seven registers; data3: load, dc_miss, linear valid, physical valid, l2_miss, latency 500.
std::vector<std::byte> ibs(std::uint32_t caps, std::uint64_t data2, std::uint64_t data3) {
  std::vector<std::byte> raw(60);
  const std::uint64_t registers[7] = {0, 0x401000, 0, data2, data3, 0x7f0000123440, 0x1234440};
  std::memcpy(raw.data(), &caps, 4);
  std::memcpy(raw.data() + 4, registers, 56);
  return raw;
}
constexpr std::uint64_t slow_load = 1 | 1 << 7 | 1 << 17 | 1 << 18 | 1 << 20 | std::uint64_t{500} << 32;

TEST(Ibs, RawRegisters) {
  IbsOp op = parse_ibs_op(ibs(0x3ff, 3 | 1 << 4, slow_load));
  ASSERT_TRUE(op.valid);
  EXPECT_TRUE(op.load);
  EXPECT_FALSE(op.store);
  EXPECT_EQ(op.address, 0x7f0000123440u);
  EXPECT_EQ(op.physical, 0x1234440u);
  EXPECT_EQ(op.latency, 500u);
  EXPECT_EQ(op.source, Source::remote_memory);
  EXPECT_EQ(parse_ibs_op(ibs(0x3ff, 3, slow_load)).source, Source::local_memory);
  EXPECT_EQ(parse_ibs_op(ibs(0x3ff, 2, slow_load)).source, Source::cache);
  EXPECT_EQ(parse_ibs_op(ibs(0x3ff, 3, slow_load & ~(1ULL << 20))).source, Source::cache);  // L2 hit
  EXPECT_EQ(parse_ibs_op(ibs(0x3ff, 3, slow_load & ~(1ULL << 17))).address, 0u);            // not valid
  EXPECT_EQ(parse_ibs_op(ibs(0x3ff, 3, (slow_load & ~1ULL) | 2)).source, Source::unknown);  // a store
}

TEST(Ibs, Zen4HasMoreSources) {
  constexpr std::uint32_t zen4 = 1 << 11;
  EXPECT_EQ(parse_ibs_op(ibs(zen4, 3, slow_load)).source, Source::local_memory);
  EXPECT_EQ(parse_ibs_op(ibs(zen4, 5, slow_load)).source, Source::remote_cache);
  EXPECT_EQ(parse_ibs_op(ibs(zen4, 1 << 6 | 1 << 4, slow_load)).source, Source::remote_memory);  // 8: CXL
  EXPECT_EQ(parse_ibs_op(ibs(zen4, 7, slow_load)).source, Source::unknown);                      // I/O
}

TEST(Ibs, ShortRecordsAreNotValid) {
  auto raw = ibs(0, 3, slow_load);
  for (std::size_t size = 0; size < 60; ++size)
    EXPECT_FALSE(parse_ibs_op(std::span(raw).first(size)).valid) << size;
}

class SpeStream {
 public:
  SpeStream& byte(unsigned value) {
    bytes.push_back(static_cast<std::byte>(value));
    return *this;
  }
  SpeStream& packet(std::initializer_list<unsigned> header, std::uint64_t payload, int size) {
    for (unsigned one : header) byte(one);
    for (int k = 0; k < size; ++k, payload >>= 8) byte(static_cast<unsigned>(payload & 0xff));
    return *this;
  }
  std::vector<std::byte> bytes;
};

// A load from another socket's memory, as Neoverse writes it.
SpeStream& put_load(SpeStream& s, std::uint64_t address) {
  return s
      .packet({0xb0}, 0x0000aaaa00001000, 8)                  // PC
      .packet({0x64}, 0x1234, 4)                              // context
      .packet({0x49}, 0x00, 1)                                // operation: load
      .packet({0x62}, 1 << 1 | 1 << 3 | 1 << 9 | 1 << 10, 4)  // events: retired, refill, LLC miss, remote
      .packet({0x98}, 700, 2)                                 // total latency
      .packet({0x99}, 12, 2)                                  // issue latency
      .packet({0xb2}, address, 8)                             // virtual address
      .packet({0xb3}, 0x80000000000abc00, 8)                  // physical address, not secure
      .packet({0x43}, 0x0e, 1)                                // data source: memory
      .packet({0x71}, 99, 8);                                 // timestamp ends it
}

TEST(Spe, OneRecord) {
  SpeStream s;
  put_load(s.byte(0), 0xb400ffff80001240);
  auto batch = parse_spe(s.bytes, 0);
  EXPECT_EQ(batch.bad, 0u);
  ASSERT_EQ(batch.records.size(), 1u);
  const SpeRecord& one = batch.records[0];
  EXPECT_EQ(one.address, 0xffff80001240u);  // the tag is gone, and no more
  EXPECT_EQ(one.physical, 0xabc00u);
  EXPECT_EQ(one.context, 0x1234u);
  EXPECT_EQ(one.latency, 700u);
  EXPECT_EQ(one.time, 99u);
  EXPECT_TRUE(one.memory_op);
  EXPECT_FALSE(one.store);
  EXPECT_EQ(one.data_source, 0xe);
  EXPECT_EQ(source_of(one, true), Source::remote_memory);
  EXPECT_EQ(source_of(one, false), Source::remote_memory);
}

TEST(Spe, EndsAlignmentAndLongHeaders) {
  SpeStream s;
  s.packet({0x49}, 0x01, 1).packet({0x52}, 1 << 1 | 1 << 2, 2).packet({0x20, 0xb2}, 0x1000, 8).byte(0x01);
  s.byte(0x22).byte(0x00);                       // align to 8
  while (s.bytes.size() % 8 != 0) s.byte(0xff);  // must not be read
  put_load(s, 0x2000);
  auto batch = parse_spe(s.bytes, 0);
  EXPECT_EQ(batch.bad, 0u);
  ASSERT_EQ(batch.records.size(), 2u);
  EXPECT_TRUE(batch.records[0].store);
  EXPECT_EQ(batch.records[0].address, 0x1000u);
  EXPECT_EQ(source_of(batch.records[0], true), Source::cache);
  EXPECT_EQ(batch.records[1].address, 0x2000u);
}

TEST(Spe, ABadByteSpoilsOneRecord) {
  SpeStream s;
  put_load(s, 0x1000);
  s.byte(0xff);
  put_load(s, 0x2000);
  put_load(s, 0x3000);
  auto batch = parse_spe(s.bytes, 0);
  EXPECT_EQ(batch.bad, 1u);
  ASSERT_EQ(batch.records.size(), 2u);
  EXPECT_EQ(batch.records[1].address, 0x3000u);
}

TEST(Spe, CutAnywhereAndRandomBytesNeverHurt) {
  SpeStream s;
  for (int k = 0; k < 4; ++k) put_load(s, 0x1000);
  for (std::size_t size = 0; size <= s.bytes.size(); ++size)
    EXPECT_EQ(parse_spe(std::span(s.bytes).first(size), 0).records.size(), size / (s.bytes.size() / 4))
        << size;
  std::mt19937 random(99);
  std::size_t records = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(random() % 120);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random());
    auto batch = parse_spe(bytes, random());
    records += batch.records.size();
    EXPECT_LE(batch.records.size() + batch.bad, bytes.size());
  }
  EXPECT_GT(records, 0u);
}

}  // namespace
}  // namespace nigh::watch
