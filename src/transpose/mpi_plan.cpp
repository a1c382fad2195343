// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose over MPI. Neighbours' rows are read where they are, once all have said that theirs are
// complete; nobody goes on before all have read. What others have comes in panels: while one is on its way
// the next is turned into a message by all threads, and the one that came is put where it belongs.
//
//      send   turn 0 │ turn 1 │ turn 2 │ ...
//      MPI           │────── 0 ──────│────── 1 ──────│ ...        each way at most `at_once` at a time
//      recv                          │ put 0 │       │ put 1 │
#include <algorithm>
#include <climits>
#include <memory>
#include <new>
#include <vector>

#include "sys/os.hpp"
#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

namespace nigh::transpose {

namespace {
constexpr std::size_t message_bytes = std::size_t{1} << 20;
constexpr int at_once = 4;

struct Demand {
  std::uint64_t rows, columns, element;
};

// A message: a panel of what rank `from` has for rank `to`.
struct Parcel {
  int peer = 0;
  Panel panel;
};

class MpiPlan final : public nigh_transpose {
 public:
  MpiPlan(std::shared_ptr<const Nodes> nodes, const Slabs& slabs, const std::byte* a, std::byte* b,
          int threads)
      : nodes_(std::move(nodes)),
        slabs_(slabs),
        a_(a),
        b_(b),
        team_(threads),
        peers_(find_peers(*nodes_, a, slabs.bytes_of_a(me()))) {
    way_.stores = streams(way_, slabs_.bytes_of_b(me()), team_.threads()) ? Stores::streamed : Stores::cached;
    for (int step = 1; step < nodes_->size(); ++step) {
      add_parcels(out_, (nodes_->rank() + step) % nodes_->size(), true);
      add_parcels(in_, (nodes_->rank() + nodes_->size() - step) % nodes_->size(), false);
    }
    for (Lane* lane : {&sending_, &receiving_}) {
      const std::size_t most = lane == &sending_ ? largest(out_) : largest(in_);
      for (int i = 0; i < at_once && most > 0; ++i) lane->buffers.emplace_back(new std::byte[most + line]);
      lane->parcels.resize(at_once);
      lane->requests.assign(at_once, MPI_REQUEST_NULL);
    }
  }

  Result<void> execute() override {
    MPI_Barrier(nodes_->node());  // all rows of A are there
    for (std::size_t i = 0; i < at_once && next_in_ < in_.size(); ++i) post(i);
    const bool read = read_neighbours();
    exchange();
    const std::string wrong =
        nodes_->agree(read ? "" : "the kernel no longer lets a neighbour's memory be read");
    next_in_ = next_out_ = 0;
    if (!wrong.empty()) return fail(Errc::permission, wrong);
    return {};
  }
  [[nodiscard]] std::string explain() const override;

 private:
  // What is under way in one direction; buffers begin at a line, some elements later than they are allocated.
  struct Lane {
    std::vector<std::unique_ptr<std::byte[]>> buffers;
    std::vector<Parcel> parcels;
    std::vector<MPI_Request> requests;
    [[nodiscard]] std::byte* buffer(std::size_t i) const {
      std::byte* at = buffers[i].get();
      return at + (line - reinterpret_cast<std::uintptr_t>(at) % line) % line;
    }
  };

  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(nodes_->rank()); }
  [[nodiscard]] const Peer* neighbour(int rank) const {
    const auto& here = nodes_->neighbours();
    const auto at = std::find(here.begin(), here.end(), rank);
    return at == here.end() ? nullptr : &peers_[static_cast<std::size_t>(at - here.begin())];
  }
  void add_parcels(std::vector<Parcel>& list, int peer, bool out) const {
    const Peer* near = neighbour(peer);
    if (near != nullptr && near->reach != Reach::message) return;
    const std::size_t to = out ? static_cast<std::size_t>(peer) : me();
    if (slabs_.rows.count(out ? me() : static_cast<std::size_t>(peer)) == 0) return;
    for (std::size_t i = 0; i < panels(slabs_, to, message_bytes); ++i)
      list.push_back({peer, panel(slabs_, to, message_bytes, i)});
  }
  [[nodiscard]] std::size_t bytes_of(const Parcel& parcel, bool out) const {
    return parcel.panel.count * slabs_.rows.count(out ? me() : static_cast<std::size_t>(parcel.peer)) *
           slabs_.element;
  }
  [[nodiscard]] std::size_t largest(const std::vector<Parcel>& list) const {
    std::size_t most = 0;
    for (const Parcel& parcel : list) most = std::max(most, bytes_of(parcel, &list == &out_));
    return most;
  }

