// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// One stream of traffic. A batch is a list of operations that all ranks draw alike and each carries out its
// part of, in order: starts of sends and receives, both at once, collectives, exchanges. What blocks is only
// put where its partners have started, or come to the same place, so no order of progress can deadlock; what
// doesn't block is tested at random on the way and completed at the end, in one of the many ways that MPI
// has.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layout.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "random.hpp"

namespace soak {

struct Options {
  std::uint64_t seed = 1;
  int seconds = 10;
  int batches = 0;  // stop after as many, not by time
  int threads = 1;
  std::size_t most_bytes = std::size_t{4} << 20;
  unsigned kinds = ~0U;  // bit set of what is done: see Doing
  bool errors = true;
  int verbose = 0;
};
enum Doing : unsigned {
  messages = 1,
  wild = 2,
  collectives = 4,
  nonblocking = 8,
  exchanges = 16,
  comms = 32
};

struct Message {
  int comm = 0;
  int source = 0;
  int target = 0;
  int tag = 0;
  Kind kind = Kind::byte;
  int items = 0;
  std::uint64_t id = 0;
  int wild = -1;          // number of its wild group in this batch
  bool may_block = true;  // the receive was posted before
};

struct Receive {
  int comm = 0;
  int target = 0;
  int message = -1;  // known beforehand, unless wild
  int wild = -1;
  bool may_block = true;
};

// Messages to one rank on one communicator that nothing else uses in this batch, received by wildcards.
struct Wild {
  int comm = 0;
  int target = 0;
  bool any_source = true;
  bool any_tag = true;
  int tag = 0;
  int source = 0;
  Kind kind = Kind::byte;
  int most_items = 0;
  std::vector<int> order;  // its messages, as sent
};

struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false;
  bool receives = false;  // its status means something
  std::function<void(const MPI_Status*)> done;
};

// A receive on its way: where it goes to, and by what it may be matched.
struct Arriving {
  Receive receive;
  Layout layout;
  Buffer buffer;
  MPI_Datatype bottom = MPI_DATATYPE_NULL;  // with absolute addresses
  int capacity = 0;
  int source = 0;
  int tag = 0;
  std::size_t slot = 0;  // its place in wild_results_

  [[nodiscard]] void* address() const { return bottom == MPI_DATATYPE_NULL ? buffer.data() : MPI_BOTTOM; }
  [[nodiscard]] MPI_Datatype type() const { return bottom == MPI_DATATYPE_NULL ? layout.type : bottom; }
  [[nodiscard]] int elements() const { return bottom == MPI_DATATYPE_NULL ? capacity : 1; }
};

// Wild receives are looked at when all are in, in the order in which they were posted.
struct WildResult {
  std::shared_ptr<Arriving> arriving;
  MPI_Status status;
};

class Engine {
 public:
  Engine(const Options& options, MPI_Comm world, Arenas arenas, int stream);
  void batch(int number);
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  [[nodiscard]] long operations() const { return operations_; }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  struct Op {
    enum Type { send, receive, both, collective, exchange } type;
    int index;       // message, or number of the collective or exchange
    int other = -1;  // the receive, for both
    std::uint64_t seed = 0;
  };

  const Options& options_;
  Pool pool_;
  Arenas arenas_;
  int rank_ = 0;
  int stream_ = 0;
  std::uint64_t digest_ = 0;
  long operations_ = 0;
  double bytes_ = 0;
  double budget_ = 0;
  int budget_buffered_ = 0;
  std::vector<Message> messages_;
  std::vector<Receive> receives_;
  std::vector<Wild> wilds_;
  std::vector<Op> ops_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<std::vector<WildResult>> wild_results_;
  Rng local_{0};

  // drawing
  int draw_items(Rng& rng, Kind kind);
  void draw_messages(Rng& rng);
  void draw_wild(Rng& rng);
  void weave(Rng& rng, std::vector<std::vector<Op>> strands);

  // messages.cpp, receives.cpp
  void send(const Message& message, bool may_block);
  void receive(const Receive& receive, bool may_block);
  void both(const Op& op);
  std::shared_ptr<Arriving> prepare(const Receive& receive);
  void receive_blocking(const std::shared_ptr<Arriving>& arriving);
  void arrived(Arriving& arriving, const MPI_Status* status);
  void verify(Arriving& arriving, const Message& message, const MPI_Status* status);
  void verify_wild();

  // completion.cpp
  void enlist(MPI_Request request, bool persistent, bool receives,
              std::function<void(const MPI_Status*)> done);
  void test_some();
  void complete_all();
  bool complete_round(bool may_wait);
  void finished(std::size_t index, const MPI_Status* status);
  void sweep();

  // collective*.cpp: those that move data, those that compute
  void collective(std::uint64_t seed);
  void move_rooted(Rng& rng, Comm& comm, int which, bool later);
  void move_all(Rng& rng, Comm& comm, int which, bool later);
  void move_ragged(Rng& rng, Comm& comm, int which, bool later);
  void compute(Rng& rng, Comm& comm, int which, bool later);
  void finish(bool later, MPI_Request request, std::function<void()> check);

  // exchange.cpp
  void exchange(std::uint64_t seed);
  void exchange_sendrecv(Rng& rng, Comm& comm);
  void exchange_persistent(Rng& rng, Comm& comm);
  void exchange_ready(Rng& rng, Comm& comm);
  void exchange_cancel(Rng& rng, Comm& comm);
  void exchange_truncated(Rng& rng, Comm& comm);
  void exchange_freed(Rng& rng, Comm& comm);
  void exchange_nobody(Rng& rng, Comm& comm);
  void exchange_file(Rng& rng, Comm& comm);
  void exchange_on_one_buffer(Rng& rng, Comm& comm);
  void exchange_wire_length(Rng& rng, Comm& comm);
  void exchange_window(Rng& rng, Comm& comm);
  void add_passively(Rng& rng, Comm& comm, MPI_Win window, std::span<int> mine);

  void count(std::uint64_t id, const char* data, std::size_t bytes);
};

// A status that nothing has written yet, and what its error field may be afterwards.
MPI_Status fresh_status();
void check_error_field(const MPI_Status& status);
void check_status(const MPI_Status& status, int source, int tag, std::size_t bytes, const Layout& layout);
// A type for MPI_BOTTOM that names `count` elements at `data`; null where there are too many pieces.
MPI_Datatype at_bottom(const Layout& layout, int count, char* data);
std::vector<char> stream_of(std::uint64_t id, Kind kind, int items);

}  // namespace soak
