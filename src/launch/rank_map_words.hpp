// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Maps of ranks to nodes in the words of launchers and as the document of `nigh plan --ranks --json`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cpuset.hpp"
#include "base/result.hpp"
#include "launch/launcher_words.hpp"
#include "machine/machine.hpp"

namespace nigh::launch {

struct RankPlace {
  int node = 0;
  CpuSet pus;        // of that node; empty: any
  std::string slot;  // the same as slot_words() writes it
};

// "0:0-3;1:0-3": cores of each package, by their logical numbers; "0:*" for no PUs.
std::string slot_words(const Machine& machine, const CpuSet& pus);

// "rankfile" (Open MPI: a node and its cores by package for each rank), "hosts" (a node for each rank:
// SLURM_HOSTFILE for srun --distribution=arbitrary; Hydra's -f where ranks of a node are consecutive) and
// "rankmap" (words of Hydra's of later MPICHs).
inline constexpr const char* rank_map_forms[] = {"rankfile", "hosts", "rankmap"};
// Without `hosts` the only node is localhost. Errors: invalid: fewer names than nodes.
Result<std::string> write_rank_map(std::string_view form, const std::vector<RankPlace>& places,
                                   const std::vector<std::string>& hosts);

struct WrittenMap {
  std::vector<RankPlace> places;   // of each rank; without `pus`
  std::vector<std::string> hosts;  // of each node; empty: they have no names
};
// The document of nigh plan --ranks --json. Errors: invalid: what is wrong, and in which entry.
Result<WrittenMap> parse_rank_map(std::string_view text);

// The forms in which launchers take a map.
enum class MapWay {
  rankfile,         // mpirun --rankfile FILE: Open MPI before 5
  map_by_rankfile,  // mpirun --map-by rankfile:file=FILE
  hosts,    // mpiexec -f FILE: Hydra; ranks of one host that are not consecutive get two nodes of MPICH's
  rankmap,  // mpiexec -hosts a,b -rankmap 0,1,1,0: Hydra of later MPICHs
  hostfile  // srun --distribution=arbitrary, and SLURM_HOSTFILE=FILE
};
// The form of the file.
const char* form_of(MapWay way);
// The launcher's words with the map in them, which `file` holds. Errors: invalid: the words place ranks
// themselves, or start another number; unsupported: this way can't say this map.
Result<std::vector<std::string>> words_with_map(MapWay way, const std::vector<std::string>& words,
                                                const WrittenMap& map, const std::string& file);

}  // namespace nigh::launch
