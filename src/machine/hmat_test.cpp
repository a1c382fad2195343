// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The HMAT parser on tables built byte by byte: units, revisions, preference among kinds of access, and every
// truncation and many mutations of a good table.
#include "machine/hmat.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "machine/load.hpp"

namespace nigh {
namespace {

void put(std::string& out, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

struct Locality {
  int data_type = 0;
  std::uint64_t base = 1;
  std::vector<std::uint32_t> initiators;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint16_t> entries;
  int flags = 0;
};

std::string structure(const Locality& l) {
  std::string body;
  put(body, 1, 2);
  put(body, 0, 2);
  put(body, 32 + 4 * (l.initiators.size() + l.targets.size()) + 2 * l.entries.size(), 4);
  put(body, static_cast<std::uint64_t>(l.flags), 1);
  put(body, static_cast<std::uint64_t>(l.data_type), 1);
  put(body, 0, 2);
  put(body, l.initiators.size(), 4);
  put(body, l.targets.size(), 4);
  put(body, 0, 4);
  put(body, l.base, 8);
  for (auto i : l.initiators) put(body, i, 4);
  for (auto t : l.targets) put(body, t, 4);
  for (auto e : l.entries) put(body, e, 2);
  return body;
}

std::string table(const std::string& structures, int revision = 2) {
  std::string out = "HMAT";
  put(out, 40 + structures.size(), 4);
  put(out, static_cast<std::uint64_t>(revision), 1);
  out += std::string(31, '\0');
  return out + structures;
}

double find(const std::vector<HmatEntry>& entries, std::uint32_t from, std::uint32_t to) {
  for (const auto& e : entries)
    if (e.initiator == from && e.target == to) return e.value;
  return 0;
}

const Locality latency{0, 1000, {0, 1}, {0, 1}, {80, 140, 150, 90}, 0};
const Locality bandwidth{3, 100, {0, 1}, {0, 1}, {200, 50, 0, 0xffff}, 0};

std::string memory_attributes() {  // type 0, to be skipped
  std::string out;
  put(out, 0, 2);
  put(out, 0, 2);
  put(out, 40, 4);
  return out + std::string(32, '\1');
}

TEST(Hmat, UnitsAndDirections) {
  auto h = parse_hmat(table(memory_attributes() + structure(latency) + structure(bandwidth)));
  ASSERT_TRUE(h) << h.error().message;
  EXPECT_DOUBLE_EQ(find(h->latency, 0, 1), 140);  // picoseconds to nanoseconds
  EXPECT_DOUBLE_EQ(find(h->latency, 1, 0), 150);
  EXPECT_DOUBLE_EQ(find(h->bandwidth, 0, 0), 20000);
  EXPECT_DOUBLE_EQ(find(h->bandwidth, 0, 1), 5000);
  EXPECT_EQ(h->bandwidth.size(), 2u);  // 0: not provided, 0xffff: unreachable
}

TEST(Hmat, RevisionOneCountsInTenths) {
  auto h = parse_hmat(table(structure({0, 10, {0}, {0}, {80}, 0}), 1));
  ASSERT_TRUE(h) << h.error().message;
  EXPECT_DOUBLE_EQ(find(h->latency, 0, 0), 80);
}

TEST(Hmat, AccessBeatsReadBeatsWriteAndCachesAreLeftOut) {
  std::string write = structure({5, 1, {0}, {0, 1}, {11, 12}, 0});
  std::string read = structure({4, 1, {0}, {0}, {21}, 0});
  std::string access = structure({3, 1, {2}, {0}, {31}, 0});
  std::string cache = structure({3, 1, {0}, {0, 1}, {91, 92}, 1});
  for (const auto& order : {write + read + access + cache, cache + access + read + write}) {
    auto h = parse_hmat(table(order));
    ASSERT_TRUE(h) << h.error().message;
    EXPECT_DOUBLE_EQ(find(h->bandwidth, 0, 0), 21);
    EXPECT_DOUBLE_EQ(find(h->bandwidth, 0, 1), 12);
    EXPECT_DOUBLE_EQ(find(h->bandwidth, 2, 0), 31);
  }
}

TEST(Hmat, DamageIsNamed) {
  auto message = [](const std::string& t) {
    auto h = parse_hmat(t);
    return h ? std::string("accepted") : h.error().message;
  };
  EXPECT_EQ(message("HMAT"), "the ACPI HMAT table is damaged: it is shorter than its header");
  EXPECT_EQ(message(std::string(40, 'x')), "the ACPI HMAT table is damaged: it does not begin with HMAT");
  std::string good = table(structure(latency));
  EXPECT_EQ(message(good.substr(0, good.size() - 1)),
            "the ACPI HMAT table is damaged: its length is given as 96 bytes, but there are 95");
  std::string zero = good;
  zero[44] = 0;
  EXPECT_EQ(message(zero), "the ACPI HMAT table is damaged: the structure at byte 40 has a wrong length");
  std::string wide = good;
  wide[40 + 12] = 100;
  EXPECT_EQ(
      message(wide),
      "the ACPI HMAT table is damaged: a locality structure is too short for 100 initiators and 2 targets");
  std::string huge = good;
  for (int i = 12; i < 20; ++i) huge[static_cast<std::size_t>(40 + i)] = '\xff';
  EXPECT_EQ(message(huge),
            "the ACPI HMAT table is damaged: a locality structure is too short for 4294967295 "
            "initiators and 4294967295 targets");
}

TEST(Hmat, TruncationsAndMutationsNeverReadOutside) {
  std::string good = table(memory_attributes() + structure(latency) + structure(bandwidth));
  for (std::size_t n = 0; n < good.size(); ++n) {
    std::string cut = good.substr(0, n);
    EXPECT_FALSE(parse_hmat(cut)) << n;
    if (n < 8) continue;
    cut[4] = static_cast<char>(n);  // a consistent length, so that the inside is cut
    cut.shrink_to_fit();
    (void)parse_hmat(cut);
  }
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int k = 0; k < 1 + round % 4; ++k)
      bad[40 + random() % (bad.size() - 40)] = static_cast<char>(random());
    accepted += parse_hmat(bad).has_value() ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
}

class HmatMachine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "nigh-hmat-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    std::filesystem::create_directories(root_ + "/sys/firmware/acpi/tables");
    machine_ = *load_hwloc_synthetic("pack:2 numa:1 core:2 pu:1");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void firmware(const std::string& table) {
    ASSERT_TRUE(sys::write_file(root_ + "/sys/firmware/acpi/tables/HMAT", table));
  }
  std::string root_;
  Machine machine_;
};

TEST_F(HmatMachine, FillsTheMatricesInBothDirections) {
  firmware(table(structure(latency) + structure(bandwidth)));
  add_hmat_links(machine_, sys::Os(root_));
  EXPECT_EQ(machine_.latency.value, (std::vector<double>{80, 140, 150, 90}));
  EXPECT_EQ(machine_.bandwidth.value, (std::vector<double>{20000, 5000, 0, 0}));
  EXPECT_EQ(machine_.bandwidth.source[1], Source::hmat);
  EXPECT_EQ(machine_.bandwidth.source[2], Source::unknown);
  EXPECT_TRUE(machine_.validate());
  EXPECT_TRUE(machine_.notes.empty());
}

TEST_F(HmatMachine, NoTableIsNoNews) {
  add_hmat_links(machine_, sys::Os(root_));
  EXPECT_TRUE(machine_.notes.empty());
  EXPECT_TRUE(machine_.bandwidth.empty());
}

TEST_F(HmatMachine, ADamagedOrForeignTableIsANote) {
  firmware("HMAT");
  add_hmat_links(machine_, sys::Os(root_));
  ASSERT_EQ(machine_.notes.size(), 1u);
  EXPECT_EQ(machine_.notes[0], "the ACPI HMAT table is damaged: it is shorter than its header");
  firmware(table(structure({3, 1, {0}, {9}, {31}, 0})));
  add_hmat_links(machine_, sys::Os(root_));
  ASSERT_EQ(machine_.notes.size(), 2u);
  EXPECT_EQ(machine_.notes[1],
            "the HMAT table names proximity domains that are no NUMA node here; it is left out");
  EXPECT_TRUE(machine_.bandwidth.empty());
}

}  // namespace
}  // namespace nigh
