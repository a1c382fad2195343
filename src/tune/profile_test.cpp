// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/profile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "sys/os.hpp"

namespace nigh::tune {
namespace {

class TuneProfile : public ::testing::Test {
 protected:
  TuneProfile() {
    char name[] = "/tmp/nigh-profile-XXXXXX";
    if (const char* made = mkdtemp(name)) folder_ = made;
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  ~TuneProfile() override {
    unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder_);
  }
  static Profile made() {
    Profile out;
    out.command = {"mpirun", "-n", "{ranks}", "./app", "a b"};
    out.topology = "t";
    out.cpu = "c";
    out.date = "2026-11-27 10:00 UTC";
    out.choice.options = {"--teams", "4,compact"};
    out.choice.ranks = 4;
    out.choice.threads = 2;
    out.gain = {0.9, 0.88, 0.93, true};
    out.pairs = 9;
    return out;
  }
  std::string folder_;
};

TEST_F(TuneProfile, ComesBackAsItWas) {
  const Profile profile = made();
  ASSERT_TRUE(store_profile(profile));
  auto got = load_profile(profile.command);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->command, profile.command);
  EXPECT_TRUE(got->choice == profile.choice);
  EXPECT_EQ(got->pairs, 9U);
  EXPECT_DOUBLE_EQ(got->gain.high, 0.93);
  ASSERT_TRUE(remove_profile(profile.command));
  EXPECT_EQ(load_profile(profile.command).error().sys_errno, ENOENT);
  EXPECT_TRUE(remove_profile(profile.command));
}

TEST_F(TuneProfile, OtherWordsHaveAnother) {
  EXPECT_NE(*profile_path({"./app", "a", "b"}), *profile_path({"./app", "a b"}));
  EXPECT_NE(*profile_path({"./app"}), *profile_path({"./app", ""}));
}

TEST_F(TuneProfile, OtherProgramsOfTheSameNameHaveAnother) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::vector<std::string> paths;
  for (const char* folder : {"one", "two"}) {
    std::filesystem::create_directories(folder_ + "/" + folder);
    std::filesystem::copy_file("/bin/true", folder_ + "/" + folder + "/app");
    std::filesystem::current_path(folder_ + "/" + folder);
    paths.push_back(*profile_path({"./app", "input"}));
  }
  std::filesystem::current_path(before);
  EXPECT_NE(paths[0], paths[1]);
}

TEST_F(TuneProfile, DamagedFilesAreToldAndIgnored) {
  const Profile profile = made();
  ASSERT_TRUE(store_profile(profile));
  const std::string path = *profile_path(profile.command), whole = profile_to_json(profile);
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(), whole.substr(0, whole.size() / 2),
        std::string(R"({"format":"nigh-profile","version":1})"),
        std::string(R"({"format":"nigh-profile","version":2})")}) {
    ASSERT_TRUE(sys::write_file(path, text));
    EXPECT_EQ(load_profile(profile.command).error().code, Errc::invalid) << text;
  }
  ASSERT_TRUE(sys::write_file(path, profile_to_json([] {
                                Profile out = made();
                                out.command = {"other"};
                                return out;
                              }())));
  EXPECT_NE(load_profile(profile.command).error().message.find("another command"), std::string::npos);
}

TEST_F(TuneProfile, NoHomeIsNoProfile) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  unsetenv("XDG_CONFIG_HOME");
  unsetenv("HOME");
  EXPECT_EQ(load_profile({"./app"}).error().sys_errno, ENOENT);
  EXPECT_FALSE(store_profile(made()));
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace nigh::tune
