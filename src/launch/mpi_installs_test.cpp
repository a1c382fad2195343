// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Installations as folders that a test makes: launchers are scripts, libraries empty files.
#include "launch/mpi_installs.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nigh::launch {
namespace {

namespace fs = std::filesystem;

class MpiInstalls : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "nigh-installs-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, bool program) const {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << (program ? "#!/bin/sh\n" : "");
    if (program) fs::permissions(file, fs::perms::owner_all);
  }
  // "openmpi open/bin/mpiexec libmpi.so.40", a line each
  [[nodiscard]] std::string found(const std::vector<std::string>& folders) const {
    std::vector<std::string> paths;
    for (const std::string& folder : folders) paths.push_back((root_ / folder).string());
    std::string out;
    for (const MpiInstall& one : find_mpi(paths))
      out += one.kind + " " + fs::path(one.launcher).lexically_relative(root_).string() + " " +
             (fs::path(one.folder) / one.file).lexically_relative(root_).string() + "\n";
    return out;
  }
  fs::path root_;
};

TEST_F(MpiInstalls, ALauncherHasItsLibraryBesideIt) {
  for (const char* program : {"open/bin/mpirun", "open/bin/mpiexec", "open/bin/ompi_info"})
    put(program, true);
  put("open/lib64/libmpi.so.40", false);
  for (const char* program : {"mpich/bin/mpiexec.hydra", "mpich/bin/hydra_pmi_proxy"}) put(program, true);
  fs::create_symlink("mpiexec.hydra", root_ / "mpich/bin/mpiexec");
  put("mpich/lib/debug/libmpi.so.12", false);
  put("mpich/lib/debug_mt/libmpi.so.12", false);
  put("mpich/lib/release/libmpi.so.12", false);
  put("mpich/lib/release/libmpi_abi.so.1", false);
  EXPECT_EQ(found({"mpich/bin", "open/bin"}),
            "mpich mpich/bin/mpiexec mpich/lib/release/libmpi.so.12\n"
            "mpich mpich/bin/mpiexec mpich/lib/release/libmpi_abi.so.1\n"
            "openmpi open/bin/mpiexec open/lib64/libmpi.so.40\n");
}

TEST_F(MpiInstalls, TwoLibrariesInOneFolderAreToldApartByTheirLaunchers) {
  for (const char* program :
       {"usr/bin/orterun", "usr/bin/mpiexec.hydra", "usr/bin/ompi_info", "usr/bin/mpichversion"})
    put(program, true);
  for (const char* name : {"mpiexec", "mpirun", "mpirun.openmpi"})
    fs::create_symlink("orterun", root_ / "usr/bin" / name);
  fs::create_symlink("mpiexec.hydra", root_ / "usr/bin/mpirun.mpich");
  put("usr/lib/some-gnu/libmpi.so.40", false);
  put("usr/lib/some-gnu/libmpich.so.12", false);
  EXPECT_EQ(found({"usr/bin"}),
            "openmpi usr/bin/mpiexec usr/lib/some-gnu/libmpi.so.40\n"
            "mpich usr/bin/mpiexec.hydra usr/lib/some-gnu/libmpich.so.12\n");
}

TEST_F(MpiInstalls, ALibraryIsThereOnceHoweverManyFoldersNameIt) {
  put("open/bin/mpirun", true);
  put("open/bin/ompi_info", true);
  put("open/lib/libmpi.so.40", false);
  fs::create_directory_symlink("open", root_ / "current");
  EXPECT_EQ(found({"current/bin", "open/bin", "none/bin"}),
            "openmpi current/bin/mpirun open/lib/libmpi.so.40\n");
}

TEST_F(MpiInstalls, WhatIsNoInstallationIsLeftOut) {
  put("script/bin/mpirun", true);  // of an unknown kind
  put("script/lib/libmpi.so.40", false);
  put("bare/bin/mpirun.openmpi", true);  // without a library
  put("file/bin/mpirun", false);         // no program
  put("file/bin/ompi_info", true);
  put("file/lib/libmpi.so.40", false);
  EXPECT_EQ(found({"script/bin", "bare/bin", "file/bin"}), "");
  EXPECT_FALSE(mpi_of_launcher((root_ / "bare/bin/mpirun.openmpi").string()));
  EXPECT_FALSE(mpi_of_launcher(""));
}

TEST(MpiNames, FollowWhatTheLibrarySays) {
  EXPECT_EQ(name_of_version("Open MPI v5.0.11, package: Open MPI, ident: 5.0.11"), "openmpi-5.0.11");
  EXPECT_EQ(name_of_version("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr"), "mpich-4.0.2");
  EXPECT_EQ(name_of_version("MPICH Version:      5.0.2\nMPICH ABI:  17:2:5"), "mpich-5.0.2");
  EXPECT_EQ(name_of_version("Intel(R) MPI Library 2021.18 for Linux* OS\n"), "intel-2021.18");
  EXPECT_EQ(name_of_version("MVAPICH Version:\t4.0\nMVAPICH Release date"), "mvapich-4.0");
  EXPECT_EQ(name_of_version("MPI VERSION    : CRAY MPICH version 8.1.29.10 (ANL base 3.4a2)"),
            "cray-mpich-8.1.29.10");
  EXPECT_EQ(name_of_version("MPICH Version of its own"), "mpich");
  EXPECT_EQ(name_of_version("some other library 3.1"), "");
}

TEST(MpiEnvironment, NamesAFolderThatTheLoaderDoesNotKnow) {
  MpiInstall one{"mpich-5", "mpich", "/x/bin/mpiexec", "/x/lib", "libmpi.so.12"};
  EXPECT_TRUE(mpi_environment(one).at("LD_LIBRARY_PATH").starts_with("/x/lib"));
  unsetenv("LD_LIBRARY_PATH");
  one.folder = "/usr/lib/x86_64-linux-gnu";
  EXPECT_TRUE(mpi_environment(one).empty());
  setenv("LD_LIBRARY_PATH", "/of/another", 1);
  EXPECT_EQ(mpi_environment(one).at("LD_LIBRARY_PATH"), "/usr/lib/x86_64-linux-gnu:/of/another");
  unsetenv("LD_LIBRARY_PATH");
  one.folder.clear();
  EXPECT_TRUE(mpi_environment(one).empty());
  one.kind = "openmpi";
  EXPECT_EQ(mpi_environment(one).count("OMPI_ALLOW_RUN_AS_ROOT"), 1U);
}

}  // namespace
}  // namespace nigh::launch
