// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Measurements survive: through JSON and the cache folder and back, into the matrices of a machine; and a
// file that is damaged, foreign or covers less is reported in one sentence and does no harm.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "machine/load.hpp"
#include "machine/probe.hpp"
#include "sys/os.hpp"

namespace nigh {
namespace {

Machine two_nodes() {
  MachineBuilder builder;
  for (int node = 0; node < 2; ++node) {
    builder.open(Kind::package, node);
    builder.open(Kind::numa, 2 * node, std::uint64_t{1} << 30);  // nodes 0 and 2
    builder.open(Kind::core, 0);
    builder.open(Kind::pu, node);
    for (int i = 0; i < 4; ++i) builder.close();
  }
  return builder.finish().value();
}

probe::Figure figure(double v) { return probe::summarize({v * 0.9, v, v, v, v * 1.1}); }

Probe made() {
  Probe p;
  p.date = "2026-01-02T03:04:05Z";
  p.kernel = "6.1";
  p.vectors = "256-bit";
  p.quick = true;
  p.seconds = 12.5;
  p.pus = CpuSet{0, 1};
  p.nodes = {{0, CpuSet{0}, 1 << 20, 4 << 20, 4 << 20, 2 << 20, 8 << 20},
             {2, CpuSet{1}, 1 << 20, 0, 0, 0, 0}};
  p.bandwidth = {{0, 2, 1, probe::Mix::read, figure(5000)}, {2, 0, 1, probe::Mix::one_to_one, figure(7000)}};
  p.latency = {{0, 2, 0, figure(140), {}}, {0, 0, 1, figure(300), figure(9000)}};
  p.scaling = {{0, 0, 1, {{1, figure(10000)}}}};
  p.together = {{"all", {{0, 2, 1, probe::Mix::read, figure(4000)}}, figure(4000)}};
  p.sizes = {{16384, "L1", figure(1), figure(90000)}};
  p.core_pairs = {{0, 1, figure(55)}};
  p.contradictions = {"0->2 is nearer"};
  p.notes = {"a note with \"quotes\""};
  return p;
}

// A cache folder of the test's own, under the real variable.
struct Cache : ::testing::Test {
  std::string path;
  Machine machine = two_nodes();
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "nigh-cache-XXXXXX").string();
    path = ::mkdtemp(name.data());
    ::setenv("XDG_CACHE_HOME", path.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(path);
  }
  // The result that run_probe would leave: of this topology, this CPU.
  [[nodiscard]] Probe ours() const {
    Probe p = made();
    p.topology = topology_hash(machine);
    sys::Os os;
    std::string info = os.read("/proc/cpuinfo").value();
    std::size_t at = info.find("model name");
    if (at != std::string::npos) {
      at = info.find(": ", at) + 2;
      p.cpu = info.substr(at, info.find('\n', at) - at);
    }
    return p;
  }
};

TEST(ProbeJson, ComesBackTheSame) {
  std::string text = probe_to_json(made());
  auto back = probe_from_json(text, "here");
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(probe_to_json(*back), text);
  EXPECT_EQ(back->find(0, 2, probe::Mix::read)->mb_per_s.median, 5000);
  EXPECT_EQ(back->find_latency(0, 0, true)->stream_mb_per_s.high, 9900);
  EXPECT_EQ(back->find_latency(0, 0, false), nullptr);
}

TEST(ProbeJson, EveryDamageIsOneSentence) {
  std::string text = probe_to_json(made());
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 7) {
    auto half = probe_from_json(text.substr(0, cut), "FILE");
    ASSERT_FALSE(half.has_value()) << cut;
    EXPECT_EQ(half.error().message.rfind("FILE ", 0), 0U);
    EXPECT_EQ(half.error().message.find('\n'), std::string::npos);
  }
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return probe_from_json(other, "FILE");
  };
  EXPECT_FALSE(changed("\"version\": 1", "\"version\": 2").has_value());
  EXPECT_FALSE(changed("nigh-probe", "nigh-machine").has_value());
  EXPECT_FALSE(changed("\"median\": 5000.0", "\"median\": \"fast\"").has_value());
  EXPECT_FALSE(changed("\"median\": 5000.0", "\"median\": 1.0").has_value()) << "a median outside its range";
  EXPECT_FALSE(changed("\"mix\": \"read\"", "\"mix\": \"3:1\"").has_value());
  EXPECT_FALSE(changed("\"nodes\"", "\"knots\"").has_value());
}

