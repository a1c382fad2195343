// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Recorded machines: each NAME.xml or NAME.json in this folder must read as NAME.expected says (summary,
// tree, links and JSON). The first line of that file says what is odd about the machine, that is, why it is
// recorded. NIGH_UPDATE=1 in the environment rewrites the expectations; look at the difference before
// committing it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "machine/draw.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"

namespace nigh {
namespace {

const std::string folder = NIGH_SOURCE_DIR "/tests/machines/";

std::vector<std::string> recorded() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto extension = entry.path().extension();
    if (extension == ".xml" || extension == ".json") out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The visible part of a machine; the folder's own path must not be in it.
std::string seen(const Machine& machine) {
  std::string out = machine.summary() + "\n\n" + draw_text(machine);
  for (const std::string& part : {draw_matrices(machine), draw_devices(machine)})
    if (!part.empty()) out += '\n' + part;
  out += '\n';
  for (const auto& note : machine.notes) out += "note: " + note + '\n';
  return out + machine_to_json(machine);
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, ReadsAsExpected) {
  std::string path = folder + GetParam();
  std::string expected_path = std::filesystem::path(path).replace_extension(".expected").string();
  auto expected = sys::read_file(expected_path);
  ASSERT_TRUE(expected) << expected.error().message
                        << "; write one line there that says why the machine is odd, "
                        << "then run this test with NIGH_UPDATE=1";
  std::string why = expected->substr(0, expected->find('\n'));
  ASSERT_GT(why.size(), 20u) << expected_path << " must begin with a line that says why the machine is odd";
  auto machine = load_machine(path);
  ASSERT_TRUE(machine) << machine.error().message;
  std::string text = why + "\n\n" + seen(*machine);
  const char* update = std::getenv("NIGH_UPDATE");
  if (update != nullptr && std::string(update) == "1") {
    ASSERT_TRUE(sys::write_file(expected_path, text));
    return;
  }
  EXPECT_EQ(text, *expected) << expected_path << ": NIGH_UPDATE=1 rewrites it";
}

TEST_P(Recorded, SurvivesOurJson) {
  auto machine = load_machine(folder + GetParam());
  ASSERT_TRUE(machine) << machine.error().message;
  std::string json = machine_to_json(*machine);
  auto again = machine_from_json(json, GetParam());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(machine_to_json(*again), json);
  EXPECT_EQ(topology_hash(*again), topology_hash(*machine));
}

INSTANTIATE_TEST_SUITE_P(Machines, Recorded, testing::ValuesIn(recorded()), [](const auto& param) {
  std::string name;
  for (char c : param.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST(RecordedMachines, NoExpectationWithoutItsMachine) {
  auto machines = recorded();
  EXPECT_GE(machines.size(), 11u);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".expected") continue;
    std::string stem = entry.path().stem().string();
    bool found = std::any_of(machines.begin(), machines.end(),
                             [&](const std::string& m) { return m == stem + ".xml" || m == stem + ".json"; });
    EXPECT_TRUE(found) << entry.path();
  }
}

}  // namespace
}  // namespace nigh
