// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// In place over MPI, with a few buffers of messages beside the array. A square's block for rank d and the
// block of d for this rank change places, turned: tile by tile where memory is in reach, each of the two
// ranks doing half, else as messages. Other shapes: runs.hpp.
//
// Pairs of ranks exchange in the order of the sum of their numbers, modulo the ranks: then the first pair
// that is not through is the next one of both.
#include <algorithm>
#include <cstring>
#include <functional>

#include "transpose/mpi_demand.hpp"
#include "transpose/mpi_swaps.hpp"
#include "transpose/runs.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t message_limit = Swaps::message_limit;

class MpiInPlace final : public nigh_transpose {
 public:
  MpiInPlace(std::shared_ptr<const Nodes> nodes, const Slabs& slabs, const To& data, std::size_t bytes,
             const Crew& crew)
      : nodes_(std::move(nodes)), slabs_(slabs), data_(data), peers_(find_peers(*nodes_, data.at, bytes)) {
    const std::vector<int>& here = nodes_->neighbours();
    apart_.resize(here.size());
    MPI_Allgather(&data_.layout.apart, 1, MPI_UINT64_T, apart_.data(), 1, MPI_UINT64_T, nodes_->node());
    strides_.resize(here.size());
    MPI_Allgather(&data_.layout.stride, 1, MPI_UINT64_T, strides_.data(), 1, MPI_UINT64_T, nodes_->node());
    piece_ = find_piece(*nodes_);
    team_ = std::make_unique<Team>(crew.threads, crew.seats());
    if (square()) {
      for (std::size_t matrix = 0; matrix < slabs_.matrices; ++matrix) list_square(matrix);
    } else {
      runs_ = std::make_unique<Runs>(slabs_, me(), team_->threads());
      for (std::size_t matrix = 0; matrix < slabs_.matrices; ++matrix) list_runs(matrix);
    }
    if (!square() || !list_.empty()) swaps_ = std::make_unique<Swaps>(*nodes_, piece_);
  }

  Result<void> execute() override {
    MPI_Barrier(nodes_->node());
    bool enough = true;
    if (square()) {
      for (std::size_t matrix = 0; matrix < slabs_.matrices; ++matrix) exchange_near(matrix);
      if (swaps_) swaps_->run(list_);
    } else {
      for (std::size_t matrix = 0; matrix < slabs_.matrices; ++matrix)
        enough = transpose_in_place(at(matrix), slabs_.rows.count(me()), slabs_.columns.things,
                                    slabs_.element, *team_) &&
                 enough;
      swaps_->run(list_);
      for (std::size_t matrix = 0; matrix < slabs_.matrices; ++matrix) exchange_surplus(matrix);
    }
    const std::string wrong =
        nodes_->agree(enough ? "" : "no memory for the few rows that in place needs beside the matrix");
    if (!wrong.empty()) return fail(Errc::io, wrong);
    return {};
  }

  [[nodiscard]] std::string explain() const override {
    std::string out = "in place, " + describe(slabs_, *nodes_, *team_);
    const bool loads = square() && std::any_of(peers_.begin(), peers_.end(),
                                               [](const Peer& peer) { return peer.reach == Reach::memory; });
    if (loads && peers_.size() > 1) out += "tiles exchanged with neighbours by loads\n";
    if (!list_.empty())
      out += std::to_string(list_.size()) + " messages each way from this rank" +
             (piece_ == no_pieces ? "" : ", to other nodes in pieces of " + std::to_string(piece_)) + "\n";
    return out;
  }

