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
// one `depth` before, which must have ended. No neighbour: -1.
class Pieces {
 public:
  Pieces(MPI_Comm comm, int before, int next, MPI_Datatype type)
      : comm_(comm), before_(before), next_(next), type_(type) {
    std::fill_n(in_, depth, MPI_REQUEST_NULL);
    std::fill_n(out_, depth, MPI_REQUEST_NULL);
  }
  int receive(std::size_t i, char* to, std::size_t elements) {
    if (before_ < 0) return MPI_SUCCESS;
    return real().Irecv(to, static_cast<int>(elements), type_, before_, tag, comm_, &in_[i % depth]);
  }
  int send(std::size_t i, const char* from, std::size_t elements) {
    if (next_ < 0) return MPI_SUCCESS;
    return real().Isend(from, static_cast<int>(elements), type_, next_, tag, comm_, &out_[i % depth]);
  }
  int received(std::size_t i) { return wait(in_[i % depth]); }
  int sent(std::size_t i) { return wait(out_[i % depth]); }
  // Nothing is under way any more. `code`: MPI_SUCCESS, or why the chain broke.
  int end(int code) {
    for (MPI_Request& request : in_) {
      if (request == MPI_REQUEST_NULL) continue;
      real().Cancel(&request);
      wait(request);
    }
    for (MPI_Request& request : out_)
      if (const int error = wait(request); code == MPI_SUCCESS) code = error;
    return code;
  }

 private:
  static int wait(MPI_Request& request) {
    return request == MPI_REQUEST_NULL ? MPI_SUCCESS : real().Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm comm_;
  int before_, next_;
  MPI_Datatype type_;
  MPI_Request in_[depth], out_[depth];
};

// The neighbours of a node in the chain that begins at the root.
struct Place {
  int to_root, from_root;  // -1: none
  Place(const Chain& chain, int root) {
    const int here = (chain.node - root + chain.nodes) % chain.nodes;
    to_root = here == 0 ? -1 : (chain.node + chain.nodes - 1) % chain.nodes;
    from_root = here + 1 == chain.nodes ? -1 : (chain.node + 1) % chain.nodes;
  }
};

}  // namespace

int Chain::bcast(int root, char* data, std::size_t bytes, std::size_t piece) const {
  const Place place(*this, root);
  Pieces pieces(comm, place.to_root, place.from_root, MPI_BYTE);
  const std::size_t count = (bytes + piece - 1) / piece;
  const auto length = [&](std::size_t i) { return std::min(piece, bytes - i * piece); };
  int code = MPI_SUCCESS;
  for (std::size_t i = 0; i < std::min(depth, count) && code == MPI_SUCCESS; ++i)
    code = pieces.receive(i, data + i * piece, length(i));
  for (std::size_t i = 0; i < count && code == MPI_SUCCESS; ++i) {
    code = pieces.received(i);
    if (const std::size_t next = i + depth; code == MPI_SUCCESS && next < count)
      code = pieces.receive(next, data + next * piece, length(next));
    if (code == MPI_SUCCESS) code = pieces.sent(i);
    if (code == MPI_SUCCESS) code = pieces.send(i, data + i * piece, length(i));
  }
  return pieces.end(code);
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
    return ends || i >= count ? MPI_SUCCESS : pieces.receive(i, sum(i), elements(i));
  };
  int code = MPI_SUCCESS;
  for (std::size_t i = 0; i < depth && code == MPI_SUCCESS; ++i) code = receive(i);
  for (std::size_t i = 0; i < count && code == MPI_SUCCESS; ++i) {
    const char* const own = from + i * piece;
    code = pieces.received(i);
    if (code == MPI_SUCCESS && !ends)
      code = real().Reduce_local(own, sum(i), static_cast<int>(elements(i)), type, op);
    if (code == MPI_SUCCESS) code = pieces.sent(i);  // its place in `sums` is free for i + depth
    if (code == MPI_SUCCESS && !roots) code = pieces.send(i, ends ? own : sum(i), elements(i));
    if (code == MPI_SUCCESS) code = receive(i + depth);
  }
  return pieces.end(code);
}

namespace {

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
  int code = MPI_SUCCESS;
  const auto ask = [&] {
    if (in.over()) return MPI_SUCCESS;
    const int error = pieces.receive(asked++, place(in), in.length());
    in.go_on();
    return error;
  };
  for (std::size_t i = 0; i < depth && code == MPI_SUCCESS; ++i) code = ask();
  for (std::size_t i = 0; code == MPI_SUCCESS && (!out.over() || came < asked); ++i) {
    while (code == MPI_SUCCESS && came < asked && came + ahead <= i) {
      code = pieces.received(came++);
      if (code == MPI_SUCCESS) code = ask();
    }
    if (out.over() || code != MPI_SUCCESS) continue;
    code = pieces.sent(i);
    if (code == MPI_SUCCESS) code = pieces.send(i, place(out), out.length());
    out.go_on();
  }
  return pieces.end(code);
}

}  // namespace nigh::mpi::coll
