// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A launcher's own words about variables for ranks, merged with ours: a user's words must not keep our
// variables from the ranks. Pure, so that every launcher's forms are tested without it.
//
//     Open MPI     -x A                    -x LD_PRELOAD -x NIGH_SPACE -x A
//                  --mca mca_base_env_list "A"          "A;LD_PRELOAD;NIGH_SPACE"
//     MPICH        -genvlist A, -genvnone  -genv LD_PRELOAD ours.so -genv NIGH_SPACE 1 -genvlist A
//     Slurm        --export=A, NONE        --export=A,LD_PRELOAD,NIGH_SPACE
//     all          LD_PRELOAD=theirs.so    LD_PRELOAD=ours.so:theirs.so
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/launcher_words.hpp"

namespace nigh::launch {

struct Forwarding {
  std::vector<std::string> names;  // of the variables that ranks need
  std::string preload;             // the value of LD_PRELOAD, ours first
  bool adds = true;                // ranks don't inherit them: Open MPI's, on other nodes
  std::function<std::string(const std::string&)> value;  // of each of them
};
std::vector<std::string> forward_words(Launcher launcher, const std::vector<std::string>& words,
                                       const Forwarding& what);

// The same of a list: OMPI_MCA_mca_base_env_list with ';', SLURM_EXPORT_ENV with ','.
std::string forward_list(const std::string& list, char between, const Forwarding& what);

// Words of Open MPI's that name variables, beside which a list in the environment is refused.
bool names_variables(const std::vector<std::string>& words);

}  // namespace nigh::launch
