// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The driver against programs of our own making (shell scripts that print a report), so that failures, wrong
// results and hangs can be had at will; and the pure parts: statistics, cases, subjects, files.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "benchmark/runner.hpp"
#include "benchmark/table.hpp"
#include "machine/load.hpp"
#include "sys/os.hpp"

namespace nigh::benchmark {
namespace {

Observation seen(const std::string& subject, int round, double value, const std::string& state = "near") {
  Observation out;
  out.subject = subject;
  out.round = round;
  out.core_state = state;
  out.results = {{"triad", value}};
  out.unit = "MB/s";
  out.placement = {0, 1};
  out.verified = true;
  return out;
}

const BenchRecord* find(const std::vector<BenchRecord>& records, const std::string& subject,
                        const std::string& state = "near") {
  for (const BenchRecord& r : records)
    if (r.subject == subject && r.core_state == state) return &r;
  return nullptr;
}

TEST(BenchRecords, SpreadHoldsForAnyValues) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(-10, 10);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(1 + random() % 9);
    for (double& v : values) v = any(random);
    Spread s = spread_of(values);
    auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v <= s.median; });
    auto above = std::count_if(values.begin(), values.end(), [&](double v) { return v >= s.median; });
    EXPECT_GE(2 * below, static_cast<long>(values.size()));
    EXPECT_GE(2 * above, static_cast<long>(values.size()));
    EXPECT_EQ(s.low, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(s.high, *std::max_element(values.begin(), values.end()));
  }
}

TEST(BenchRecords, RatiosCompareSamplesOfOneRound) {
  auto records =
      summarise("nested-stream", "libgomp", "2x1",
                {seen("nigh", 0, 20), seen("unbound", 0, 10), seen("unbound", 1, 40), seen("nigh", 1, 120)});
  const BenchRecord* nigh = find(records, "nigh");
  ASSERT_TRUE(nigh && nigh->ratio);
  EXPECT_EQ(nigh->case_name, "2x1 triad libgomp");
  EXPECT_DOUBLE_EQ(nigh->ratio->low, 2);
  EXPECT_DOUBLE_EQ(nigh->ratio->high, 3);
  EXPECT_DOUBLE_EQ(nigh->ratio->median, 2.5);
  EXPECT_EQ(nigh->samples, 2);
  EXPECT_FALSE(find(records, "unbound")->ratio);
}

TEST(BenchRecords, TimesHaveTheirRatioTheOtherWayRound) {
  auto fast = seen("nigh", 0, 2), slow = seen("unbound", 0, 6);
  fast.unit = slow.unit = "s";
  auto records = summarise("geothermal", "libomp", "2x1", {fast, slow});
  ASSERT_TRUE(find(records, "nigh")->ratio);
  EXPECT_DOUBLE_EQ(find(records, "nigh")->ratio->median, 3);
}

TEST(BenchRecords, SamplesOfDifferentStatesAreNotMixed) {
  auto records =
      summarise("nested-stream", "libgomp", "2x1",
                {seen("nigh", 0, 20, "near"), seen("nigh", 1, 5, "far"), seen("unbound", 1, 10, "far")});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(find(records, "nigh", "near")->value.high, 20);
  EXPECT_FALSE(find(records, "nigh", "near")->ratio) << "there is no unbound sample of that state";
  EXPECT_DOUBLE_EQ(find(records, "nigh", "far")->ratio->median, 0.5);
}

TEST(BenchRecords, ACostBelowZeroHasNoRatio) {
  auto below = seen("nigh", 1, -0.1), base = seen("unbound", 1, 2);
  auto records =
      summarise("nested-sync", "libomp", "2x1", {seen("nigh", 0, 1), seen("unbound", 0, 2), below, base});
  EXPECT_FALSE(find(records, "nigh")->ratio) << "the good rounds alone would flatter";
}

TEST(BenchRecords, OneWrongSampleSpoilsTheRecord) {
  auto wrong = seen("nigh", 1, 10);
  wrong.verified = false;
  wrong.errors = {"bad"};
  auto records =
      summarise("nested-stream", "libomp", "2x1", {seen("nigh", 0, 20), wrong, seen("nigh", 2, 20)});
  EXPECT_FALSE(find(records, "nigh")->verified);
  EXPECT_EQ(find(records, "nigh")->errors, std::vector<std::string>{"bad"});
}

