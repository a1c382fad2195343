// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The hwloc reader: this computer without a trace on the caller, synthetic strings, and what unreadable input
// gets. Odd machines are in tests/machines.
#include <gtest/gtest.h>
#include <hwloc.h>

#include <unistd.h>

#include <cstdio>
#include <random>

#include "machine/hwloc_tree.hpp"
#include "machine/load.hpp"
#include "sys/start.hpp"

// hwloc 2.9 itself leaks a little when an XML file breaks off in the middle; what is
// allocated outside hwloc is still watched.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc.so"; }

namespace nigh {
namespace {

TEST(Hwloc, ThisMachineIsReadWithoutMovingTheCaller) {
  auto before = sys::affinity();
  ASSERT_TRUE(before) << before.error().message;
  CpuSet one{before->first()};
  ASSERT_TRUE(sys::set_affinity(one));  // a mask that a rebinding reader would have to leave
  auto m = load_this_machine();
  auto after = sys::affinity();
  ASSERT_TRUE(sys::set_affinity(*before));
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(after->to_list(), one.to_list());
  EXPECT_TRUE(m->pus().contains(*before));  // more than the mask: plans apply it
  EXPECT_TRUE(m->validate());
  EXPECT_GE(m->node_count(), 1u);
  EXPECT_FALSE(m->name.empty());
  EXPECT_EQ(m->pus().to_list(),
            CpuSet::parse(*sys::Os().read_line("/sys/devices/system/cpu/online"))->to_list());
}

TEST(Hwloc, TheSameMachineTwiceHasTheSameHash) {
  auto a = load_this_machine();
  auto b = load_this_machine();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(topology_hash(*a), topology_hash(*b));
}

std::string shape(const Machine& m, int i = 0) {
  const auto& o = m.objects[static_cast<std::size_t>(i)];
  std::string out = kind_name(o.kind);
  for (std::size_t k = 0; k < o.children.size(); ++k) out += (k == 0 ? "(" : " ") + shape(m, o.children[k]);
  return out + (o.children.empty() ? "" : ")");
}

TEST(Hwloc, ANodeIsALevelWhereItsCpusAre) {
  const std::pair<const char*, const char*> cases[] = {
      {"numa:1 pack:2 core:1 pu:1", "machine(numa(package(core(pu)) package(core(pu))))"},
      {"pack:1 numa:2 core:1 pu:1", "machine(package(numa(core(pu)) numa(core(pu))))"},
      {"pack:1 l3:2 numa:1 core:1 pu:1", "machine(package(numa(l3(core(pu))) numa(l3(core(pu)))))"},
      {"pack:1 l3:1 numa:2 core:1 pu:1", "machine(package(l3(numa(core(pu)) numa(core(pu)))))"},
      {"pack:1 die:2 numa:1 l2:1 core:1 pu:2",
       "machine(package(die(numa(l2(core(pu pu)))) die(numa(l2(core(pu pu))))))"},
      {"pack:2 [numa] [numa] core:1 pu:1",
       "machine(package(numa(core(pu)) numa) package(numa(core(pu)) numa))"},
      {"group:2 pack:2 numa:1 pu:1",
       "machine(board(package(numa(core(pu))) package(numa(core(pu)))) "
       "board(package(numa(core(pu))) package(numa(core(pu)))))"},
      {"pack:1 numa:1 group:2 core:2 pu:1",
       "machine(package(numa(group(core(pu) core(pu)) group(core(pu) core(pu)))))"},
      {"pu:2", "machine(numa(core(pu) core(pu)))"},
  };
  for (const auto& [description, expected] : cases) {
    auto m = load_hwloc_synthetic(description);
    ASSERT_TRUE(m) << m.error().message;
    EXPECT_EQ(shape(*m), expected) << description;
  }
}

TEST(Hwloc, PusWithoutACoreAreSaidToBe) {
  auto m = load_hwloc_synthetic("pack:1 numa:1 pu:2");
  ASSERT_TRUE(m) << m.error().message;
  ASSERT_EQ(m->notes.size(), 1u);
  EXPECT_EQ(m->notes[0], "the machine does not say which PUs share a core; each counts as one");
}

TEST(Hwloc, LatencyFromSlitNeedsALocalFigure) {
  auto m = load_hwloc_synthetic("pack:2 numa:1 core:1 pu:1");
  ASSERT_TRUE(m);
  m->slit = {10, 21, 17, 10};
  add_latencies_from_slit(*m);
  EXPECT_TRUE(m->latency.empty());
  m->latency = {{80, 0, 0, 0}, {Source::hmat, Source::unknown, Source::unknown, Source::unknown}};
  add_latencies_from_slit(*m);
  EXPECT_EQ(m->latency.value, (std::vector<double>{80, 168, 0, 0}));
  EXPECT_EQ(m->latency.source[1], Source::slit);
  EXPECT_TRUE(m->validate());
}

TEST(Hwloc, UnreadableInputGetsASentence) {
  auto bad = load_hwloc_synthetic("pack:four");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "the synthetic description 'pack:four' is not one that hwloc can read");
  EXPECT_FALSE(load_hwloc_synthetic(""));
  auto missing = load_hwloc_xml("/nowhere/machine.xml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "can't open /nowhere/machine.xml: No such file or directory");
  EXPECT_EQ(missing.error().code, Errc::io);
}

TEST(Hwloc, TruncatedXmlGetsASentence) {
  auto good = sys::read_file(NIGH_SOURCE_DIR "/tests/machines/cxl-memory-only.xml");
  ASSERT_TRUE(good) << good.error().message;
  std::string path = testing::TempDir() + "nigh-truncated-" + std::to_string(::getpid()) + ".xml";
  for (std::size_t n = 0; n + 20 < good->size(); n += good->size() / 40) {
    ASSERT_TRUE(sys::write_file(path, good->substr(0, n)));
    auto m = load_hwloc_xml(path);
    ASSERT_FALSE(m) << n;
    EXPECT_NE(m.error().message.find(path), std::string::npos);
  }
  std::remove(path.c_str());
}

TEST(LoadMachine, SaysWhatWasTried) {
  auto m = load_machine("nope");
  ASSERT_FALSE(m);
  EXPECT_EQ(
      m.error().message,
      "no machine 'nope': it is neither 'this', nor synthetic:DESCRIPTION, nor a .json or .xml file, nor a "
      "model (barcelona, cray-xt5, nehalem-hp, nehalem-sun, opteron-6272, scalemp, scalemp-bielefeld, "
      "tigerton, winterhawk2, xeon-6980p-snc3)");
  EXPECT_EQ(load_machine("synthetic:pack:2 core:2 pu:1")->summary(),
            "2 packages, 1 NUMA node, 4 cores, 4 PUs, 1 GiB");
  EXPECT_EQ(load_machine("tigerton")->name, "tigerton");
  EXPECT_EQ(topology_hash(*load_machine("")), topology_hash(*load_machine("this")));
  EXPECT_FALSE(load_model("nope"));
}

// hwloc itself crashes on some damaged files, and takes hours for long descriptions.
TEST(Hwloc, HugeDescriptionsAreRefusedAtOnce) {
  for (const char* text :
       {"2147483647", "pu:2147483647", "pack:65536 core:65536", "99999999999999999999",
        "pack:2 numa:2 l3:100 core:100 pu:100", "16385", "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2"}) {
    auto machine = load_hwloc_synthetic(text);
    ASSERT_FALSE(machine) << text;
    EXPECT_NE(machine.error().message.find("more than 16384 PUs"), std::string::npos)
        << machine.error().message;
  }
  EXPECT_EQ(
      load_hwloc_synthetic("pack:2 [numa(memory=2147483648)] l3:2(size=33554432) core:2 pu:2")->pus().count(),
      16);
}

TEST(Hwloc, XmlOfALaterHwlocIsNamed) {
  const std::string path = testing::TempDir() + std::to_string(sys::own_pid()) + "-later.xml";
  ASSERT_TRUE(sys::write_file(path, "<?xml version=\"1.0\"?>\n<topology version=\"47.1\">\n</topology>\n"));
  auto machine = load_hwloc_xml(path);
  ASSERT_FALSE(machine);
  EXPECT_NE(
      machine.error().message.find(
          "is in the format of hwloc 47.1, and the hwloc that nigh is linked with reads no later one than"),
      std::string::npos)
      << machine.error().message;
  EXPECT_NE(machine.error().message.find("--export-xml-flags v"), std::string::npos);
  std::remove(path.c_str());
}

// Each byte of a machine in turn, and pieces of it gone: a machine or a sentence, and this process lives.
TEST(Hwloc, DamagedXmlIsAMachineOrASentence) {
  auto whole = sys::read_file(NIGH_SOURCE_DIR "/tests/machines/cxl-memory-only.xml");
  ASSERT_TRUE(whole) << whole.error().message;
  const std::string path = testing::TempDir() + std::to_string(sys::own_pid()) + "-damaged.xml";
  std::mt19937 random(20261125);
  for (int round = 0; round < 150; ++round) {
    std::string text = *whole;
    const std::size_t at = random() % text.size(), bytes = random() % 60;
    if (round % 3 == 0) {
      text.erase(at, bytes);
    } else if (round % 3 == 1) {
      text.insert(at, text.substr(random() % text.size(), bytes));
    } else {
      text[at] = static_cast<char>(random());
    }
    ASSERT_TRUE(sys::write_file(path, text));
    auto machine = load_hwloc_xml(path);
    EXPECT_TRUE(machine || machine.error().message.size() > 20);
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace nigh
