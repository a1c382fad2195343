// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One large message under way: its offer, and the library's request of its descriptor. The same for a single
// send and for each start of a persistent one.
#pragma once

#include "mpi/p2p.hpp"

namespace nigh::mpi {

struct SendState {
  message::Offer* offer = nullptr;
  TypeInfo* type = nullptr;
  std::size_t bytes = 0;
  bool sent = false;  // the descriptor is on its way, or matched for a synchronous send
  bool cancelled = false;
  int error = MPI_SUCCESS;
  unsigned looks = 0;
  std::int64_t deadline = 0;
  MPI_Status status;

  int synchronous_to = -1;  // the receiver whose receive must have begun

  void begin(message::Offer* offer, const Outgoing& out);
  // True: the buffer is the user's.
  bool advance(MPI_Request* wire_request, bool attend = false);
  void hasten();
  int end(MPI_Status& out);
};

// Returned by start_offer when there is no memory for it: nothing happened.
inline constexpr int no_offer = -1;

}  // namespace nigh::mpi
