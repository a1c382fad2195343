// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The subjects of the communication benchmarks. The MPI library alone is what all others are compared with;
// the same binary under `nigh run --mpi` is what a user gets for nothing; beside them stand nigh's own
// messages and the bare ways to pass bytes on one node (CMA, copying in and out, UCX without MPI), for puts
// OpenSHMEM (ours and Open MPI's), and `limit`: one memcpy from a buffer that both have mapped. Ranks sit on
// the first PUs in order, one a core, in every subject; more ranks than cores are not bound.
#include <fmt/format.h>

#include "benchmark/catalog.hpp"
#include "sys/program.hpp"

namespace nigh::benchmark {

namespace {

std::vector<std::string> launch_words(const launch::MpiInstall& mpi, int ranks, bool crowded) {
  std::vector<std::string> words = {mpi.launcher};
  if (mpi.kind == "openmpi")
    words.insert(words.end(), {"--oversubscribe", "--bind-to", crowded ? "none" : "core"});
  else
    words.insert(words.end(), {"-bind-to", crowded ? "none" : "core"});
  words.insert(words.end(), {"-n", std::to_string(ranks)});
  return words;
}

std::vector<std::string> our_ranks(const std::string& nigh, int ranks) {
  return {nigh, "run", "--quiet", "-n", std::to_string(ranks), "--"};
}

// The ways to put: ours are OpenSHMEM's, which has a peer in Open MPI's, and the library's under `nigh run
// --mpi`. Without being told Open MPI picks a way for MPI_Put that is slower on one node than its own for one
// node.
std::vector<Subject> ways_to_put(const launch::MpiInstall& library, int ranks, bool crowded,
                                 const std::string& nigh) {
  const auto environment = mpi_environment(library);
  const launch::MpiInstall open_mpi = mpi_named("openmpi", {});
  auto mpi = launch_words(library, ranks, crowded);
  auto shmem = launch_words(open_mpi, ranks, crowded);
  shmem.front() = "oshrun";
  std::vector<Subject> out;
  out.push_back({"nigh", our_ranks(nigh, ranks), {}, {}, "patterns-shmem", {}});
  out.push_back({"library", mpi, environment, {}});
  std::vector<std::string> covered = {nigh, "run", "--quiet", "--mpi", "--"};
  covered.insert(covered.end(), mpi.begin(), mpi.end());
  out.push_back({"library, nigh run", covered, environment, {}});
  if (library.kind == "openmpi") {
    auto told = environment;
    told["OMPI_MCA_osc"] = "sm";
    out.push_back({"OMPI_MCA_osc=sm", mpi, told, {}});
  }
  out.push_back({"Open MPI SHMEM", shmem, mpi_environment(open_mpi), {}, "patterns-oshmem", {}});
  out.push_back({"limit", {}, {}, {}, "patterns-local", {"--transport", "limit"}});
  return out;
}

std::vector<Subject> other_ways(const BenchKind& kind, int ranks, const std::string& nigh) {
  std::vector<Subject> out;
  out.push_back({"nigh messages", our_ranks(nigh, ranks), {}, {}, "patterns-message", {}});
  if (kind.pattern == "pingpong") {
    out.push_back({"CMA", {}, {}, {}, "patterns-local", {"--transport", "cma"}});
    out.push_back({"copy in, copy out", {}, {}, {}, "patterns-local", {"--transport", "copy"}});
  }
  if (ranks == 2 && kind.pattern != "collectives" && kind.pattern != "exchange")
    out.push_back({"UCX", {}, {}, {}, "patterns-ucx", {}});
  if (kind.pattern == "pingpong" ||
      (ranks == 2 && (kind.pattern == "sendrecv" || kind.pattern == "collectives")))
    out.push_back({"limit", {}, {}, {}, "patterns-local", {"--transport", "limit"}});
  return out;
}

}  // namespace

launch::MpiInstall mpi_named(const std::string& runtime, const std::vector<launch::MpiInstall>& installs) {
  for (const launch::MpiInstall& one : installs)
    if (one.name == runtime) return one;
  const std::string own = "mpirun." + runtime;
  const bool there = sys::find_program(own).has_value();
  if (auto found = launch::mpi_of_launcher(own); there && found) {
    found->name = runtime;
    found->launcher = own;
    return *found;
  }
  return {runtime, runtime, there ? own : "mpirun", "",
          runtime == "openmpi" ? "libmpi.so.40" : "libmpi.so.12"};
}

std::vector<Subject> mpi_subjects(const BenchKind& kind, const launch::MpiInstall& mpi, int ranks,
                                  const Usable& usable, const std::string& nigh, bool with_others) {
  if (kind.pattern == "put") return ways_to_put(mpi, ranks, ranks > usable.cores, nigh);
  const auto words = launch_words(mpi, ranks, ranks > usable.cores);
  const auto environment = mpi_environment(mpi);
  std::vector<std::string> ours = {nigh, "run", "--quiet", "--mpi", "--"};
  ours.insert(ours.end(), words.begin(), words.end());
  std::vector<Subject> out;
  out.push_back({"nigh", ours, environment, {}});
  out.push_back({"library", words, environment, {}});
  if (with_others)
    for (Subject& other : other_ways(kind, ranks, nigh)) out.push_back(std::move(other));
  return out;
}

// Ours in memory that ranks share, in malloc's, and that under `nigh run --mpi`; Haan's steps; what
// programs do; what the library does; and copies.
std::vector<Subject> transpose_subjects(const std::string& runtime, int ranks, const Usable& usable,
                                        const std::string& nigh) {
  const launch::MpiInstall mpi = mpi_named(runtime, {});
  const auto words = launch_words(mpi, ranks, ranks > usable.cores);
  const auto environment = mpi_environment(mpi);
  std::vector<std::string> in_space = {nigh, "run", "--quiet", "--mpi", "--"};
  in_space.insert(in_space.end(), words.begin(), words.end());
  std::vector<Subject> out;
  out.push_back({"nigh", words, environment, {}, {}, {"--subject", "nigh"}});
  out.push_back({"nigh-heap", words, environment, {}, {}, {"--subject", "nigh-heap"}});
  out.push_back({"nigh-heap, nigh run", in_space, environment, {}, {}, {"--subject", "nigh-heap"}});
  for (const char* name : {"three-steps", "pipelined", "alltoallw", "fftw-mpi-patient", "memcpy", "limit"})
    out.push_back({name, words, environment, {}, {}, {"--subject", name}});
  return out;
}

// Natural order, then the result transposed; FFTW's for MPI is packaged for Open MPI alone. Its threads are
// those of one process, which has all CPUs.
std::vector<Subject> fft_subjects(const std::string& runtime, int ranks, const Usable& usable) {
  const launch::MpiInstall mpi = mpi_named(runtime, {});
  const auto words = launch_words(mpi, ranks, ranks > usable.cores);
  const auto alone = launch_words(mpi, 1, true);
  const auto environment = mpi_environment(mpi);
  std::vector<Subject> out;
  for (const char* name : {"nigh", "nigh-fftw", "fftw-mpi", "nigh-transposed", "nigh-fftw-transposed",
                           "fftw-mpi-transposed", "fftw-openmp", "limit"}) {
    const std::string subject = name;
    if (runtime != "openmpi" && subject.starts_with("fftw-mpi")) continue;
    out.push_back(
        {subject, subject == "fftw-openmp" ? alone : words, environment, {}, {}, {"--subject", name}});
  }
  return out;
}

}  // namespace nigh::benchmark
