// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Early messages: those that a probe has taken out of the library and that no receive has asked for yet. A
// probe can't look inside a message, and the length of a descriptor says nothing of the payload's. So where
// the library says wire_bytes, a matched probe takes the message out and we read it: its length is known
// then, and not guessed from what the sender has offered. All that the same sender sent before on that
// communicator is taken out with it, so that the early messages of a sender are always the first of those
// that nobody has received: who looks here first, and asks the library only then, finds messages in MPI's
// order, wildcards included.
//
// Between a look here and the library's answer no other thread may take a message out: the Gate, one for each
// communicator. In one thread, and as long as no probe has met a descriptor, all of this is one load.
#pragma once

#include <atomic>

#include "message/early_list.hpp"
#include "mpi/p2p.hpp"

namespace nigh::mpi {

struct Early {
  Early* next = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Status status;                       // its length is the payload's
  MPI_Message message = MPI_MESSAGE_NULL;  // the library's, where it has not been read
  message::Offer* offer = nullptr;         // of a descriptor that has
  unsigned char plain[wire_bytes];         // or else what came
};

// Early messages there are, and one more if several threads may be in MPI.
extern std::atomic<int> g_early;
// A receive has to look here first (or to keep others from it).
inline bool look_early() { return g_early.load(std::memory_order_relaxed) != 0; }

// The source, tag and communicator that a receive or a probe asks for.
struct Wanted {
  MPI_Comm comm;
  int source, tag;
};
// The library will take these words, so nothing is raised while the gate is held: true on communicators that
// we know, where descriptors may come.
bool is_usual(const Wanted& wanted);
// The same of a receive's buffer.
bool is_usual(const void* buffer, MPI_Count count, MPI_Datatype type);

class Gate : public message::EarlyGate {
 public:
  explicit Gate(MPI_Comm comm);
};

// Within the gate: the first early message that matches, left where it is or taken away; nullptr: none.
Early* find_early(const Wanted& wanted);
Early* take_early(const Wanted& wanted);

Early* new_early(MPI_Comm comm);  // nullptr: no memory
// Its status, which tells of a message that no receive may have, can be that of a descriptor: the sender has
// us.
bool comes_from_ours(MPI_Comm comm, const MPI_Status& status);
// Within the gate: the library's probe has told of this message. Takes it out, after what came before it from
// the same sender. False: it is not there any more, or there is no memory.
bool take_out(MPI_Comm comm, const MPI_Status& probed);
// The message is ours to read, since a probe has matched it: reads it if it may be a descriptor.
void read_early(Early& early);
// The payload of a message that was read; the status tells of it. Returns MPI_SUCCESS or MPI_ERR_TRUNCATE,
// not raised. Frees `early`.
int bring_early(Early* early, const Landing& landing, MPI_Status& status);
// A request for a message that was read, complete as soon as it is asked for. Frees `early`. Raises.
int start_early(Early* early, const Landing& landing, MPI_Request* request);
// The library's message, of one that was not read; frees `early`.
MPI_Message release_early(Early* early);
void free_early(Early* early);

// --- matched probes ---
// Makes `early` a message of the user's, with a handle of the library's; false: no memory, it is freed.
bool hand_out(Early* early, MPI_Message* message);
// The message that a handle stands for.
struct Matched {
  MPI_Comm comm = MPI_COMM_WORLD;          // MPI_COMM_WORLD if we did not note it
  Early* early = nullptr;                  // one that was read: then the handle is that of an empty message,
  MPI_Request request = MPI_REQUEST_NULL;  // which this request sends
};
Matched find_matched(MPI_Message message);
void forget_matched(MPI_Message message);
// The message that a handle stands for is received another way: the handle goes. Of one that was read.
void close_matched(const Matched& matched, MPI_Message* message);

// For a synchronous send that the library has completed: true if `to` has only probed it, and no receive has
// asked for the message yet.
bool only_probed(const message::Offer* offer, int to);

}  // namespace nigh::mpi
