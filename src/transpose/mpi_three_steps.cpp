// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose of O. Haan (SCICOMP 2000, slides 9 and 14), step by step, to hold ours and the cost
// model against:
//
//     local reorder    A, what goes to one rank together   -> a1     all threads
//     global reorder   a1 -> a2 in as many steps as ranks: to rank me + s, from rank me - s
//     local transpose  a2 -> B                                       all threads
//
// Each step is timed: where its messages went (on the node, between nodes) is what the model tells apart,
// too.
#include <climits>
#include <memory>
#include <new>

#include "transpose/mpi_demand.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

namespace nigh::transpose {

namespace {
class ThreeSteps final : public nigh_transpose {
 public:
  ThreeSteps(std::shared_ptr<const Nodes> nodes, const Slabs& slabs, const From& a, const To& b,
             const Crew& crew)
      : nodes_(std::move(nodes)),
        slabs_(slabs),
        a_(a),
        b_(b),
        a1_(new std::byte[slabs.bytes_of_a(me())]),
        a2_(new std::byte[slabs.bytes_of_b(me())]),
        near_(slabs.rows.ranks),
        team_(crew.threads, crew.seats()) {
    for (const int rank : nodes_->neighbours()) near_[static_cast<std::size_t>(rank)] = true;
    MPI_Type_contiguous(static_cast<int>(slabs.element), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~ThreeSteps() override {
    if (!mpi_has_ended()) MPI_Type_free(&type_);
  }
  ThreeSteps(const ThreeSteps&) = delete;
  ThreeSteps& operator=(const ThreeSteps&) = delete;

  Result<void> execute() override {
    seconds_ = {};
    double from = MPI_Wtime();
    const auto lap = [&](double& step) {
      const double now = MPI_Wtime();
      step += now - from;
      from = now;
    };
    for (std::size_t d = 0; d < ranks(); ++d) gather_for(d);
    lap(seconds_.local_reorder);
    for (std::size_t step = 0; step < ranks(); ++step) {
      const std::size_t to = (me() + step) % ranks(), source = (me() + ranks() - step) % ranks();
      exchange(to, source);
      lap(near_[to] ? seconds_.on_node : seconds_.between_nodes);
    }
    const std::size_t rows = slabs_.rows.things, mine = slabs_.columns.count(me());
    transpose({a2_.get(), mine, b_.at, b_.layout.stride, rows, mine}, slabs_.element, team_);
    lap(seconds_.local_transpose);
    return {};
  }
  [[nodiscard]] std::string explain() const override {
    return describe(slabs_, *nodes_, team_) + "local reorder, " + std::to_string(ranks()) +
           " steps of messages, local transpose\n";
  }
  [[nodiscard]] const nigh_transpose_seconds& seconds() const { return seconds_; }

 private:
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(nodes_->rank()); }
  [[nodiscard]] std::size_t ranks() const { return slabs_.rows.ranks; }
  [[nodiscard]] std::byte* out(std::size_t d) const {
    return a1_.get() + slabs_.rows.count(me()) * slabs_.columns.first(d) * slabs_.element;
  }

  void gather_for(std::size_t d) {
    const std::size_t run = slabs_.columns.count(d) * slabs_.element;
    copy({a_.at + slabs_.columns.first(d) * slabs_.element, a_.layout.stride * slabs_.element, out(d), run,
          slabs_.rows.count(me()), run},
         team_);
  }

  void exchange(std::size_t to, std::size_t source) {
    const std::size_t mine = slabs_.columns.count(me());
    const std::size_t sent = slabs_.rows.count(me()) * slabs_.columns.count(to),
                      come = slabs_.rows.count(source) * mine;
    std::byte* const in = a2_.get() + slabs_.rows.first(source) * mine * slabs_.element;
    if (to == me()) {
      copy({out(to), 0, in, 0, 1, sent * slabs_.element}, team_);
    } else {
      MPI_Sendrecv(out(to), static_cast<int>(sent), type_, static_cast<int>(to), 0, in,
                   static_cast<int>(come), type_, static_cast<int>(source), 0, nodes_->all(),
                   MPI_STATUS_IGNORE);
    }
  }

  std::shared_ptr<const Nodes> nodes_;
  Slabs slabs_;
  From a_;
  To b_;
  std::unique_ptr<std::byte[]> a1_, a2_;
  std::vector<bool> near_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  Team team_;
  nigh_transpose_seconds seconds_{};
};
}  // namespace

std::string wrong_in_steps(const Slabs& slabs, const Arrays& arrays) {
  if (arrays.in_place) return "the three steps need a second array: a is b";
  if (slabs.rows.most() > INT_MAX / std::max<std::size_t>(1, slabs.columns.most()))
    return "a block of the three steps is more than a message takes: use more ranks";
  return "";
}

std::unique_ptr<nigh_transpose> make_three_steps(std::shared_ptr<const Nodes> nodes, const Slabs& slabs,
                                                 const From& a, const To& b, const Crew& crew) {
  return std::make_unique<ThreeSteps>(std::move(nodes), slabs, a, b, crew);
}

}  // namespace nigh::transpose

using namespace nigh::transpose;

nigh_transpose* nigh_transpose_mpi_three_steps(size_t rows, size_t columns, size_t element_bytes,
                                               const void* a, size_t a_bytes, void* b, size_t b_bytes,
                                               MPI_Comm comm, int threads) {
  return made([&] {
    return make_mpi({rows, columns, element_bytes, 1, Method::three_steps}, {a, a_bytes, {}, b, b_bytes, {}},
                    comm, threads);
  });
}

int nigh_transpose_mpi_seconds(const nigh_transpose* plan, nigh_transpose_seconds* seconds) {
  const auto* steps = dynamic_cast<const ThreeSteps*>(plan);
  if (steps == nullptr || seconds == nullptr) {
    set_why("only the three steps are timed one by one");
    return -1;
  }
  *seconds = steps->seconds();
  return 0;
}
