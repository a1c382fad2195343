// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The members of a communicator, as ranks of MPI_COMM_WORLD, learned by local calls only.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/comm.hpp"

namespace nigh::mpi {

void members_start();  // keeps MPI_COMM_WORLD's group
void members_stop();

// Rank -> rank in MPI_COMM_WORLD, -1 for processes outside of it. Empty: the library refused.
std::vector<int> local_members(MPI_Comm comm);
std::vector<int> remote_members(MPI_Comm comm);  // of an inter-communicator

// The same number on all members, other numbers for other members or another order of them.
std::uint64_t members_hash(const std::vector<int>& local, const std::vector<int>& remote);
std::uint64_t members_hash(MPI_Comm comm);

}  // namespace nigh::mpi
