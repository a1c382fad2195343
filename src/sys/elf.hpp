// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The facts in an executable file before it is started: whether a preloaded library can reach it at all. The
// parser trusts nothing in the file: every offset and count is checked or capped, a read past the end is
// simply short, and junk yields "not an ELF file" or fewer facts, never a failure of ours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nigh::sys {

// Up to `size` bytes at `offset`; fewer (or none) when the file ends before.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

struct ProgramFacts {
  bool script = false;                   // begins with #!
  bool elf = false;                      // a little-endian ELF file whose header makes sense
  bool bits32 = false;                   // a 32-bit one
  bool interpreter = false;              // has PT_INTERP: the dynamic loader, hence LD_PRELOAD, is there
  std::string loader{};                  // the path in PT_INTERP
  std::vector<std::string> libraries{};  // that it was linked to (DT_NEEDED), as far as they can be read
  bool static_libgomp = false;           // carries its own copy of GNU's OpenMP runtime
  bool gains_rights = false;  // set-user-ID, set-group-ID or file capabilities: LD_PRELOAD is ignored
};

// The MPI of a program, by the libraries it was linked to: "openmpi"; "mpich", also for those with its ABI
// (Intel's, MVAPICH, Cray's); "another" for an MPI that we don't know by its name; "" for none.
std::string mpi_of(const std::vector<std::string>& libraries);

// All facts but gains_rights, which is not in the file's contents.
// `deep`: also static_libgomp, for which all symbols are looked at.
ProgramFacts elf_facts(const ReadAt& read, bool deep = true);

}  // namespace nigh::sys