  // One's own rows first, then each neighbour in turn, so that not all read the same one.
  bool read_neighbours() {
    std::atomic<bool> all = true;
    team_.run([&](int thread) {
      const std::size_t count = peers_.size();
      std::size_t here = 0;
      while (nodes_->neighbours()[here] != nodes_->rank()) ++here;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (here + i) % count, from = static_cast<std::size_t>(nodes_->neighbours()[at]);
        const Peer& peer = peers_[at];
        if (peer.reach == Reach::memory || from == me()) {
          take(slabs_, from, from == me() ? a_ : peer.a, me(), b_, thread, team_.threads(), way_);
        } else if (peer.reach == Reach::process_memory &&
                   !take_from_process(slabs_, from, peer, me(), b_, thread, team_.threads(), way_)) {
          all = false;
        }
      }
    });
    return all;
  }

  void post(std::size_t i) {
    const Parcel& parcel = receiving_.parcels[i] = in_[next_in_++];
    MPI_Irecv(receiving_.buffer(i), static_cast<int>(bytes_of(parcel, false)), MPI_BYTE, parcel.peer, 0,
              nodes_->all(), &receiving_.requests[i]);
  }
  void send(std::size_t i) {
    const Parcel& parcel = sending_.parcels[i] = out_[next_out_++];
    const Way cached{Stores::cached, 0, nullptr};  // it is read again at once
    team_.run([&](int thread) {
      pack(slabs_, me(), a_, static_cast<std::size_t>(parcel.peer), parcel.panel, sending_.buffer(i), thread,
           team_.threads(), cached);
    });
    MPI_Isend(sending_.buffer(i), static_cast<int>(bytes_of(parcel, true)), MPI_BYTE, parcel.peer, 0,
              nodes_->all(), &sending_.requests[i]);
  }
  void take_in(std::size_t i) {
    const Parcel parcel = receiving_.parcels[i];
    team_.run([&](int thread) {
      unpack(slabs_, static_cast<std::size_t>(parcel.peer), receiving_.buffer(i), parcel.panel, b_, thread,
             team_.threads(), way_);
    });
    if (next_in_ < in_.size()) post(i);
  }

  void exchange() {
    std::size_t left = in_.size();
    while (left > 0 || next_out_ < out_.size()) {
      if (next_out_ < out_.size()) {
        int free = MPI_UNDEFINED, done = 0;
        const auto idle = std::find(sending_.requests.begin(), sending_.requests.end(), MPI_REQUEST_NULL);
        if (idle != sending_.requests.end()) {
          free = static_cast<int>(idle - sending_.requests.begin());
        } else {
          MPI_Testany(at_once, sending_.requests.data(), &free, &done, MPI_STATUS_IGNORE);
        }
        if (free != MPI_UNDEFINED) send(static_cast<std::size_t>(free));
      }
      if (left == 0) continue;
      int came = MPI_UNDEFINED, done = 0;
      if (next_out_ < out_.size()) {
        MPI_Testany(at_once, receiving_.requests.data(), &came, &done, MPI_STATUS_IGNORE);
      } else {
        MPI_Waitany(at_once, receiving_.requests.data(), &came, MPI_STATUS_IGNORE);
      }
      if (came == MPI_UNDEFINED) continue;
      take_in(static_cast<std::size_t>(came));
      --left;
    }
    MPI_Waitall(at_once, sending_.requests.data(), MPI_STATUSES_IGNORE);
  }

  std::shared_ptr<const Nodes> nodes_;
  Slabs slabs_;
  const std::byte* a_;
  std::byte* b_;
  Team team_;
  Way way_;
  std::vector<Peer> peers_;
  std::vector<Parcel> out_, in_;
  std::size_t next_out_ = 0, next_in_ = 0;
  Lane sending_, receiving_;
};

std::string MpiPlan::explain() const {
  std::string out = std::to_string(slabs_.rows.things) + " x " + std::to_string(slabs_.columns.things) +
                    " elements of " + std::to_string(slabs_.element) + " bytes over " +
                    std::to_string(nodes_->size()) + " ranks, " + std::to_string(peers_.size()) +
                    " of them on this node, " + std::to_string(team_.threads()) + " threads each, " +
                    kernels().name + "\n";
  Reach reach = Reach::memory;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (nodes_->neighbours()[i] != nodes_->rank()) reach = peers_[i].reach;
  if (peers_.size() > 1) out += std::string("neighbours' rows by ") + reach_name(reach) + "\n";
  if (!out_.empty())
    out += std::to_string(out_.size()) + " messages of up to " + std::to_string(largest(out_)) + " bytes\n";
  return out;
}

// The CPUs that this rank may use, shared with the neighbours that may use the same.
int share_of_cpus(const Nodes& nodes) {
  auto cpus = sys::affinity();
  const int mine = cpus ? cpus->count() : 1, first = cpus ? cpus->first() : 0;
  std::vector<int> firsts(nodes.neighbours().size());
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, nodes.node());
  const auto sharers = std::count(firsts.begin(), firsts.end(), first);
  return std::max(1, mine / static_cast<int>(sharers));
}

