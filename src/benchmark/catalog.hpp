// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The list of benchmarks, and their cases on a given machine: the team sizes (1xP, Px1 and the splits in
// between) or numbers of ranks, the sizes of the data, and the subjects: nigh, nothing at all (or the MPI
// library alone), and peers. All of it is decided from the machine and the mask alone (and variables that
// name things no package has: NIGH_SNMALLOC, NIGH_CHARM_...); nothing is run or read here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "launch/mpi_installs.hpp"
#include "machine/machine.hpp"

namespace nigh::benchmark {

struct BenchKind {
  std::string name;               // "nested-stream"
  std::string title;              // one line for people
  std::string strategy;           // of the inner level under nigh; the outer one is scatter
  bool serial_reference = false;  // its derivatives must be those of a 1x1 run
  bool has_limit = false;         // a one-level run bounds what nested teams can reach
  std::string pattern = {};       // of a communication benchmark (bench/mpi); empty: an OpenMP one
  [[nodiscard]] bool is_mpi() const { return !pattern.empty(); }
  [[nodiscard]] bool is_queues() const { return name == "queues"; }
  [[nodiscard]] bool is_alloc() const { return name == "alloc"; }
  [[nodiscard]] bool is_copy() const { return name == "copy"; }
  [[nodiscard]] bool is_transpose() const { return name == "transpose"; }
  [[nodiscard]] bool is_fft() const { return name == "fft"; }
  [[nodiscard]] bool on_ranks() const {
    return is_mpi() || is_transpose() || is_fft();
  }  // of both MPI libraries
  [[nodiscard]] bool moves_memory() const { return is_copy() || is_transpose(); }
  [[nodiscard]] bool moves_elements() const { return name == "stencil" || name == "molecules"; }
  [[nodiscard]] bool is_lonely() const { return name == "self-message" || name == "false-sharing"; }
  [[nodiscard]] bool is_chare() const {
    return name == "kneighbor" || name == "pingpong" || is_lonely() || moves_elements();
  }
  // Benchmarks that need no OpenMP runtime.
  [[nodiscard]] bool is_threads() const { return is_queues() || is_alloc() || is_copy() || is_chare(); }
  // The subject that ratios refer to, for people.
  [[nodiscard]] const char* baseline() const {
    return is_mpi()                  ? "the library alone"
           : is_queues()             ? "moodycamel-bulk"
           : is_alloc()              ? "mimalloc"
           : moves_memory()          ? "memcpy"
           : is_fft()                ? "fftw-openmp"
           : name == "false-sharing" ? "state apart"
           : is_chare()              ? "MPICH"
                                     : "unbound";
  }
};
const std::vector<BenchKind>& bench_kinds();
// All there are, for a sentence.
std::string bench_names();
Result<BenchKind> find_bench(const std::string& name);
// The subject that its ratios refer to, for people; "unbound" for a benchmark that is not known.
std::string baseline_of(const std::string& name);
// That one, or for "mpi" all communication benchmarks.
Result<std::vector<BenchKind>> find_benches(const std::string& name);
// libgomp and libomp, or "openmpi" and "mpich" as a distribution brings them, or just "threads". The
// communication benchmarks run by all libraries that are installed, under their names.
const std::vector<std::string>& runtimes_of(const BenchKind& kind);

struct Teams {
  int outer = 1;
  std::optional<int> inner = 1;  // none: one level only
  [[nodiscard]] int threads() const { return outer * inner.value_or(1); }
  [[nodiscard]] std::string text() const;  // "4x2", "4"
  friend bool operator==(const Teams&, const Teams&) = default;
};
// "4x2,1x8"; every entry names itself in an error.
Result<std::vector<Teams>> parse_teams(const std::string& list);

// The part of the machine that the process may use.
struct Usable {
  std::vector<int> pus;           // allowed PUs
  int cores = 0;                  // cores with at least one of them
  std::uint64_t cache_bytes = 0;  // the last-level caches above them, together
};
Usable usable_part(const Machine& machine, const CpuSet& mask);

// For a communication benchmark: numbers of ranks; for queues: of producers; for message-driven
// programs: of PEs.
std::vector<Teams> default_teams(const BenchKind& kind, int cores, bool quick);
// The program's options for its size, beyond --teams.
std::vector<std::string> size_options(const BenchKind& kind, const Usable& usable, bool quick);

struct Subject {
  std::string name;                                // as it stands in the records
  std::vector<std::string> prefix;                 // words before the program
  std::map<std::string, std::string> environment;  // beyond what all subjects get
  std::optional<Teams> teams;                      // other teams than the case's (limit)
  std::string program = {};                        // another program than the case's, "patterns-local"
  std::vector<std::string> options = {};           // beyond the case's
};
// The library of that name; or the distribution's, "openmpi" or "mpich".
launch::MpiInstall mpi_named(const std::string& runtime, const std::vector<launch::MpiInstall>& installs);
// `nigh` is the path of the command. The order is that of the tables.
std::vector<Subject> subjects_for(const BenchKind& kind, const std::string& runtime, const Teams& teams,
                                  const Usable& usable, const std::string& nigh,
                                  const std::vector<launch::MpiInstall>& installs = {});
// `with_others`: the ways that are no library's, too; once is enough.
std::vector<Subject> mpi_subjects(const BenchKind& kind, const launch::MpiInstall& mpi, int ranks,
                                  const Usable& usable, const std::string& nigh, bool with_others);
std::vector<Subject> fft_subjects(const std::string& runtime, int ranks, const Usable& usable);
std::vector<Subject> transpose_subjects(const std::string& runtime, int ranks, const Usable& usable,
                                        const std::string& nigh);
// The file name of the program that a case runs.
std::string program_name(const BenchKind& kind, const std::string& runtime,
                         const std::vector<launch::MpiInstall>& installs = {});

// Removed from everybody's environment, and set in everybody's: all that is not binding is equal for all.
const std::vector<std::string>& cleared_variables();
const std::map<std::string, std::string>& common_environment();

}  // namespace nigh::benchmark
