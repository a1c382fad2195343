// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/write_as.hpp"

#include <fmt/format.h>

#include <set>

namespace nigh {

namespace {

std::string joined(const std::vector<PlannedThread>& threads, const char* before, const char* after,
                   const char* between) {
  std::string out;
  for (const PlannedThread& thread : threads)
    out += (out.empty() ? "" : between) + std::string(before) + std::to_string(thread.pu) + after;
  return out;
}

// Places in the order of paths: spread gives thread i of a team its i-th part of them, close the next one in
// it.
std::string as_openmp(const TeamSpec& spec, const std::vector<PlannedThread>& threads) {
  std::string sizes, binds;
  for (std::size_t level = 0; level < spec.levels.size(); ++level) {
    sizes += (level > 0 ? "," : "") + std::to_string(spec.levels[level].size);
    binds += std::string(level > 0 ? "," : "") + (level + 1 < spec.levels.size() ? "spread" : "close");
  }
  return fmt::format(
      "export OMP_PLACES='{}'\nexport OMP_PROC_BIND={}\nexport OMP_NUM_THREADS={}\nexport "
      "OMP_MAX_ACTIVE_LEVELS={}\n",
      joined(threads, "{", "}", ","), binds, sizes, spec.levels.size());
}

// Bit N of a mask is PU N.
std::string mask_of(const std::set<int>& pus) {
  std::string digits;
  for (int digit = *pus.rbegin() / 4; digit >= 0; --digit) {
    unsigned value = 0;
    for (int bit = 0; bit < 4; ++bit) value |= pus.count(4 * digit + bit) != 0 ? 1U << bit : 0U;
    digits += fmt::format("{:x}", value);
  }
  return "0x" + digits;
}

std::string as_slurm(const TeamSpec& spec, const std::vector<PlannedThread>& threads) {
  const auto tasks = static_cast<std::size_t>(spec.levels.front().size);
  const std::size_t each = threads.size() / tasks;
  std::string masks;
  for (std::size_t task = 0; task < tasks; ++task) {
    std::set<int> pus;
    for (std::size_t i = 0; i < each; ++i) pus.insert(threads[task * each + i].pu);
    masks += (task > 0 ? "," : "") + mask_of(pus);
  }
  return fmt::format("srun --nodes=1 --ntasks={} --cpus-per-task={} --cpu-bind=mask_cpu:{}\n", tasks, each,
                     masks);
}

}  // namespace

Result<std::string> write_as(std::string_view form, const TeamSpec& spec,
                             const std::vector<PlannedThread>& threads) {
  std::set<int> used;
  for (const PlannedThread& thread : threads)
    if (!used.insert(thread.pu).second)
      return fail(Errc::invalid, fmt::format("several threads of this plan share PU {}, which {} can't say",
                                             thread.pu, form));
  if (form == "omp") return as_openmp(spec, threads);
  if (form == "slurm") return as_slurm(spec, threads);
  if (spec.levels.size() > 1)
    return fail(Errc::invalid,
                fmt::format("{} has one level of threads, this plan has {}", form, spec.levels.size()));
  if (form == "gomp") return "export GOMP_CPU_AFFINITY='" + joined(threads, "", "", " ") + "'\n";
  if (form == "likwid") return "likwid-pin -c " + joined(threads, "", "", ",") + "\n";
  return fail(Errc::invalid, fmt::format("'{}' is none of omp, gomp, likwid, slurm", form));
}

}  // namespace nigh
