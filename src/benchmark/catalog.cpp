// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark/catalog.hpp"

#include "benchmark/model.hpp"
#include "benchmark/nodes.hpp"
#include "benchmark/steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

namespace nigh::benchmark {

const std::vector<BenchKind>& bench_kinds() {
  static const std::vector<BenchKind> kinds = {
      {"nested-stream", "memory bandwidth of nested teams, each on arrays of its own", "subscatter", false,
       true},
      {"nested-sync", "cost of parallel, barrier, reduction, for and single in nested teams", "subcompact",
       false, false},
      {"geothermal", "flow and heat in 3-D with directional derivatives: a two-level Fortran program",
       "subscatter", true, false},
      {"nested-overhead", "cost of one empty parallel region, with and without binding", "subcompact", false,
       false},
      {"mpi-put", "OpenSHMEM and MPI puts, each complete before the next", "", false, false, "put"},
      {"mpi-pingpong", "one message to and fro: latency, and bandwidth of large ones", "", false, false,
       "pingpong"},
      {"mpi-sendrecv", "every rank sends to its right and receives from its left", "", false, false,
       "sendrecv"},
      {"mpi-exchange", "every rank exchanges with both neighbours", "", false, false, "exchange"},
      {"mpi-rate", "messages a second, 64 under way for each pair of ranks", "", false, false, "rate"},
      {"mpi-collectives", "Barrier, Bcast, Reduce, Allreduce, Alltoall, Neighbor_alltoall", "", false, false,
       "collectives"},
      {"queues", "messages from many producers to one consumer: one of them, and one push", "", false, false},
      {"alloc", "memory of messages: got by one thread, given back by it or by another", "", false, false},
      {"copy", "memory moved by one process: copied, reordered, transposed, in caches and beyond", "", false,
       false},
      {"transpose", "a matrix on the ranks of MPI and its transpose", "", false, false},
      {"fft", "complex Fourier transforms on the ranks of MPI: ours, and FFTW's", "", false, false},
      {"kneighbor", "messages among the elements of a message-driven program: one iteration", "", false,
       false},
      {"pingpong", "a message between two chares, to and fro: one way", "", false, false},
      {"self-message", "a chare on each PE that sends itself a message: one of them", "", false, false},
      {"false-sharing", "what a scheduler writes for such a message, side by side with another's and apart",
       "", false, false},
      {"stencil", "a message-driven program whose work wanders: one step, with and without balancing", "",
       false, false},
      {"molecules", "molecular dynamics by messages: one step, with and without balancing", "", false, false},
  };
  return kinds;
}

std::string bench_names() {
  std::vector<std::string> names;
  for (const BenchKind& kind : bench_kinds()) names.push_back(kind.name);
  for (const ModelBench& bench : model_benches()) names.push_back(bench.name);
  names.insert(names.end(), {nodes_bench, steps_bench});
  return fmt::format("{}, and mpi: all of mpi-... that need no launcher's words", fmt::join(names, ", "));
}

Result<BenchKind> find_bench(const std::string& name) {
  for (const BenchKind& kind : bench_kinds())
    if (kind.name == name) return kind;
  return fail(Errc::invalid, fmt::format("there is no benchmark '{}'; there are {}", name, bench_names()));
}

std::string baseline_of(const std::string& name) {
  auto kind = find_bench(name);
  return kind ? kind->baseline() : "unbound";
}

Result<std::vector<BenchKind>> find_benches(const std::string& name) {
  std::vector<BenchKind> found;
  for (const BenchKind& kind : bench_kinds())
    if (name == "mpi" && kind.is_mpi()) found.push_back(kind);
  if (!found.empty()) return found;
  auto one = find_bench(name);
  if (!one) return tl::unexpected(one.error());
  return std::vector<BenchKind>{*one};
}

const std::vector<std::string>& runtimes_of(const BenchKind& kind) {
  static const std::vector<std::string> openmp = {"libgomp", "libomp"}, mpi = {"openmpi", "mpich"},
                                        none = {"threads"};
  return kind.on_ranks() ? mpi : kind.is_threads() ? none : openmp;
}

std::string program_name(const BenchKind& kind, const std::string& runtime,
                         const std::vector<launch::MpiInstall>& installs) {
  if (kind.name == "false-sharing") return "self-message";
  if (kind.is_threads()) return kind.name;
  return kind.is_mpi() ? "patterns-" + mpi_named(runtime, installs).file : kind.name + "-" + runtime;
}

std::string Teams::text() const {
  return inner ? fmt::format("{}x{}", outer, *inner) : fmt::format("{}", outer);
}

namespace {

std::optional<int> read_size(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= 4096 ? std::optional(value) : std::nullopt;
}

std::optional<Teams> read_teams(const std::string& text) {
  std::size_t x = text.find('x');
  auto outer = read_size(std::string_view(text).substr(0, x));
  if (!outer) return std::nullopt;
  if (x == std::string::npos) return Teams{*outer, std::nullopt};
  auto inner = read_size(std::string_view(text).substr(x + 1));
  return inner ? std::optional(Teams{*outer, inner}) : std::nullopt;
}

// Splits of n into two factors above 1, squarest first.
std::vector<Teams> inner_splits(int n) {
  std::vector<Teams> out;
  for (int outer = 2; outer <= n / 2; ++outer)
    if (n % outer == 0) out.push_back({outer, n / outer});
  std::sort(out.begin(), out.end(), [](const Teams& a, const Teams& b) {
    auto lopsided = [](const Teams& t) { return std::max(t.outer, *t.inner) - std::min(t.outer, *t.inner); };
    return lopsided(a) != lopsided(b) ? lopsided(a) < lopsided(b) : a.outer < b.outer;
  });
  return out;
}

void keep_distinct(std::vector<Teams>& teams) {
  std::vector<Teams> out;
  for (const Teams& t : teams)
    if (std::find(out.begin(), out.end(), t) == out.end()) out.push_back(t);
  teams = out;
}

// Brightwell's figures have 2, 4 and 8 ranks; as many as there are cores show the whole machine.
std::vector<Teams> default_ranks(const BenchKind& kind, int cores, bool quick) {
  if (quick || kind.pattern == "pingpong" || kind.pattern == "put") return {{2, std::nullopt}};
  std::vector<Teams> out = {{2, std::nullopt}, {4, std::nullopt}, {8, std::nullopt}};
  if (cores > 8) out.push_back({std::min(cores, 60), std::nullopt});
  return out;
}

// kneighbor has 8 elements, as many on each.
std::vector<Teams> default_pes(int cores, bool quick, bool alone) {
  std::vector<Teams> out = {{2, std::nullopt}};
  if (alone) out.insert(out.begin(), {1, std::nullopt});  // who could disturb it comes with the second
  for (int pes = 4; pes <= std::min(cores, 8) && !quick; pes *= 2) out.push_back({pes, std::nullopt});
  return out;
}

std::string pu_list(const std::vector<int>& pus) { return fmt::format("{}", fmt::join(pus, ",")); }

}  // namespace

Result<std::vector<Teams>> parse_teams(const std::string& list) {
  std::vector<Teams> out;
  for (std::size_t at = 0; at <= list.size();) {
    std::size_t end = std::min(list.find(',', at), list.size());
    auto teams = read_teams(list.substr(at, end - at));
    if (!teams)
      return fail(Errc::invalid, fmt::format("--teams takes sizes such as 4x2,1x8; '{}' is none",
                                             list.substr(at, end - at)));
    out.push_back(*teams);
    at = end + 1;
  }
  return out;
}

Usable usable_part(const Machine& machine, const CpuSet& mask) {
  Usable out;
  CpuSet allowed = machine.pus() & mask;
  out.pus = allowed.members();
  auto touched = [&](Kind kind) {
    std::vector<const Object*> found;
    for (int index : machine.of_kind(kind))
      if (machine.objects[static_cast<std::size_t>(index)].pus.intersects(allowed))
        found.push_back(&machine.objects[static_cast<std::size_t>(index)]);
    return found;
  };
  out.cores = static_cast<int>(touched(Kind::core).size());
  if (out.cores == 0) out.cores = static_cast<int>(out.pus.size());
  auto caches = touched(Kind::l3);
  if (caches.empty()) caches = touched(Kind::l2);
  for (const Object* cache : caches) out.cache_bytes += cache->bytes;
  if (out.cache_bytes == 0) out.cache_bytes = std::uint64_t{32} << 20;  // unknown: more than most have
  return out;
}

std::vector<Teams> default_teams(const BenchKind& kind, int cores, bool quick) {
  if (kind.is_mpi()) return default_ranks(kind, cores, quick);
  if (kind.is_transpose() && !quick && cores > 2) return {{2, std::nullopt}, {cores, std::nullopt}};
  if (kind.is_transpose() || kind.is_fft()) return {{2, std::nullopt}};
  if (kind.is_alloc()) return {{1, std::nullopt}};
  if (kind.is_copy() && cores > 1) return {{1, std::nullopt}, {cores, std::nullopt}};
  if (kind.is_copy()) return {{1, std::nullopt}};
  if (kind.name == "pingpong") return {{2, std::nullopt}};
  if (kind.is_chare()) return default_pes(cores, quick, kind.is_lonely());
  if (kind.is_queues() && quick) return {{1, std::nullopt}, {4, std::nullopt}};
  if (kind.is_queues()) return {{1, std::nullopt}, {2, std::nullopt}, {4, std::nullopt}, {8, std::nullopt}};
  if (kind.name == "nested-overhead") return {{1, std::nullopt}, {2, std::nullopt}, {1, 2}};
  // A prime number of cores has no splits: then those of one core less.
  auto splits = inner_splits(cores);
  if (splits.empty() && cores > 4) splits = inner_splits(cores - 1);
  // Two or three cores hold no nested teams of two; shown nevertheless, oversubscribed.
  if (splits.empty() && !quick) splits = {{2, 2}};
  if (quick && splits.size() > 1) splits.resize(1);
  std::vector<Teams> out;
  if (!quick) out.push_back({1, 1});
  out.push_back({1, cores});
  out.push_back({cores, 1});
  out.insert(out.end(), splits.begin(), splits.end());
  keep_distinct(out);
  return out;
}

std::vector<std::string> size_options(const BenchKind& kind, const Usable& usable, bool quick) {
  std::vector<std::string> out;
  if (quick) out.emplace_back("--quick");
  if (kind.is_mpi()) out.insert(out.end(), {"--pattern", kind.pattern});
  if (kind.name == "nested-stream") {
    std::uint64_t bytes = 4 * usable.cache_bytes;
    if (quick) bytes = std::min(bytes, std::uint64_t{64} << 20);
    out.insert(out.end(), {"--bytes", std::to_string(bytes)});
  } else if (kind.name == "geothermal" && !quick) {
    // Enough planes for the largest inner team, and enough work that a region's start does not count.
    const char* grid = usable.cores <= 8 ? "32x32x32" : usable.cores <= 64 ? "48x48x64" : "64x64x256";
    out.insert(out.end(), {"--grid", grid, "--directions", usable.cores <= 8 ? "8" : "16"});
  } else if (kind.name == "nested-sync" && !quick) {
    out.insert(out.end(), {"--repetitions", "10"});
  }
  return out;
}

namespace {

// Ours, the three of Mei (Charm++ Workshop 2008), and other people's. The program says which of them are not
// installed.
std::vector<Subject> queue_subjects() {
  std::vector<Subject> out;
  for (const char* name : {"nigh", "moodycamel-bulk", "moodycamel", "boost-lockfree", "tbb", "liburcu",
                           "dpdk-style", "lock", "fence", "per-producer"})
    out.push_back({name, {}, {}, {}, {}, {"--queue", name}});
  return out;
}

// Pools, the mallocs of others, each preloaded as its users do, and no allocation at all. The program says
// which library isn't there.
std::vector<Subject> alloc_subjects() {
  const char* const named = std::getenv("NIGH_SNMALLOC");
  const std::string snmalloc = named && *named ? named : "libsnmallocshim.so";
  std::vector<Subject> out;
  for (const auto& [name, library] : {std::pair<std::string, std::string>("nigh", ""),
                                      {"ring", ""},
                                      {"snmalloc", snmalloc},
                                      {"mimalloc", "libmimalloc.so.2"},
                                      {"tcmalloc", "libtcmalloc_minimal.so.4"},
                                      {"jemalloc", "libjemalloc.so.2"},
                                      {"glibc", ""}}) {
    Subject one{name, {}, {}, {}, {}, {"--subject", name}};
    if (!library.empty()) one.environment["LD_PRELOAD"] = library;
    out.push_back(std::move(one));
  }
  return out;
}

// Ours as it decides and both of its ways, what a compiler makes of loops, other people's, and the fastest
// copy.
std::vector<Subject> copy_subjects() {
  std::vector<Subject> out;
  for (const char* name : {"nigh", "nigh-cached", "nigh-streamed", "loop", "prefetch", "tiles", "cycles",
                           "openblas", "fftw", "memcpy", "limit"})
    out.push_back({name, {}, {}, {}, {}, {"--subject", name}});
  return out;
}

// PEs as threads and as the ranks of `nigh run -n`, MPI, and of Charm++ those builds that a variable names.
std::vector<Subject> chare_subjects(const BenchKind& kind, int pes, const std::string& nigh) {
  std::vector<Subject> out;
  if (kind.name == "false-sharing") {
    out.push_back({"state apart", {}, {}, {}, {}, {"--subject", "model-apart"}});
    out.push_back({"state side by side", {}, {}, {}, {}, {"--subject", "model-side-by-side"}});
    return out;
  }
  out.push_back({"nigh", {}, {}, {}, {}, {"--subject", "nigh-threads"}});
  if (kind.moves_elements())
    out.push_back({"nigh, not balanced", {}, {}, {}, {}, {"--subject", "nigh-fixed"}});
  out.push_back({"nigh processes",
                 {nigh, "run", "--quiet", "-n", std::to_string(pes), "--"},
                 {},
                 {},
                 {},
                 {"--subject", "nigh-processes"}});
  out.push_back({"nigh POSIX shm", {}, {}, {}, {}, {"--subject", "nigh-posix-shm"}});
  const std::string ranks = std::to_string(pes);
  // Each process on a node of its own, as it were; and as they are, one node, with what is preloaded for
  // that.
  out.push_back({"nigh over MPICH",
                 {"mpirun.mpich", "-bind-to", "none", "-n", ranks},
                 {{"NIGH_MPI_FAKE_NODES", ranks}},
                 {},
                 {},
                 {"--subject", "nigh-mpi"}});
  out.push_back({"nigh adaptive",
                 {nigh, "run", "--quiet", "--mpi", "--", "mpirun.mpich", "-bind-to", "none", "-n", ranks},
                 {},
                 {},
                 {},
                 {"--subject", "nigh-adaptive"}});
  if (kind.name == "pingpong") {  // what is decided by size, decided once for all
    out.push_back({"nigh, all by pointer", {}, {}, {}, {}, {"--subject", "nigh-by-pointer"}});
    for (const char* way : {"framed", "alone"})
      out.push_back({fmt::format("nigh over MPICH, all {}", way),
                     {"mpirun.mpich", "-bind-to", "none", "-n", ranks},
                     {{"NIGH_MPI_FAKE_NODES", ranks}},
                     {},
                     {},
                     {"--subject", fmt::format("nigh-mpi-{}", way)}});
  }
  out.push_back({"MPICH", {}, {}, {}, {}, {"--subject", "mpi-mpich"}});
  out.push_back(
      {"Open MPI", {}, mpi_environment(mpi_named("openmpi", {})), {}, {}, {"--subject", "mpi-openmpi"}});
  if (kind.name != "kneighbor") return out;  // Charm++ has no such ones
  for (const auto& [build, variable] :
       {std::pair<std::string, const char*>("multicore", "NIGH_CHARM_MULTICORE"),
        {"netlrts", "NIGH_CHARM_NETLRTS"},
        {"netlrts-smp", "NIGH_CHARM_NETLRTS_SMP"},
        {"pxshm", "NIGH_CHARM_PXSHM"},
        {"mpi", "NIGH_CHARM_MPI"}}) {
    const char* const named = std::getenv(variable);
    if (!named || !*named) continue;
    auto environment =
        build == "mpi" ? mpi_environment(mpi_named("openmpi", {})) : std::map<std::string, std::string>();
    environment[variable] = named;
    out.push_back({"Charm++ " + build, {}, environment, {}, {}, {"--subject", "charm-" + build}});
  }
  return out;
}

}  // namespace

std::vector<Subject> subjects_for(const BenchKind& kind, const std::string& runtime, const Teams& teams,
                                  const Usable& usable, const std::string& nigh,
                                  const std::vector<launch::MpiInstall>& installs) {
  if (kind.is_mpi())
    return mpi_subjects(kind, mpi_named(runtime, installs), teams.outer, usable, nigh,
                        installs.empty() || installs.front().name == runtime);
  if (kind.is_queues()) return queue_subjects();
  if (kind.is_alloc()) return alloc_subjects();
  if (kind.is_copy()) return copy_subjects();
  if (kind.is_fft()) return fft_subjects(runtime, teams.outer, usable);
  if (kind.is_transpose()) return transpose_subjects(runtime, teams.outer, usable, nigh);
  if (kind.is_chare()) return chare_subjects(kind, teams.outer, nigh);
  std::string spec = teams.inner ? fmt::format("{},scatter,{},{}", teams.outer, *teams.inner, kind.strategy)
                                 : fmt::format("{},compact", teams.outer);
  std::string pus = pu_list(usable.pus);
  std::vector<Subject> out;
  out.push_back({"nigh", {nigh, "run", "--quiet", "--teams", spec, "--"}, {}, {}});
  out.push_back({"unbound", {}, {}, {}});
  for (const char* policy : {"spread,close", "close,close"})
    out.push_back({std::string("OMP_PROC_BIND=") + policy,
                   {},
                   {{"OMP_PROC_BIND", policy}, {"OMP_PLACES", "cores"}},
                   {}});
  if (runtime == "libgomp") {
    out.push_back({"GOMP_CPU_AFFINITY", {}, {{"GOMP_CPU_AFFINITY", pus}}, {}});
  } else {
    for (const char* type : {"compact", "scatter"})
      out.push_back({std::string("KMP_AFFINITY=") + type,
                     {},
                     {{"KMP_AFFINITY", std::string("granularity=fine,") + type}},
                     {}});
  }
  out.push_back({"likwid-pin", {"likwid-pin", "-q", "-c", pus}, {}, {}});
  if (kind.has_limit)
    out.push_back(
        {"limit", {}, {{"OMP_PROC_BIND", "close"}, {"OMP_PLACES", "cores"}}, Teams{usable.cores, 1}});
  return out;
}

const std::vector<std::string>& cleared_variables() {
  static const std::vector<std::string> names = {"OMP_*",      "GOMP_*", "KMP_*",  "LIKWID_*", "NIGH_*",
                                                 "LD_PRELOAD", "OMPI_*", "MPIR_*", "UCX_*"};
  return names;
}

const std::map<std::string, std::string>& common_environment() {
  // libomp keeps inner teams alive only if told to; nigh run does so, and that is not binding.
  static const std::map<std::string, std::string> variables = {
      {"OMP_MAX_ACTIVE_LEVELS", "2"}, {"OMP_DYNAMIC", "false"}, {"KMP_HOT_TEAMS_MAX_LEVEL", "2"}};
  return variables;
}

}  // namespace nigh::benchmark