TEST_F(Cache, StoredProbesAreFoundAndApplied) {
  EXPECT_EQ(load_probe(machine).error().sys_errno, ENOENT);
  apply_stored_probe(machine);
  EXPECT_TRUE(machine.notes.empty()) << "nothing stored is nothing to talk about";
  ASSERT_TRUE(store_probe(machine, ours()));
  EXPECT_TRUE(std::filesystem::exists(path + "/nigh/probe-" + topology_hash(machine) + ".json"));
  apply_stored_probe(machine);
  ASSERT_EQ(machine.bandwidth.value.size(), 4U);
  EXPECT_EQ(machine.bandwidth.value[1], 5000);
  EXPECT_EQ(machine.bandwidth.source[1], Source::measured);
  EXPECT_EQ(machine.bandwidth.source[2], Source::unknown) << "a 1:1 mix is not a read bandwidth";
  EXPECT_EQ(machine.latency.value[1], 140);
  EXPECT_EQ(machine.latency.source[0], Source::unknown) << "a loaded latency is not an idle one";
  ASSERT_EQ(machine.notes.size(), 1U);
  EXPECT_NE(machine.notes[0].find("2026-01-02"), std::string::npos);
  EXPECT_TRUE(machine.validate());
}

TEST_F(Cache, MeasuredEntriesLeaveTheOthersAsTheyWere) {
  machine.latency = {{80, 120, 130, 90}, std::vector<Source>(4, Source::hmat)};
  apply_probe(machine, made());
  EXPECT_EQ(machine.latency.value, (std::vector<double>{80, 140, 130, 90}));
  EXPECT_EQ(machine.latency.source[0], Source::hmat);
  EXPECT_EQ(machine.latency.source[1], Source::measured);
}

TEST_F(Cache, DamagedAndForeignFilesAreIgnoredWithANote) {
  auto spoil = [&](const Probe& p, const std::string& tail) {
    std::filesystem::create_directories(path + "/nigh");
    ASSERT_TRUE(sys::write_file(probe_path(machine).value(), probe_to_json(p) + tail));
    Machine fresh = two_nodes();
    apply_stored_probe(fresh);
    EXPECT_TRUE(fresh.bandwidth.empty());
    ASSERT_EQ(fresh.notes.size(), 1U);
    EXPECT_NE(fresh.notes[0].find("ignored"), std::string::npos) << fresh.notes[0];
  };
  spoil(ours(), "}");
  Probe other = ours();
  other.topology = "0123456789abcdef";
  spoil(other, "");
  other = ours();
  other.cpu = "A CPU of another maker";
  spoil(other, "");
  other = ours();
  other.nodes[1].node = 7;
  spoil(other, "");
}

TEST_F(Cache, LessNeverReplacesMore) {
  ASSERT_TRUE(store_probe(machine, ours()));
  Probe less = ours();
  less.pus = CpuSet{0};
  auto stored = store_probe(machine, less);
  ASSERT_FALSE(stored.has_value());
  EXPECT_NE(stored.error().message.find("covers more"), std::string::npos);
  EXPECT_EQ(load_probe(machine)->pus, (CpuSet{0, 1}));
  Probe newer = ours();
  newer.date = "2027-01-01T00:00:00Z";
  ASSERT_TRUE(store_probe(machine, newer));
  EXPECT_EQ(load_probe(machine)->date, newer.date);
}

TEST_F(Cache, TheFolderFollowsTheEnvironment) {
  EXPECT_EQ(probe_path(machine)->rfind(path + "/nigh/probe-", 0), 0U);
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  const char* home = std::getenv("HOME");
  std::string saved = home != nullptr ? home : "";
  ::setenv("HOME", "/nowhere", 1);
  EXPECT_EQ(probe_path(machine)->rfind("/nowhere/.cache/nigh/", 0), 0U);
  ::unsetenv("HOME");
  EXPECT_FALSE(probe_path(machine).has_value());
  if (home != nullptr) ::setenv("HOME", saved.c_str(), 1);
}

TEST(ProbeDraw, ShowsFiguresWithTheirRange) {
  std::string text = draw_probe(made(), 100);
  EXPECT_NE(text.find("5000 [4500..5500]"), std::string::npos) << text;
  EXPECT_NE(text.find("0->2 is nearer"), std::string::npos);
  EXPECT_NE(text.find("16 KiB"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace nigh
