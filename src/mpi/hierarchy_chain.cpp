// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/hierarchy_chain.hpp"

#include <algorithm>

#include "mpi/hierarchy.hpp"

namespace nigh::mpi::coll {
namespace {

constexpr std::size_t depth = 8;  // pieces under way
constexpr int tag = 0;

// The pieces of a message on their way in and out, `depth` of each at most: piece i has the request of the
// one `depth` before, which must have ended. An error is kept, and the other pieces go on as if there was
// none: neighbours wait for them, and one that is left behind would be taken for one of the next call. No
// neighbour: -1.
class Pieces {
 public:
  Pieces(MPI_Comm comm, int before, int next, MPI_Datatype type)
      : comm_(comm), before_(before), next_(next), type_(type) {
    std::fill_n(in_, depth, MPI_REQUEST_NULL);
    std::fill_n(out_, depth, MPI_REQUEST_NULL);
  }
  void receive(std::size_t i, char* to, std::size_t elements) {
    if (before_ < 0) return;
    note(real().Irecv(to, static_cast<int>(elements), type_, before_, tag, comm_, &in_[i % depth]));
  }
  // `waits`: ends when it is received. Small pieces end at once otherwise, and a node would be sent whole
  // messages ahead of time.
  void send(std::size_t i, const char* from, std::size_t elements, bool waits = false) {
    if (next_ < 0) return;
    const auto call = waits ? real().Issend : real().Isend;
    note(call(from, static_cast<int>(elements), type_, next_, tag, comm_, &out_[i % depth]));
  }
  void received(std::size_t i) { wait(in_[i % depth]); }
  void sent(std::size_t i) { wait(out_[i % depth]); }
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  // All was received.
  int end() {
    for (MPI_Request& request : out_) wait(request);
    return code_;
  }

 private:
  void wait(MPI_Request& request) {
    if (request != MPI_REQUEST_NULL) note(real().Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_Comm comm_;
  int before_, next_;
  MPI_Datatype type_;
  MPI_Request in_[depth], out_[depth];
  int code_ = MPI_SUCCESS;
};

// One piece in `depth` waits for its receiver. Not the last one: the call would last longer than it must.
bool waits(std::size_t piece) { return piece % depth == depth / 2; }

// The neighbours of a node in the chain that begins at the root.
struct Place {
  int to_root, from_root;  // -1: none
  Place(const Chain& chain, int root) {
    const int here = (chain.node - root + chain.nodes) % chain.nodes;
    to_root = here == 0 ? -1 : (chain.node + chain.nodes - 1) % chain.nodes;
    from_root = here + 1 == chain.nodes ? -1 : (chain.node + 1) % chain.nodes;
  }
};

// The pieces of the blocks of `nodes` nodes, from `node` downwards, one after the other.
class Walk {
 public:
  Walk(const Chain& chain, int node, int nodes, const int* bytes, std::size_t piece)
      : bytes_(bytes), piece_(piece), all_(chain.nodes), node_(node), left_(nodes) {
    skip_empty();
  }
  [[nodiscard]] bool over() const { return left_ == 0; }
  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] std::size_t at() const { return at_; }  // in the block
  [[nodiscard]] std::size_t length() const { return std::min(piece_, block() - at_); }
  void go_on() {
    at_ += piece_;
    skip_empty();
  }

 private:
  [[nodiscard]] std::size_t block() const { return static_cast<std::size_t>(bytes_[node_]); }
  void skip_empty() {
    for (; left_ > 0 && at_ >= block(); at_ = 0, --left_) node_ = (node_ + all_ - 1) % all_;
  }
  const int* bytes_;
  std::size_t piece_, at_ = 0;
  int all_, node_, left_;
};

}  // namespace

int Chain::bcast(int root, char* data, std::size_t bytes, std::size_t piece) const {
  const Place place(*this, root);
  Pieces pieces(comm, place.to_root, place.from_root, MPI_BYTE);
  const std::size_t count = (bytes + piece - 1) / piece;
  const auto length = [&](std::size_t i) { return std::min(piece, bytes - i * piece); };
  for (std::size_t i = 0; i < std::min(depth, count); ++i) pieces.receive(i, data + i * piece, length(i));
  for (std::size_t i = 0; i < count; ++i) {
    pieces.received(i);
    if (const std::size_t next = i + depth; next < count)
      pieces.receive(next, data + next * piece, length(next));
    pieces.sent(i);
    pieces.send(i, data + i * piece, length(i), waits(i));
  }
  return pieces.end();
}

// The end of the chain sends its operand; each node adds its own to what it gets and sends that on.
int Chain::reduce(int root, const char* from, char* to, std::size_t bytes, std::size_t element,
                  MPI_Datatype type, MPI_Op op, std::size_t piece) const {
  piece = std::max(piece / element, std::size_t{1}) * element;
  const Place place(*this, root);
  const bool ends = place.from_root < 0, roots = place.to_root < 0;
  Pieces pieces(comm, place.from_root, place.to_root, type);
  const std::size_t count = (bytes + piece - 1) / piece;
  Temporary sums;  // of the pieces on their way in and out
  if (!ends && !roots && sums.take(2 * depth * piece) == nullptr) return MPI_ERR_NO_MEM;
  const auto sum = [&](std::size_t i) {
    return roots ? to + i * piece : sums.data() + i % (2 * depth) * piece;
  };
  const auto elements = [&](std::size_t i) { return std::min(piece, bytes - i * piece) / element; };
  const auto receive = [&](std::size_t i) {
    if (!ends && i < count) pieces.receive(i, sum(i), elements(i));
  };
  for (std::size_t i = 0; i < depth; ++i) receive(i);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const own = from + i * piece;
    pieces.received(i);
    if (!ends) pieces.note(real().Reduce_local(own, sum(i), static_cast<int>(elements(i)), type, op));
    pieces.sent(i);  // its place in `sums` is free for i + depth
    if (!roots) pieces.send(i, ends ? own : sum(i), elements(i), waits(i));
    receive(i + depth);
  }
  return pieces.end();
}

// Each node sends its own block to the next one, then what came from the one before but for the last block.
int Chain::allgather(char* blocks, const int* bytes, const int* offsets, std::size_t piece) const {
  const int before = (node + nodes - 1) % nodes;
  Pieces pieces(comm, before, (node + 1) % nodes, MPI_BYTE);
  Walk out(*this, node, nodes - 1, bytes, piece), in(*this, before, nodes - 1, bytes, piece);
  const auto place = [&](const Walk& walk) { return blocks + offsets[walk.node()] + walk.at(); };
  const std::size_t own = (static_cast<std::size_t>(bytes[node]) + piece - 1) / piece;
  // A piece is sent on when it is there; pieces of the own block run ahead.
  const std::size_t ahead = std::min(own, depth / 2);
  std::size_t asked = 0, came = 0;
  const auto ask = [&] {
    if (in.over()) return;
    pieces.receive(asked++, place(in), in.length());
    in.go_on();
  };
  for (std::size_t i = 0; i < depth; ++i) ask();
  for (std::size_t i = 0; !out.over() || came < asked; ++i) {
    while (came < asked && came + ahead <= i) {
      pieces.received(came++);
      ask();
    }
    if (out.over()) continue;
    pieces.sent(i);
    pieces.send(i, place(out), out.length());
    out.go_on();
  }
  return pieces.end();
}

}  // namespace nigh::mpi::coll
