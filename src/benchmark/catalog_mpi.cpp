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

std::string launcher_of(const std::string& runtime) {
  std::string own = "mpirun." + runtime;
  return sys::find_program(own) ? own : "mpirun";
}

std::vector<std::string> launch_words(const std::string& runtime, int ranks, bool crowded) {
  std::vector<std::string> words = {launcher_of(runtime)};
  if (runtime == "openmpi")
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
std::vector<Subject> ways_to_put(const std::string& runtime, int ranks, bool crowded,
                                 const std::string& nigh) {
  auto mpi = launch_words(runtime, ranks, crowded);
  auto shmem = launch_words("openmpi", ranks, crowded);
  shmem.front() = "oshrun";
  std::vector<Subject> out;
  out.push_back({"nigh", our_ranks(nigh, ranks), {}, {}, "patterns-shmem", {}});
  out.push_back({"library", mpi, launch_environment(runtime), {}});
  std::vector<std::string> covered = {nigh, "run", "--quiet", "--mpi", "--"};
  covered.insert(covered.end(), mpi.begin(), mpi.end());
  out.push_back({"library, nigh run", covered, launch_environment(runtime), {}});
  if (runtime == "openmpi") {
    auto told = launch_environment(runtime);
    told["OMPI_MCA_osc"] = "sm";
    out.push_back({"OMPI_MCA_osc=sm", mpi, told, {}});
  }
  out.push_back({"Open MPI SHMEM", shmem, launch_environment("openmpi"), {}, "patterns-oshmem", {}});
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

std::map<std::string, std::string> launch_environment(const std::string& runtime) {
  if (runtime != "openmpi") return {};
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
}

std::vector<Subject> mpi_subjects(const BenchKind& kind, const std::string& runtime, int ranks,
                                  const Usable& usable, const std::string& nigh) {
  if (kind.pattern == "put") return ways_to_put(runtime, ranks, ranks > usable.cores, nigh);
  auto words = launch_words(runtime, ranks, ranks > usable.cores);
  std::vector<std::string> ours = {nigh, "run", "--quiet", "--mpi", "--"};
  ours.insert(ours.end(), words.begin(), words.end());
  std::vector<Subject> out;
  out.push_back({"nigh", ours, launch_environment(runtime), {}});
  out.push_back({"library", words, launch_environment(runtime), {}});
  for (Subject& other : other_ways(kind, ranks, nigh)) out.push_back(std::move(other));
  return out;
}

// Ours in memory that ranks share, in malloc's, and that under `nigh run --mpi`; Haan's steps; what
// programs do; what the library does; and copies.
std::vector<Subject> transpose_subjects(const std::string& runtime, int ranks, const Usable& usable,
                                        const std::string& nigh) {
  const auto words = launch_words(runtime, ranks, ranks > usable.cores);
  const auto environment = launch_environment(runtime);
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
  const auto words = launch_words(runtime, ranks, ranks > usable.cores);
  const auto alone = launch_words(runtime, 1, true);
  const auto environment = launch_environment(runtime);
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
