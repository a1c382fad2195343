// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic between nodes: one stream of messages for each pair of them, whatever ranks they have. The ranks of
// a node write a panel together into a buffer that all of them map, one of them sends it, and on the other
// node each takes its own part from where one of them received it.
//
//      node S   rank 0 ─┐ writes                          ┌─ takes  rank 4   node D
//               rank 1 ─┼─> buffer ── a message ──> buffer ┼─ takes  rank 5
//               rank 2 ─┘    one rank sends it, one receives it
//
// The ranks of a node send and receive in turn, so that they share that work. There is no barrier: counters
// beside the buffers say how many have written one, that it went, that it came, how many have taken it. They
// only grow. The k-th use of a buffer begins when what they count says that the one before is over.
//
// Pieces that the library sends at once, but for the first, go only when the other rank gave a credit, which
// says that it waits for this message: a rank that is late would have to keep all that comes, and Open MPI
// dies where it can't.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "transpose/mpi_memory.hpp"
#include "transpose/mpi_pieces.hpp"

namespace nigh::transpose {

class Exchange {
 public:
  // near: the ranks of this node reach each other's rows, so nothing is sent to them. If those of a node
  // don't, or have no memory in common, each rank sends for itself. Collective; bad_alloc: no memory, on this
  // rank.
  static Exchange make(const Nodes& nodes, const Slabs& slabs, bool near);

  [[nodiscard]] bool empty() const { return out_.empty() && in_.empty(); }
  [[nodiscard]] std::size_t messages() const { return out_.size(); }   // that its ranks send
  [[nodiscard]] std::size_t largest() const { return largest(true); }  // bytes
  [[nodiscard]] std::size_t piece() const;                             // bytes; 0: messages are whole
  [[nodiscard]] bool of_nodes() const { return together_; }            // not of single ranks

  // All messages of one pass, ours sent and theirs received. idle: is called when there is nothing else to do
  // and does a little; false: it did nothing.
  void run(Team& team, const From& a, const To& b, const CopyOptions& way, const std::function<bool()>& idle);
  // Receives for what comes first, so that it finds them there.
  void begin() { serve(); }

 private:
  struct Message {
    std::size_t group;  // to or from which
    int peer;           // and which rank of it calls MPI
    Panel panel;
    bool ours;               // on this side this rank does
    bool on_credit = false;  // it goes only when a credit for it came
    std::size_t giver = 0;   // of credits_, if it is sent by this rank on credit
  };
  struct alignas(line) Counters {
    std::atomic<std::uint64_t> filled{0};  // packed by so many ranks; came so many times
    std::atomic<std::uint64_t> empty{0};   // went so many times; taken by so many ranks
  };
  // One direction.
  struct Lane {
    Counters* counters = nullptr;
    std::byte* buffers = nullptr;
    std::uint64_t before = 0;            // messages of earlier passes
    std::size_t moved = 0;               // packed or taken by this rank, of this pass
    std::size_t started = 0;             // those before it are under way or through, or are not ours
    std::size_t buffer_bytes = 0;        // at most
    std::vector<std::size_t> under_way;  // requests of each buffer
    // Pieces of one buffer after those of the one before, each time with the credit given behind them where
    // messages come in; behind all where they go out the credits that are waited for.
    std::vector<MPI_Request> requests;
    std::size_t each = 0;   // requests of a buffer
    std::size_t piece = 0;  // of message `started`: those before it are under way or through
    [[nodiscard]] std::size_t buffers_there() const { return under_way.size(); }
    [[nodiscard]] std::uint64_t use(std::size_t i) const { return (before + i) / under_way.size(); }
    [[nodiscard]] std::size_t slot(std::size_t i) const { return (before + i) % under_way.size(); }
    [[nodiscard]] Counters& counters_of(std::size_t i) const { return counters[slot(i)]; }
    [[nodiscard]] std::byte* buffer_of(std::size_t i) const { return buffers + slot(i) * buffer_bytes; }
  };

  // The credits of one rank that this one sends to, since the plan was made.
  struct Credits {
    int peer;
    std::uint64_t of_a_pass = 0;
    std::uint64_t asked = 0, come = 0, used = 0;
  };

  Exchange(const Nodes& nodes, const Slabs& slabs, bool near, bool together, std::size_t piece);
  void list(const Nodes& nodes, bool near, bool out);
  [[nodiscard]] std::size_t bytes_of(const Message& message, bool out) const;
  [[nodiscard]] std::size_t largest(bool out) const;
  bool serve();
  void list_credits();
  void ask_for_credits();
  bool start(bool out);
  bool start_pieces(Lane& lane, std::size_t i, bool out);
  bool finish(bool out);
  [[nodiscard]] bool over() const;  // for this rank

  Slabs slabs_;
  MPI_Comm all_;
  bool together_ = false;
  std::size_t piece_;  // bytes that are one message of MPI's
  std::vector<Group> groups_;
  std::size_t group_ = 0, member_ = 0;
  std::vector<Message> out_, in_;
  std::vector<Credits> credits_;
  std::uint64_t passes_ = 0;    // that are over
  std::size_t pieces_out_ = 0;  // that MPI has been given and not yet sent
  Lane sending_, receiving_;
  std::vector<int> indices_;  // what MPI_Testsome says is through
  std::unique_ptr<NodeMemory> shared_;
  std::unique_ptr<std::byte[]> own_;
};

}  // namespace nigh::transpose
