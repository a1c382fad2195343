// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI libraries that are installed here: each with the launcher that starts its ranks, found in PATH and
// in the folders where distributions, vendors and sites install them. A library that comes by two ABIs, its
// own and MPI's standard one, is there twice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace nigh::launch {

struct MpiInstall {
  std::string name;      // "openmpi-4.1.4", "intel-2021.18", "mpich-5.0.2-abi"; of find_mpi: no version yet
  std::string kind;      // "openmpi" or "mpich": the words of its launcher
  std::string launcher;  // path
  std::string folder;    // of the library; empty: unknown, the loader finds it
  std::string file;      // by which programs are linked to it: "libmpi.so.40"
};

// Folders that hold launchers, in the order in which they are looked through: PATH's, then those of usual
// places that are there.
std::vector<std::string> launcher_folders();
// One for each library and ABI, in the order of the folders.
std::vector<MpiInstall> find_mpi(const std::vector<std::string>& folders);
// The library's of a launcher's word; its own ABI. Errors: invalid: there is none beside it.
Result<MpiInstall> mpi_of_launcher(const std::string& word);

// "openmpi-4.1.4" for what MPI_Get_library_version says; empty: unknown words.
std::string name_of_version(const std::string& version);
// Names by what the libraries say, by `program`, which prints it; two of one name get numbers. Libraries that
// can't be loaded, or whose program is not there, are left out: each is a sentence in `without`.
std::vector<MpiInstall> named(std::vector<MpiInstall> found, const std::string& program,
                              std::vector<std::string>& without);

// The variables with which a program finds this library: LD_LIBRARY_PATH, and what its launcher wants of
// root.
std::map<std::string, std::string> mpi_environment(const MpiInstall& install);

}  // namespace nigh::launch
