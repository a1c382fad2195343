// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's share of its node's PUs. `nigh run -- mpirun -n 2 ./hybrid` asks Open MPI to bind nobody (it would
// bind each rank to one core) and lists the shares in NIGH_RANK_SHARES, "0-3;4-7": each rank takes its own
// before any OpenMP runtime counts PUs. A rank that has other PUs than `nigh run` had (NIGH_RANK_SHARE) was
// bound by somebody else, and stays as it is.
#pragma once

namespace nigh::preload {

// Before libc is up.
void take_share(char* const* envp);

}  // namespace nigh::preload