std::string what_is_wrong(const Demand& here, const Demand& first, const Nodes& nodes, const void* a,
                          std::size_t a_bytes, const void* b, std::size_t b_bytes, int threads) {
  const auto text = [](const Demand& d) {
    return std::to_string(d.rows) + " x " + std::to_string(d.columns) + " elements of " +
           std::to_string(d.element) + " bytes";
  };
  if (here.rows != first.rows || here.columns != first.columns || here.element != first.element)
    return "it has " + text(here) + " to transpose, rank 0 " + text(first);
  if (auto known = check_element(here.element); !known) return known.error().message;
  if (auto fits = matrix_bytes(here.rows, here.columns, here.element); !fits) return fits.error().message;
  if (threads < 0 || threads > 4096) return "threads is not a number from 0 to 4096";
  if (Deal{here.rows, static_cast<std::size_t>(nodes.size())}.most() > INT_MAX / here.element)
    return "the rows of one rank are more than a message takes of a column: use more ranks";
  const auto ranks = static_cast<std::size_t>(nodes.size()), me = static_cast<std::size_t>(nodes.rank());
  const Slabs slabs{{here.rows, ranks}, {here.columns, ranks}, here.element};
  for (const auto& [name, at, bytes, wanted] :
       {std::tuple("a", a, a_bytes, slabs.bytes_of_a(me)),
        {"b", static_cast<const void*>(b), b_bytes, slabs.bytes_of_b(me)}}) {
    if (bytes < wanted)
      return std::string(name) + " has " + std::to_string(bytes) + " bytes where " + std::to_string(wanted) +
             " are needed";
    if (at == nullptr && wanted > 0) return std::string(name) + " is NULL";
  }
  const auto* from = static_cast<const std::byte*>(a);
  const auto* to = static_cast<const std::byte*>(b);
  if (from < to + slabs.bytes_of_b(me) && to < from + slabs.bytes_of_a(me)) return "a and b overlap";
  return "";
}
}  // namespace

Result<std::unique_ptr<nigh_transpose>> make_mpi(const Demand& demand, const void* a, std::size_t a_bytes,
                                                 void* b, std::size_t b_bytes, MPI_Comm comm, int threads) {
  const auto nodes = std::make_shared<const Nodes>(comm);
  Demand first = demand;
  MPI_Bcast(&first, 3, MPI_UINT64_T, 0, nodes->all());
  const std::string wrong =
      nodes->agree(what_is_wrong(demand, first, *nodes, a, a_bytes, b, b_bytes, threads));
  if (!wrong.empty()) return fail(Errc::invalid, wrong);
  const int share = share_of_cpus(*nodes);
  const auto ranks = static_cast<std::size_t>(nodes->size());
  const Slabs slabs{{demand.rows, ranks}, {demand.columns, ranks}, demand.element};
  // Who has no memory for messages says so, or the others would wait for its first one.
  std::unique_ptr<nigh_transpose> plan;
  std::string scarce;
  try {
    plan = std::make_unique<MpiPlan>(nodes, slabs, static_cast<const std::byte*>(a),
                                     static_cast<std::byte*>(b), threads == 0 ? share : threads);
  } catch (const std::bad_alloc&) { scarce = "there is no memory for the buffers of messages"; }
  scarce = nodes->agree(scarce);
  if (!scarce.empty()) return fail(Errc::io, scarce);
  return plan;
}

}  // namespace nigh::transpose

using namespace nigh::transpose;

nigh_transpose* nigh_transpose_mpi(size_t rows, size_t columns, size_t element_bytes, const void* a,
                                   size_t a_bytes, void* b, size_t b_bytes, MPI_Comm comm, int threads) {
  return made(
      [&] { return make_mpi({rows, columns, element_bytes}, a, a_bytes, b, b_bytes, comm, threads); });
}

void nigh_transpose_mpi_share(size_t rows, size_t columns, MPI_Comm comm, size_t* first_row,
                              size_t* row_count, size_t* first_column, size_t* column_count) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto me = static_cast<std::size_t>(rank), ranks = static_cast<std::size_t>(size);
  const Deal of_rows{rows, ranks}, of_columns{columns, ranks};
  const auto give = [](std::size_t* where, std::size_t value) {
    if (where != nullptr) *where = value;
  };
  give(first_row, of_rows.first(me));
  give(row_count, of_rows.count(me));
  give(first_column, of_columns.first(me));
  give(column_count, of_columns.count(me));
}

nigh_transpose* nigh_transpose_mpi_f(size_t rows, size_t columns, size_t element_bytes, const void* a,
                                     size_t a_bytes, void* b, size_t b_bytes, MPI_Fint comm, int threads) {
  return nigh_transpose_mpi(rows, columns, element_bytes, a, a_bytes, b, b_bytes, MPI_Comm_f2c(comm),
                            threads);
}
void nigh_transpose_mpi_share_f(size_t rows, size_t columns, MPI_Fint comm, size_t* first_row,
                                size_t* row_count, size_t* first_column, size_t* column_count) {
  nigh_transpose_mpi_share(rows, columns, MPI_Comm_f2c(comm), first_row, row_count, first_column,
                           column_count);
}
void* nigh_transpose_alloc_f(size_t bytes, MPI_Fint comm) {
  return nigh_transpose_alloc(bytes, MPI_Comm_f2c(comm));
}
