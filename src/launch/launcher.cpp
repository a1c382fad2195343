// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launcher.hpp"

#include <filesystem>

#include "sys/program.hpp"

namespace nigh::launch {

std::string library_of_launcher(const std::string& word) {
  auto path = sys::find_program(word);
  std::error_code error;
  const std::filesystem::path file =
      path ? std::filesystem::canonical(*path, error) : std::filesystem::path(word);
  const std::string name = file.filename().string();
  for (const char* one : {"orterun", "prterun", "openmpi", "ompi"})
    if (name.find(one) != std::string::npos) return "openmpi";
  for (const char* one : {"mpich", "hydra"})
    if (name.find(one) != std::string::npos) return "mpich";
  if (!path || !(name == "mpirun" || name == "mpiexec")) return "";
  const auto beside = [&](const char* one) {
    return std::filesystem::exists(file.parent_path() / one, error);
  };
  const bool open = beside("ompi_info"), mpich = beside("mpichversion") || beside("hydra_pmi_proxy");
  return open == mpich ? "" : open ? "openmpi" : "mpich";
}

// A program may have a library's name in its own, "solver-openmpi", and be no launcher.
std::optional<Launcher> launcher_of(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  const auto is_like = [&](const char* one) { return name.starts_with(one); };
  if (name == "srun") return Launcher::slurm;
  if (!is_like("mpirun") && !is_like("mpiexec") && !is_like("orterun") && !is_like("prterun"))
    return std::nullopt;
  const std::string library = library_of_launcher(word);
  if (library == "openmpi") return Launcher::open_mpi;
  if (library == "mpich") return Launcher::hydra;
  return std::nullopt;
}

}  // namespace nigh::launch
