// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The environment that launchers leave, read back: ranks, sizes, and the key that only one job works out.
#include "space/job.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <string>

namespace nigh::space {
namespace {

using Names = std::map<std::string, std::string>;

const char* look_up(const char* name, void* context) {
  const auto& names = *static_cast<Names*>(context);
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second.c_str();
}

// "rank/size", or "" when nothing is understood.
std::string seat(Names names) {
  Job job;
  if (!find_seat(look_up, &names, job)) return "";
  return std::to_string(job.rank) + "/" + std::to_string(job.size);
}

struct Key {
  std::string source;
  std::array<unsigned char, 16> bytes{};
};
Key key(Names names) {
  Job job;
  const char* source = nullptr;
  Key out;
  if (!find_key(look_up, &names, job, &source)) return out;
  out.source = source;
  std::memcpy(out.bytes.data(), job.key, sizeof job.key);
  return out;
}

TEST(Seat, OfEachLauncher) {
  EXPECT_EQ(seat({{"NIGH_RANK", "3"}, {"NIGH_SIZE", "4"}}), "3/4");
  EXPECT_EQ(seat({{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), "0/2");
  EXPECT_EQ(seat({{"MPI_LOCALRANKID", "5"}, {"MPI_LOCALNRANKS", "8"}}), "5/8");
  EXPECT_EQ(seat({{"PALS_LOCAL_RANKID", "1"}, {"PALS_LOCAL_SIZE", "2"}}), "1/2");
  EXPECT_EQ(seat({{"SLURM_LOCALID", "2"}, {"SLURM_NODEID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}}),
            "2/4");
  EXPECT_EQ(seat({{"SLURM_LOCALID", "2"}, {"SLURM_NODEID", "2"}, {"SLURM_TASKS_PER_NODE", "4(x2),3"}}),
            "2/3");
  EXPECT_EQ(seat({{"SLURM_LOCALID", "2"}, {"SLURM_NTASKS_PER_NODE", "6"}}), "2/6");
}

TEST(Seat, InnermostLauncherIsBelieved) {
  const Names slurm = {{"SLURM_LOCALID", "0"}, {"SLURM_NTASKS_PER_NODE", "1"}};
  Names mpirun = slurm;
  mpirun.insert({{"OMPI_COMM_WORLD_LOCAL_RANK", "7"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}});
  EXPECT_EQ(seat(mpirun), "7/8");
  Names ours = slurm;
  ours.insert({{"NIGH_RANK", "1"}, {"NIGH_SIZE", "2"}});
  EXPECT_EQ(seat(ours), "1/2");
}

TEST(Seat, NonsenseIsNoSeat) {
  for (const char* rank : {"", "x", "-1", "2", "2x", "99999999999999999999"})
    EXPECT_EQ(seat({{"NIGH_RANK", rank}, {"NIGH_SIZE", "2"}}), "") << rank;
  EXPECT_EQ(seat({{"NIGH_RANK", "0"}}), "");
  EXPECT_EQ(seat({{"NIGH_RANK", "0"}, {"NIGH_SIZE", "0"}}), "");
  EXPECT_EQ(seat({{"SLURM_LOCALID", "0"}}), "");
  EXPECT_EQ(seat({{"SLURM_LOCALID", "4"}, {"SLURM_NODEID", "0"}, {"SLURM_TASKS_PER_NODE", "4"}}), "");
  EXPECT_EQ(seat({}), "");
}

TEST(Seat, ForeignVariablesAreThoseThatAreRead) {
  // The variables of any launcher can be removed, and then nothing of another launcher is left.
  Names all = {{"OMPI_COMM_WORLD_LOCAL_RANK", "7"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"},
               {"MPI_LOCALRANKID", "5"},
               {"MPI_LOCALNRANKS", "8"},
               {"PALS_LOCAL_RANKID", "1"},
               {"PALS_LOCAL_SIZE", "2"},
               {"SLURM_LOCALID", "0"},
               {"SLURM_NTASKS_PER_NODE", "4"}};
  for (const sys::LauncherVariables& one : sys::launcher_variables)
    for (const char* name : {one.local_rank, one.local_size})
      if (name != nullptr) all.erase(name);
  EXPECT_EQ(seat(all), "");
}

TEST(Seat, OneRankSpeaksForTheNode) {
  // Each launcher's first rank, and no other; who is no rank speaks for itself.
  for (const sys::LauncherVariables& one : sys::launcher_variables)
    for (const char* rank : {"0", "1"}) {
      Names names = {{one.local_rank, rank}};
      EXPECT_EQ(sys::speaks_for_node(look_up, &names), *rank == '0') << one.name;
    }
  Names none;
  EXPECT_TRUE(sys::speaks_for_node(look_up, &none));
}

TEST(Slurm, ListOfNumbers) {
  EXPECT_EQ(sys::slurm_entry("4(x2),3", 0), 4);
  EXPECT_EQ(sys::slurm_entry("4(x2),3", 1), 4);
  EXPECT_EQ(sys::slurm_entry("4(x2),3", 2), 3);
  EXPECT_EQ(sys::slurm_entry("4(x2),3", 3), 0);
  for (const char* bad : {"", "x", "0", "-3", "4(x", "4(x0)", "4(x2", "4;3"})
    EXPECT_EQ(sys::slurm_entry(bad, 1), 0) << bad;
}

TEST(Key, IsTheSecretOfOurLauncher) {
  const Names names = {
      {"NIGH_RANK", "0"}, {"NIGH_SIZE", "2"}, {"NIGH_JOB", "00112233445566778899aabbccddeeff"}};
  const Key ours = key(names);
  EXPECT_EQ(ours.source, "nigh");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(ours.bytes[static_cast<std::size_t>(i)], i * 0x11);
  Names damaged = names;
  damaged["NIGH_JOB"] = "0011";
  EXPECT_EQ(key(damaged).source, "");  // not a key of another kind instead
  Names nested = names;                // a rank of ours that ran mpirun: its ranks are mpirun's
  nested.insert({{"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                 {"PMIX_NAMESPACE", "prterun-1@1"}});
  EXPECT_EQ(key(nested).source, "pmix");
}

TEST(Key, OfOtherLaunchersTellsJobsApart) {
  const Key pmix = key({{"PMIX_NAMESPACE", "job1"}, {"PMIX_SERVER_URI4", "tcp://a"}});
  EXPECT_EQ(pmix.source, "pmix");
  EXPECT_EQ(pmix.bytes, key({{"PMIX_NAMESPACE", "job1"}, {"PMIX_SERVER_URI4", "tcp://a"}}).bytes);
  EXPECT_NE(pmix.bytes, key({{"PMIX_NAMESPACE", "job2"}, {"PMIX_SERVER_URI4", "tcp://a"}}).bytes);
  EXPECT_NE(pmix.bytes, key({{"PMIX_NAMESPACE", "job1"}, {"PMIX_SERVER_URI4", "tcp://b"}}).bytes);
  const Key slurm = key({{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}, {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(slurm.source, "slurm");
  EXPECT_EQ(slurm.bytes, key({{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}, {"SLURM_LOCALID", "1"}}).bytes);
  EXPECT_NE(slurm.bytes, key({{"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "1"}, {"SLURM_LOCALID", "0"}}).bytes);
  const Key parent = key({{"PMI_FD", "-1"}});
  EXPECT_EQ(parent.source, "parent");
  EXPECT_EQ(parent.bytes, key({}).bytes);
}

TEST(Key, Digits) {
  unsigned char bytes[16];
  EXPECT_TRUE(parse_key("ffeeddccbbaa99887766554433221100", bytes));
  EXPECT_EQ(bytes[0], 0xff);
  EXPECT_EQ(bytes[15], 0);
  for (const char* bad : {"", "ffeeddccbbaa9988776655443322110", "ffeeddccbbaa998877665544332211000",
                          "FFEEDDCCBBAA99887766554433221100", "ffeeddccbbaa998877665544332211g0"})
    EXPECT_FALSE(parse_key(bad, bytes)) << bad;
}

// The reference vectors of SipHash-2-4 with 128 bits: key 00..0f, message 00, 01, 02 ...
TEST(Hash, ReferenceVectors) {
  unsigned char secret[16], message[16], out[16];
  for (unsigned i = 0; i < 16; ++i) secret[i] = message[i] = static_cast<unsigned char>(i);
  struct {
    std::size_t bytes;
    unsigned char hash[16];
  } const known[] = {
      {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
      {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
      {15, {0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9}},
      {16, {0x6e, 0xe2, 0xa4, 0xca, 0x67, 0xb0, 0x54, 0xbb, 0xfd, 0x33, 0x15, 0xbf, 0x85, 0x23, 0x05, 0x77}}};
  for (const auto& one : known) {
    keyed_hash(secret, message, one.bytes, out);
    EXPECT_EQ(std::memcmp(out, one.hash, 16), 0) << one.bytes;
  }
}

}  // namespace
}  // namespace nigh::space