 private:
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(nodes_->rank()); }
  [[nodiscard]] std::size_t ranks() const { return slabs_.rows.ranks; }
  [[nodiscard]] bool square() const { return slabs_.rows.things == slabs_.columns.things; }
  [[nodiscard]] std::byte* at(std::size_t matrix) const {
    return data_.at + matrix * data_.layout.apart * slabs_.element;
  }
  [[nodiscard]] std::size_t neighbour(std::size_t rank) const {  // its index; none: their number
    const auto& here = nodes_->neighbours();
    return static_cast<std::size_t>(std::find(here.begin(), here.end(), static_cast<int>(rank)) -
                                    here.begin());
  }
  [[nodiscard]] bool in_reach(std::size_t rank) const {
    const std::size_t index = neighbour(rank);
    return rank == me() || (index < peers_.size() && peers_[index].reach == Reach::memory);
  }
  // The others, as all have them in order.
  [[nodiscard]] std::vector<std::size_t> partners() const {
    std::vector<std::size_t> all;
    for (std::size_t sum = 0; sum < ranks(); ++sum)
      if (const std::size_t d = (sum + ranks() - me()) % ranks(); d != me()) all.push_back(d);
    return all;
  }

  // Rows and columns of the block of the lower rank, columns and rows of that of the other.
  void list_square(std::size_t matrix) {
    const std::size_t per_line = line / slabs_.element, most = message_limit / slabs_.element;
    for (const std::size_t d : partners()) {
      if (in_reach(d) || slabs_.rows.count(d) == 0 || slabs_.rows.count(me()) == 0) continue;
      const std::size_t lower = slabs_.rows.count(std::min(d, me())),
                        upper = slabs_.rows.count(std::max(d, me()));
      const std::size_t tall = std::min(lower, most / per_line), wide = most / tall / per_line * per_line;
      for (std::size_t down = 0; down < lower; down += tall)
        for (std::size_t across = 0; across < upper; across += wide)
          list_panel(matrix, d, {down, std::min(lower, down + tall)},
                     {across, std::min(upper, across + wide)});
    }
  }
  void list_panel(std::size_t matrix, std::size_t d, const IndexRange& down, const IndexRange& across) {
    const std::size_t element = slabs_.element, stride = data_.layout.stride;
    const IndexRange &own = me() < d ? down : across, &other = me() < d ? across : down;
    const std::size_t rows = own.end - own.first, columns = other.end - other.first;
    std::byte* block = at(matrix) + (own.first * stride + slabs_.columns.first(d) + other.first) * element;
    Swap swap;
    swap.peer = static_cast<int>(d);
    swap.out_bytes = swap.in_bytes = rows * columns * element;
    swap.get = [this, block, stride, rows, columns, element](std::byte* out) {
      const CopyOptions cached{Stores::cached, 0, nullptr};
      team_->run([&](int thread) {
        transpose_part({block, stride, out, rows, rows, columns}, element, thread, team_->threads(), cached);
      });
    };
    swap.put = [this, block, stride, rows, columns, element](const std::byte* in) {
      team_->run([&](int thread) {
        copy_part({in, columns * element, block, stride * element, rows, columns * element}, thread,
                  team_->threads());
      });
    };
    list_.push_back(std::move(swap));
  }

  // Each of a pair does half of the rows of the lower one's block.
  void exchange_near(std::size_t matrix) {
    const std::size_t element = slabs_.element;
    for (const std::size_t rank : partners()) {
      if (!in_reach(rank)) continue;
      const std::size_t index = neighbour(rank), lower = std::min(rank, me()), upper = std::max(rank, me());
      std::byte* theirs = const_cast<std::byte*>(peers_[index].a) + matrix * apart_[index] * element;
      const std::size_t own_stride = data_.layout.stride, stride = strides_[index];
      std::byte* const one = lower == me() ? at(matrix) : theirs;
      std::byte* const other = lower == me() ? theirs : at(matrix);
      const std::size_t one_stride = lower == me() ? own_stride : stride,
                        other_stride = lower == me() ? stride : own_stride;
      const IndexRange half = share(slabs_.rows.count(lower), line / element, lower == me() ? 0 : 1, 2);
      if (half.first >= half.end || slabs_.rows.count(upper) == 0) continue;
      const Opposites blocks{one + (half.first * one_stride + slabs_.columns.first(upper)) * element,
                             one_stride,
                             other + (slabs_.columns.first(lower) + half.first) * element,
                             other_stride,
                             half.end - half.first,
                             slabs_.rows.count(upper)};
      team_->run([&](int thread) { exchange_part(blocks, element, thread, team_->threads()); });
    }
    if (slabs_.rows.count(me()) > 0)
      transpose_square(at(matrix) + slabs_.columns.first(me()) * element, slabs_.rows.count(me()),
                       data_.layout.stride, element, *team_);
  }

  void list_runs(std::size_t matrix) {
    for (const std::size_t d : partners()) {
      const std::size_t bytes = runs_->common(d) * slabs_.element;
      for (std::size_t first = 0, count = 0; first < bytes; first += count) {
        count = std::min(message_limit, bytes - first);
        Swap swap;
        swap.peer = static_cast<int>(d);
        swap.out_bytes = swap.in_bytes = count;
        swap.in = at(matrix) + runs_->out_first(d) * slabs_.element + first;
        swap.get = [from = swap.in, count](std::byte* out) { std::memcpy(out, from, count); };
        list_.push_back(std::move(swap));
      }
    }
  }

  // Sends the surplus that the other has no room for, from where it lies; then all is put in order.
  void exchange_surplus(std::size_t matrix) {
    std::vector<MPI_Request> requests;
    std::byte* data = at(matrix);
    for (const std::size_t d : partners()) {
      const int peer = static_cast<int>(d);
      if (const std::size_t bytes = runs_->surplus_in(d) * slabs_.element; bytes > 0)
        MPI_Irecv(runs_->spill(d), static_cast<int>(bytes), MPI_BYTE, peer, surplus_tag, nodes_->all(),
                  &requests.emplace_back());
      if (const std::size_t bytes = runs_->surplus_out(d) * slabs_.element; bytes > 0)
        MPI_Isend(data + (runs_->out_first(d) + runs_->common(d)) * slabs_.element, static_cast<int>(bytes),
                  MPI_BYTE, peer, surplus_tag, nodes_->all(), &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    runs_->place(data);
    runs_->order(data, *team_);
  }

  std::shared_ptr<const Nodes> nodes_;
  Slabs slabs_;
  To data_;
  std::vector<Peer> peers_;
  std::vector<std::uint64_t> apart_, strides_;  // of the neighbours
  std::unique_ptr<Team> team_;
  std::unique_ptr<Runs> runs_;
  std::size_t piece_ = no_pieces;
  std::vector<Swap> list_;
  std::unique_ptr<Swaps> swaps_;
};
}  // namespace

std::string wrong_in_place(const Slabs& slabs, std::size_t rank, const Arrays& arrays) {
  const Layout &a = arrays.a_layout, &b = arrays.b_layout;
  const bool square = slabs.rows.things == slabs.columns.things;
  if (square && a.stride != b.stride) return "in place a_stride and b_stride of a square are the same";
  if (!square && (a.stride != slabs.columns.things || b.stride != slabs.rows.things))
    return "in place rows have no gaps unless the matrix is square";
  if (slabs.matrices == 1) return "";
  if (a.apart != b.apart) return "in place a_apart and b_apart are the same";
  const std::size_t needed =
      std::max(slabs.bytes_of_a(rank), slabs.bytes_of_b(rank)) / slabs.matrices / slabs.element;
  if (!square && a.apart < needed)
    return "in place matrices lie apart by what the larger of both has, " + std::to_string(needed) +
           " elements";
  return "";
}

std::unique_ptr<nigh_transpose> make_in_place(std::shared_ptr<const Nodes> nodes, const Slabs& slabs,
                                              const To& data, std::size_t bytes, const Crew& crew) {
  return std::make_unique<MpiInPlace>(std::move(nodes), slabs, data, bytes, crew);
}

}  // namespace nigh::transpose
