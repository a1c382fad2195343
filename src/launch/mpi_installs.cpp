// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "launch/mpi_installs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "launch/launcher.hpp"
#include "launch/ranks_run.hpp"
#include "sys/process.hpp"
#include "sys/program.hpp"

namespace nigh::launch {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Sorted, so that the same machine gives the same order.
std::vector<std::string> below(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    out.push_back(at->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path out = fs::canonical(path, error);
  return error ? path : out.string();
}

// The plain names come first, mpiexec (which MPI's standard names) before mpirun.
std::vector<std::string> launchers_in(const std::string& folder) {
  std::vector<std::string> first, others;
  for (const char* name : {"mpiexec", "mpirun"})
    if (sys::find_program(folder + "/" + name)) first.push_back(folder + "/" + name);
  for (const std::string& path : below(folder)) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if ((name.starts_with("mpiexec.") || name.starts_with("mpirun.")) && sys::find_program(path))
      others.push_back(path);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

constexpr std::array open_mpi_files = {"libmpi.so.40"};
constexpr std::array mpich_files = {"libmpi.so.12", "libmpich.so.12"};
constexpr std::array standard_files = {"libmpi_abi.so.0", "libmpi_abi.so.1"};

// lib beside bin, and below it: lib/x86_64-linux-gnu, lib/release of older Intel MPI, not its lib/debug.
std::vector<std::string> library_folders(const std::string& launcher) {
  const fs::path base = fs::path(launcher).parent_path().parent_path();
  std::vector<std::string> out;
  for (const char* name : {"lib", "lib64"}) {
    const std::string folder = (base / name).string();
    if (!is_folder(folder)) continue;
    out.push_back(folder);
    for (const std::string& inner : below(folder))
      if (is_folder(inner) && !inner.substr(inner.rfind('/') + 1).starts_with("debug")) out.push_back(inner);
  }
  return out;
}

template <class Files>
bool find_file(const std::vector<std::string>& folders, const Files& files, MpiInstall& out) {
  for (const std::string& folder : folders)
    for (const char* file : files)
      if (sys::is_readable_file(folder + "/" + file)) {
        out.folder = folder;
        out.file = file;
        return true;
      }
  return false;
}

// Both ABIs of the library beside this launcher; none where it is no launcher of a known kind.
std::vector<MpiInstall> installs_of(const std::string& launcher) {
  MpiInstall one;
  one.kind = library_of_launcher(launcher);
  one.launcher = launcher;
  if (one.kind.empty()) return {};
  std::vector<std::string> folders = library_folders(resolved(launcher));
  for (const std::string& folder : library_folders(launcher)) folders.push_back(folder);
  std::vector<MpiInstall> out;
  if (one.kind == "openmpi" ? find_file(folders, open_mpi_files, one) : find_file(folders, mpich_files, one))
    out.push_back(one);
  // The standard ABI of another library may lie in the same folder of a distribution.
  if (!out.empty() && find_file({one.folder}, standard_files, one)) out.push_back(one);
  return out;
}

bool loader_finds(const std::string& folder) {
  const std::string path = resolved(folder);
  return path == "/lib" || path == "/lib64" || path == "/usr/lib" || path == "/usr/lib64" ||
         (path.starts_with("/usr/lib/") && path.ends_with("-linux-gnu"));
}

}  // namespace

std::vector<std::string> launcher_folders() {
  std::vector<std::string> out;
  const std::string path = variable("PATH");
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at) out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  for (const char* name : {"I_MPI_ROOT", "MPI_HOME", "MPI_ROOT", "MPI_DIR"})
    if (const std::string root = variable(name); !root.empty()) out.push_back(root + "/bin");
  for (const char* parent : {"/usr/lib64", "/usr/lib64/mpi/gcc", "/usr/local", "/opt",
                             "/opt/intel/oneapi/mpi", "/opt/cray/pe/mpich", "/opt/hpcx", "/opt/mpi"})
    for (const std::string& folder : below(parent))
      if (is_folder(folder + "/bin")) out.push_back(folder + "/bin");
  return out;
}

std::vector<MpiInstall> find_mpi(const std::vector<std::string>& folders) {
  std::vector<MpiInstall> out;
  std::set<std::string> seen;
  for (const std::string& folder : folders)
    for (const std::string& launcher : launchers_in(folder))
      for (MpiInstall& one : installs_of(launcher))
        if (seen.insert(resolved(one.folder + "/" + one.file)).second) out.push_back(std::move(one));
  return out;
}

Result<MpiInstall> mpi_of_launcher(const std::string& word) {
  const auto path = sys::find_program(word);
  std::vector<MpiInstall> found = path ? installs_of(*path) : std::vector<MpiInstall>();
  if (found.empty())
    return fail(Errc::invalid, fmt::format("there is no library of MPI beside the launcher '{}'", word));
  return found.front();
}

std::string name_of_version(const std::string& version) {
  struct Words {
    const char* lead;
    const char* name;
  };
  // MVAPICH and Cray say whose code they are in words of their own, before MPICH's.
  constexpr std::array known = {Words{"Open MPI v", "openmpi"},
                                Words{"Intel(R) MPI Library ", "intel"},
                                Words{"MVAPICH2 Version", "mvapich2"},
                                Words{"MVAPICH Version", "mvapich"},
                                Words{"CRAY MPICH version", "cray-mpich"},
                                Words{"MPICH Version", "mpich"}};
  for (const Words& words : known) {
    std::size_t at = version.find(words.lead);
    if (at == std::string::npos) continue;
    at = version.find_first_of("0123456789", at + std::string(words.lead).size());
    if (at == std::string::npos) return words.name;
    const std::size_t end = std::min(version.find_first_of(" \t\n,", at), version.size());
    return fmt::format("{}-{}", words.name, version.substr(at, end - at));
  }
  return "";
}

std::vector<MpiInstall> named(std::vector<MpiInstall> found, const std::string& program,
                              std::vector<std::string>& without) {
  std::vector<MpiInstall> out;
  std::map<std::string, int> times;
  for (MpiInstall& one : found) {
    const std::string what = fmt::format("{} of {}", one.file, one.launcher);
    auto ours = find_own_program(program + "-" + one.file);
    if (!ours) {
      without.push_back(what + ": " + ours.error().message);
      continue;
    }
    sys::Command ask;
    ask.words = {*ours, "--pattern", "version", "--transport", "version"};
    for (const auto& [name, value] : mpi_environment(one)) ask.environment[name] = value;
    ask.clear = {"LD_PRELOAD"};
    ask.timeout_seconds = 20;
    auto done = sys::run_command(ask);
    if (!done || done->status != 0) {
      const std::string why = !done ? done.error().message : done->err.substr(0, done->err.find('\n'));
      without.push_back(what + " can't be used: " + (why.empty() ? "it does not say its version" : why));
      continue;
    }
    one.name = name_of_version(done->out);
    if (one.name.empty()) one.name = one.kind;
    if (one.file.starts_with("libmpi_abi")) one.name += "-abi";
    if (const int before = times[one.name]++; before > 0) one.name += fmt::format("-{}", before + 1);
    out.push_back(std::move(one));
  }
  return out;
}

std::map<std::string, std::string> mpi_environment(const MpiInstall& install) {
  std::map<std::string, std::string> out;
  // Without it Open MPI refuses to start for root, which in containers is everybody.
  if (install.kind == "openmpi")
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
      out[name] = "1";
  const std::string path = variable("LD_LIBRARY_PATH");
  // The user's may name another library of the same name.
  if (install.folder.empty() || (path.empty() && loader_finds(install.folder))) return out;
  out["LD_LIBRARY_PATH"] = install.folder + (path.empty() ? "" : ":" + path);
  return out;
}

}  // namespace nigh::launch