TEST(BenchRecords, AFileReadsBackAsItWas) {
  BenchFile file;
  file.machine = {{"cpu", "x"}};
  file.records = summarise("nested-stream", "libgomp", "2x1", {seen("nigh", 0, 20), seen("unbound", 0, 10)});
  file.absent = {{"nested-stream", "2x1 libgomp", "likwid-pin", "is not installed"}};
  std::string text = to_json(file).dump();
  auto back = bench_file_from_json(text, "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back).dump(), text);
  for (const char* field : {"bench", "case", "subject", "size_bytes", "unit", "median", "low", "high",
                            "samples", "core_state", "placement", "verified"})
    EXPECT_TRUE(to_json(file)["records"][0].contains(field)) << field;
  auto odd =
      bench_file_from_json(R"({"format":"nigh-bench","version":1,"machine":{"quick":3},"records":[]})", "x");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(says(odd->machine, "quick"));
  EXPECT_TRUE(
      bench_file_from_json(R"({"format":"nigh-bench","version":1,"machine":null,"records":[]})", "x"));
  EXPECT_FALSE(bench_file_from_json("{}", "x"));
  EXPECT_FALSE(bench_file_from_json("[", "x"));
  EXPECT_FALSE(bench_file_from_json(R"({"format":3})", "x"));
  EXPECT_FALSE(bench_file_from_json(R"({"format":"nigh-bench","version":2,"records":[]})", "x"));
  EXPECT_FALSE(bench_file_from_json(R"({"format":"nigh-bench","version":1,"records":[{}]})", "x"));
}

TEST(BenchCatalog, TeamsFitTheCores) {
  auto texts = [](int cores, bool quick) {
    std::vector<std::string> out;
    for (const Teams& t : default_teams(bench_kinds().front(), cores, quick)) out.push_back(t.text());
    return out;
  };
  EXPECT_EQ(texts(1, false), (std::vector<std::string>{"1x1", "2x2"}));
  EXPECT_EQ(texts(2, false), (std::vector<std::string>{"1x1", "1x2", "2x1", "2x2"}));
  EXPECT_EQ(texts(2, true), (std::vector<std::string>{"1x2", "2x1"}));
  EXPECT_EQ(texts(16, false), (std::vector<std::string>{"1x1", "1x16", "16x1", "4x4", "2x8", "8x2"}));
  EXPECT_EQ(texts(16, true), (std::vector<std::string>{"1x16", "16x1", "4x4"}));
  EXPECT_EQ(texts(13, true), (std::vector<std::string>{"1x13", "13x1", "3x4"}));
  for (int cores = 4; cores < 300; ++cores)
    for (const Teams& t : default_teams(bench_kinds().front(), cores, false)) EXPECT_LE(t.threads(), cores);
}

TEST(BenchCatalog, ReadsTeams) {
  auto teams = parse_teams("4x2,8");
  ASSERT_TRUE(teams);
  EXPECT_EQ((*teams)[0], (Teams{4, 2}));
  EXPECT_EQ((*teams)[1], (Teams{8, std::nullopt}));
  for (const char* wrong : {"", "x", "4x", "x2", "4x2,", "0x2", "4x-1", "4 x2", "4x2x2", "99999"})
    EXPECT_FALSE(parse_teams(wrong)) << wrong;
}

TEST(BenchCatalog, OnlyTheAllowedPartCounts) {
  auto machine = load_model("barcelona").value();
  Usable part = usable_part(machine, CpuSet{0, 1, 4});
  EXPECT_EQ(part.cores, 3);
  EXPECT_EQ(part.pus, (std::vector<int>{0, 1, 4}));
  Usable whole = usable_part(machine, machine.pus());
  EXPECT_EQ(whole.cores, 16);
  EXPECT_EQ(whole.cache_bytes, 2 * part.cache_bytes) << "4 packages with an L3 each against 2";
}

TEST(BenchCatalog, EachRuntimeHasItsPeers) {
  auto names = [](const std::string& runtime) {
    std::string out;
    for (const Subject& s :
         subjects_for(bench_kinds().front(), runtime, {2, 2}, Usable{{0, 1}, 2, 1}, "/x/nigh"))
      out += s.name + ";";
    return out;
  };
  EXPECT_EQ(names("libgomp"),
            "nigh;unbound;OMP_PROC_BIND=spread,close;OMP_PROC_BIND=close,close;GOMP_CPU_AFFINITY;"
            "likwid-pin;limit;");
  EXPECT_EQ(names("libomp"),
            "nigh;unbound;OMP_PROC_BIND=spread,close;OMP_PROC_BIND=close,close;KMP_AFFINITY=compact;"
            "KMP_AFFINITY=scatter;likwid-pin;limit;");
}

TEST(BenchCatalog, EachPatternHasItsPeers) {
  auto names = [](const std::string& bench, const std::string& runtime, int ranks) {
    std::string out;
    for (const Subject& s :
         subjects_for(*find_bench(bench), runtime, {ranks, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh"))
      out += (out.empty() ? "" : ", ") + s.name;
    return out;
  };
  EXPECT_EQ(names("mpi-put", "openmpi", 2),
            "nigh, library, library, nigh run, OMPI_MCA_osc=sm, Open MPI SHMEM, limit");
  EXPECT_EQ(names("mpi-put", "mpich", 2), "nigh, library, library, nigh run, Open MPI SHMEM, limit");
  EXPECT_EQ(names("mpi-pingpong", "mpich", 2),
            "nigh, library, nigh messages, CMA, copy in, copy out, UCX, limit");
  EXPECT_EQ(names("mpi-sendrecv", "mpich", 2), "nigh, library, nigh messages, UCX, limit");
  EXPECT_EQ(names("mpi-collectives", "mpich", 2), "nigh, library, nigh messages, limit");
  EXPECT_EQ(names("mpi-collectives", "mpich", 4), "nigh, library, nigh messages");
  const auto puts =
      subjects_for(*find_bench("mpi-put"), "openmpi", {2, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh");
  EXPECT_EQ(puts[0].prefix.front(), "/x/nigh");
  EXPECT_EQ(puts[0].program, "patterns-shmem");
  EXPECT_EQ(puts[1].program, "");  // the case's
  EXPECT_EQ(puts[4].prefix.front(), "oshrun");
  EXPECT_EQ(default_teams(*find_bench("mpi-put"), 16, false).size(), 1U);
}

TEST(BenchCatalog, PatternsRunByTheLibrariesThatAreInstalled) {
  const auto kind = find_bench("mpi-pingpong").value();
  const std::vector<launch::MpiInstall> installs = {
      {"mpich-5.0.2-abi", "mpich", "/five/bin/mpiexec", "/five/lib", "libmpi_abi.so.0"},
      {"openmpi-5.0.11", "openmpi", "/open/bin/mpiexec", "/open/lib", "libmpi.so.40"}};
  EXPECT_EQ(program_name(kind, "mpich-5.0.2-abi", installs), "patterns-libmpi_abi.so.0");
  EXPECT_EQ(program_name(kind, "openmpi-5.0.11", installs), "patterns-libmpi.so.40");
  const auto subjects =
      subjects_for(kind, "openmpi-5.0.11", {2, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh", installs);
  const std::vector<std::string> words = {
      "/open/bin/mpiexec", "--oversubscribe", "--bind-to", "core", "-n", "2"};
  EXPECT_EQ(subjects[1].prefix, words);
  EXPECT_TRUE(subjects[1].environment.at("LD_LIBRARY_PATH").starts_with("/open/lib"));
  EXPECT_EQ(subjects[0].environment, subjects[1].environment) << "with nigh as without";
  EXPECT_EQ(subjects[0].prefix.front(), "/x/nigh");
  EXPECT_EQ(subjects.size(), 2U) << "the ways that are no library's are measured beside the first";
  EXPECT_GT(
      subjects_for(kind, "mpich-5.0.2-abi", {2, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh", installs)
          .size(),
      4U);
}

TEST(BenchCatalog, AnUnknownOneIsToldOfAll) {
  const auto none = find_bench("frobnicate");
  ASSERT_FALSE(none);
  const std::string told = none.error().message;
  for (const BenchKind& kind : bench_kinds())
    EXPECT_NE(told.find(" " + kind.name + ","), std::string::npos) << kind.name << ": " << told;
  for (const char* other : {"slide5", "transpose-model", "mpi-nodes", "transpose-steps", "mpi: all of"})
    EXPECT_NE(told.find(other), std::string::npos) << other << ": " << told;
}

TEST(BenchCatalog, TransformsAreHeldAgainstFftwWhereItIs) {
  const auto kind = find_bench("fft").value();
  EXPECT_EQ(runtimes_of(kind), (std::vector<std::string>{"openmpi", "mpich"}));
  EXPECT_EQ(program_name(kind, "mpich"), "fft-mpich");
  EXPECT_EQ(default_teams(kind, 16, false), (std::vector<Teams>{{2, std::nullopt}}));
  EXPECT_TRUE(is_baseline(kind.baseline()));
  const Usable usable{{0, 1}, 2, 1};
  const auto names = [&](const char* runtime) {
    std::string all;
    for (const Subject& s : subjects_for(kind, runtime, {2, std::nullopt}, usable, "/x/nigh"))
      all += s.name + " ";
    return all;
  };
  EXPECT_EQ(
      names("openmpi"),
      "nigh nigh-fftw fftw-mpi nigh-transposed nigh-fftw-transposed fftw-mpi-transposed fftw-openmp limit ");
  EXPECT_EQ(names("mpich"), "nigh nigh-fftw nigh-transposed nigh-fftw-transposed fftw-openmp limit ");
}

TEST(BenchCatalog, CopiesAreHeldAgainstMemcpyByOneThreadAndByAll) {
  const auto kind = find_bench("copy").value();
  EXPECT_EQ(runtimes_of(kind), std::vector<std::string>{"threads"});
  EXPECT_EQ(program_name(kind, "threads"), "copy");
  EXPECT_EQ(default_teams(kind, 1, false), (std::vector<Teams>{{1, std::nullopt}}));
  EXPECT_EQ(default_teams(kind, 6, true), (std::vector<Teams>{{1, std::nullopt}, {6, std::nullopt}}));
  EXPECT_TRUE(is_baseline(kind.baseline()));
  std::string names;
  for (const Subject& s : subjects_for(kind, "threads", {2, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh")) {
    names += s.name + " ";
    EXPECT_EQ(s.options, (std::vector<std::string>{"--subject", s.name}));
  }
  EXPECT_EQ(names, "nigh nigh-cached nigh-streamed loop prefetch tiles cycles openblas fftw memcpy limit ");
}

TEST(BenchCatalog, TransposesAreOfBothMpiLibraries) {
  const auto kind = find_bench("transpose").value();
  EXPECT_EQ(runtimes_of(kind), (std::vector<std::string>{"openmpi", "mpich"}));
  EXPECT_EQ(program_name(kind, "mpich"), "transpose-mpich");
  EXPECT_EQ(default_teams(kind, 8, true), (std::vector<Teams>{{2, std::nullopt}}));
  EXPECT_EQ(default_teams(kind, 8, false), (std::vector<Teams>{{2, std::nullopt}, {8, std::nullopt}}));
  EXPECT_TRUE(is_baseline(kind.baseline()));
  const auto subjects = subjects_for(kind, "openmpi", {2, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh");
  ASSERT_EQ(subjects.size(), 9U);
  EXPECT_EQ(subjects[0].options, (std::vector<std::string>{"--subject", "nigh"}));
  EXPECT_EQ(subjects[6].name, "fftw-mpi-patient");
  EXPECT_EQ(subjects[2].prefix.front(), "/x/nigh");
  EXPECT_EQ(subjects[2].options, (std::vector<std::string>{"--subject", "nigh-heap"}));
  EXPECT_EQ(subjects[8].name, "limit");
}

TEST(BenchCatalog, MemoryIsHeldAgainstOtherMallocs) {
  const auto kind = find_bench("alloc").value();
  EXPECT_EQ(runtimes_of(kind), std::vector<std::string>{"threads"});
  EXPECT_EQ(program_name(kind, "threads"), "alloc");
  EXPECT_EQ(default_teams(kind, 16, true), (std::vector<Teams>{{1, std::nullopt}}));
  EXPECT_EQ(size_options(kind, Usable{{0, 1}, 2, 1}, true), std::vector<std::string>{"--quick"});
  EXPECT_TRUE(is_baseline(kind.baseline()));
  auto preloads = [&] {
    std::string out;
    for (const Subject& s :
         subjects_for(kind, "threads", {1, std::nullopt}, Usable{{0, 1}, 2, 1}, "/x/nigh")) {
      const auto preload = s.environment.find("LD_PRELOAD");
      out += s.name + "=" + (preload == s.environment.end() ? "" : preload->second) + " ";
      EXPECT_EQ(s.options, (std::vector<std::string>{"--subject", s.name}));
    }
    return out;
  };
  const std::string after =
      " mimalloc=libmimalloc.so.2 tcmalloc=libtcmalloc_minimal.so.4 jemalloc=libjemalloc.so.2 glibc= ";
  ::unsetenv("NIGH_SNMALLOC");
  EXPECT_EQ(preloads(), "nigh= ring= snmalloc=libsnmallocshim.so" + after);
  ::setenv("NIGH_SNMALLOC", "/y/libsnmalloc.so", 1);
  EXPECT_EQ(preloads(), "nigh= ring= snmalloc=/y/libsnmalloc.so" + after);
  ::unsetenv("NIGH_SNMALLOC");
}

TEST(BenchCatalog, MessageDrivenKNeighbor) {
  const auto kind = find_bench("kneighbor").value();
  EXPECT_EQ(runtimes_of(kind), std::vector<std::string>{"threads"});
  EXPECT_TRUE(is_baseline(kind.baseline()));
  auto pes = [&](int cores, bool quick) {
    std::string out;
    for (const Teams& teams : default_teams(kind, cores, quick)) out += teams.text() + " ";
    return out;
  };
  EXPECT_EQ(pes(1, false), "2 ");
  EXPECT_EQ(pes(6, false), "2 4 ");
  EXPECT_EQ(pes(64, false), "2 4 8 ");
  EXPECT_EQ(pes(64, true), "2 ");
  const Usable usable{{0, 1}, 2, 1};
  const std::vector<Subject> plain = subjects_for(kind, "threads", {4, std::nullopt}, usable, "/x/nigh");
  ASSERT_EQ(plain.size(), 7U);  // Charm++ only where it is named
  EXPECT_EQ(fmt::format("{}", fmt::join(plain[1].prefix, " ")), "/x/nigh run --quiet -n 4 --");
  EXPECT_EQ(plain[2].name, "nigh POSIX shm");
  EXPECT_EQ(fmt::format("{}", fmt::join(plain[3].prefix, " ")), "mpirun.mpich -bind-to none -n 4");
  EXPECT_EQ(plain[4].name, "nigh adaptive");
  EXPECT_EQ(plain[5].name, kind.baseline());
  EXPECT_EQ(plain[6].environment.count("OMPI_ALLOW_RUN_AS_ROOT"), 1U);
  ::setenv("NIGH_CHARM_MULTICORE", "/y/kNeighbor", 1);
  const std::vector<Subject> more = subjects_for(kind, "threads", {4, std::nullopt}, usable, "/x/nigh");
  ::unsetenv("NIGH_CHARM_MULTICORE");
  ASSERT_EQ(more.size(), 8U);
  EXPECT_EQ(subjects_for(find_bench("stencil").value(), "threads", {2, std::nullopt}, usable, "nigh")[1].name,
            "nigh, not balanced");
  const BenchKind sharing = find_bench("false-sharing").value();
  EXPECT_EQ(program_name(sharing, "threads"), "self-message");
  EXPECT_TRUE(is_baseline(sharing.baseline()));
  EXPECT_EQ(subjects_for(sharing, "threads", {2, std::nullopt}, usable, "nigh")[0].name, sharing.baseline());
  EXPECT_EQ(default_teams(sharing, 2, true).size(), 2U);
  EXPECT_EQ(default_teams(find_bench("pingpong").value(), 16, false).size(), 1U);
  EXPECT_EQ(more[7].name, "Charm++ multicore");
  EXPECT_EQ(more[7].options, (std::vector<std::string>{"--subject", "charm-multicore"}));
  EXPECT_EQ(more[7].environment.at("NIGH_CHARM_MULTICORE"), "/y/kNeighbor");  // others' are cleared
}

TEST(BenchStates, NearAndFar) {
  EXPECT_EQ(core_state_of(-1), "n/a");
  EXPECT_EQ(core_state_of(30), "near");
  EXPECT_EQ(core_state_of(150), "far");
  EXPECT_EQ(core_state_of(50000), "n/a");
  EXPECT_EQ(core_state_between(30, 30), "near");
  EXPECT_EQ(core_state_between(30, 150), "n/a");
  EXPECT_EQ(PingPong({0}).measure(), -1);
}

TEST(BenchStates, APingPongTakesTimeAndEnds) {
  auto pus = sys::affinity().value().members();
  if (pus.size() < 2) GTEST_SKIP() << "one PU";
  double one_way = PingPong(pus).measure();
  EXPECT_GT(one_way, 0.5) << "faster than a store";
  EXPECT_TRUE(std::isfinite(one_way));
}

TEST(BenchRunner, DeviationsAreRelativeAndNeverHidden) {
  EXPECT_EQ(deviation({1, 2}, {1, 2}), 0);
  EXPECT_NEAR(deviation({1, 2.2}, {1, 2}), 0.1, 1e-12);
  EXPECT_TRUE(std::isinf(deviation({1}, {1, 2})));
  EXPECT_TRUE(std::isinf(deviation({}, {1, 2})));
  EXPECT_TRUE(std::isinf(deviation({1, std::nan("")}, {1, 2})));
  EXPECT_TRUE(std::isinf(deviation({std::nan(""), 2}, {1, 2})));
  EXPECT_EQ(deviation({0, 0}, {0, 0}), 0);
}

// A folder with a "benchmark" that is a shell script; `nigh` is one, too, that drops its options.
class Driver : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "nigh-bench-test-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    ::setenv("NIGH_BENCH_DIR", folder_.c_str(), 1);
    write("nigh", "while [ \"$1\" != -- ]; do shift; done; shift; NIGH_FAKE=1 exec \"$@\"");
    request_.kind = find_bench("nested-stream").value();
    request_.runtimes = {"libgomp"};
    request_.teams = {{2, 1}};
    request_.samples = 3;
    request_.subjects = {"nigh", "unbound"};
    request_.usable = {sys::affinity().value().members(), 1, 1};
    request_.nigh = folder_ + "/nigh";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    ::unsetenv("NIGH_BENCH_DIR");
  }
  void write(const std::string& name, const std::string& script) const {
    std::string path = folder_ + "/" + name;
    ASSERT_TRUE(sys::write_file(path, "#!/bin/sh\n" + script + "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  void program(const std::string& script) const { write("nested-stream-libgomp", script); }
  static std::string report(const std::string& value,
                            const std::string& more = "\"verified\": true, \"errors\": []") {
    return "echo '{\"size_bytes\": 8, \"results\": [{\"name\": \"triad\", \"value\": " + value +
           ", \"unit\": \"MB/s\"}], \"placement\": [0, 1], " + more + "}'";
  }
  std::string folder_;
  BenchRequest request_;
  BenchFile file_;
};

TEST_F(Driver, TakesSamplesInTurnFromARotatingStart) {
  program("echo ${NIGH_FAKE:-0} >>" + folder_ + "/order; " + report("10"));
  ASSERT_TRUE(run_bench(request_, file_));
  ASSERT_EQ(file_.records.size() >= 2, true);
  auto order = sys::read_file(folder_ + "/order");
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, "1\n0\n0\n1\n1\n0\n") << "1 is nigh, 0 unbound";
}

TEST_F(Driver, TheEnvironmentOfTheCallerDoesNotLeakIn) {
  ::setenv("OMP_PROC_BIND", "true", 1);
  program("test -z \"$OMP_PROC_BIND\" && test \"$KMP_HOT_TEAMS_MAX_LEVEL\" = 2 || exit 9; " + report("10"));
  auto ran = run_bench(request_, file_);
  ::unsetenv("OMP_PROC_BIND");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(file_.absent.empty());
}

TEST_F(Driver, AFailingSubjectIsARowAndTheOthersGoOn) {
  program("test -n \"$NIGH_FAKE\" && { echo no such thing >&2; exit 3; }; " + report("10"));
  ASSERT_TRUE(run_bench(request_, file_));
  ASSERT_EQ(file_.absent.size(), 1U);
  EXPECT_EQ(file_.absent[0].subject, "nigh");
  EXPECT_NE(file_.absent[0].reason.find("status 3: no such thing"), std::string::npos)
      << file_.absent[0].reason;
  for (const BenchRecord& r : file_.records) EXPECT_EQ(r.subject, "unbound");
  EXPECT_NE(bench_table(file_, false).find("no such thing"), std::string::npos);
}

TEST_F(Driver, AHangingSubjectIsStopped) {
  program("test -n \"$NIGH_FAKE\" && sleep 60; " + report("10"));
  request_.timeout_seconds = 0.3;
  request_.samples = 1;
  ASSERT_TRUE(run_bench(request_, file_));
  ASSERT_EQ(file_.absent.size(), 1U);
  EXPECT_NE(file_.absent[0].reason.find("stopped after"), std::string::npos);
}

TEST_F(Driver, AWrongResultIsARecordThatSaysSo) {
  program(report("10", "\"verified\": false, \"errors\": [\"3 elements are wrong\"]") + "; exit 1");
  ASSERT_TRUE(run_bench(request_, file_));
  ASSERT_FALSE(file_.records.empty());
  for (const BenchRecord& r : file_.records) EXPECT_FALSE(r.verified);
  EXPECT_NE(bench_table(file_, false).find("3 elements are wrong"), std::string::npos);
}

TEST_F(Driver, DerivativesMustBeTheSerialRuns) {
  request_.kind = find_bench("geothermal").value();
  std::string more = "\"verified\": true, \"errors\": [], \"derivatives\": ";
  write("geothermal-libgomp", "if [ -n \"$NIGH_FAKE\" ]; then " + report("1", more + "[1.0, 2.001]") +
                                  "; else " + report("1", more + "[1.0, 2.0]") + "; fi");
  ASSERT_TRUE(run_bench(request_, file_));
  for (const BenchRecord& r : file_.records) EXPECT_EQ(r.verified, r.subject == "unbound") << r.subject;
}

TEST_F(Driver, AMallocThatIsMissingIsNamedByTheProgram) {
  request_.kind = find_bench("alloc").value();
  request_.runtimes = {"threads"};
  request_.teams = default_teams(request_.kind, 1, true);
  request_.subjects = {"ring", "mimalloc"};
  write("alloc", "if [ \"$4\" = ring ]; then " + report("10") +
                     "; else echo \"ERROR: ld.so: object '$LD_PRELOAD' can't be loaded: ignored.\" >&2; " +
                     "echo mimalloc is not there >&2; exit 3; fi");
  ASSERT_TRUE(run_bench(request_, file_));
  ASSERT_EQ(file_.absent.size(), 1U);
  EXPECT_EQ(file_.absent[0].subject, "mimalloc");
  EXPECT_NE(file_.absent[0].reason.find("status 3: mimalloc is not there"), std::string::npos)
      << file_.absent[0].reason;
  for (const BenchRecord& r : file_.records) EXPECT_EQ(r.subject, "ring");
}

TEST_F(Driver, SaysWhenNothingCanBeMeasured) {
  auto none = run_bench(request_, file_);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("was not built"), std::string::npos) << none.error().message;
  program("echo hello");
  EXPECT_FALSE(run_bench(request_, file_));
}

}  // namespace
}  // namespace nigh::benchmark
