// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose over MPI. Neighbours' rows are read where they are, once all have said that theirs are
// complete; nobody goes on before all have read. What other nodes have comes in panels (mpi_exchange.hpp):
// while some are on their way the next is turned into a message by all threads of all ranks, those that came
// are put where they belong, and when there is none of either a little is read from the neighbours.
#include <algorithm>
#include <climits>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <vector>

#include "sys/os.hpp"
#include "transpose/mpi_demand.hpp"
#include "transpose/mpi_exchange.hpp"
#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

namespace nigh::transpose {

namespace {
constexpr std::size_t read_bytes = std::size_t{4} << 20;  // from a neighbour, between two looks at messages

class MpiPlan final : public nigh_transpose {
 public:
  MpiPlan(std::shared_ptr<const Nodes> nodes, const Slabs& slabs, const From& a, std::size_t a_bytes,
          const To& b, const Crew& crew)
      : nodes_(std::move(nodes)),
        slabs_(slabs),
        a_(a),
        b_(b),
        peers_(find_peers(*nodes_, a.at, a_bytes)),
        layouts_(gather_layouts(a.layout)),
        exchange_(Exchange::make(*nodes_, slabs, reach() != Reach::message)),
        team_(crew.threads, crew.seats()) {
    way_.stores = streams(way_, slabs_.bytes_of_b(me()), team_.threads()) ? Stores::streamed : Stores::cached;
    list_reads();
  }

  Result<void> execute() override {
    exchange_.begin();
    MPI_Barrier(nodes_->node());  // all rows of A are there
    next_read_ = 0;
    const char* wrong = nullptr;
    const auto some = [&] {
      if (next_read_ == reads_.size()) return false;
      if (const char* now = read_some(reads_[next_read_++]); now != nullptr) wrong = now;
      return true;
    };
    if (exchange_.empty()) {
      while (some()) continue;
    } else {
      exchange_.run(team_, a_, b_, way_, some);
    }
    const std::string of_any = nodes_->agree(wrong == nullptr ? "" : wrong);
    if (!of_any.empty()) return fail(Errc::permission, of_any);
    return {};
  }
  [[nodiscard]] std::string explain() const override;

 private:
  // Rows of B, of which neighbour `peer` has a part.
  struct Read {
    std::size_t peer;
    Panel panel;
  };

  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(nodes_->rank()); }
  // The same to all neighbours.
  [[nodiscard]] Reach reach() const {
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (nodes_->neighbours()[i] != nodes_->rank()) return peers_[i].reach;
    return Reach::memory;
  }
  [[nodiscard]] std::vector<Layout> gather_layouts(const Layout& mine) const {
    std::vector<Layout> all(nodes_->neighbours().size());
    static_assert(sizeof(Layout) == 2 * sizeof(std::uint64_t));
    MPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, nodes_->node());
    return all;
  }

  // One's own rows first, then each neighbour in turn, so that not all read the same one.
  void list_reads() {
    const std::size_t count = peers_.size();
    std::size_t here = 0;
    while (nodes_->neighbours()[here] != nodes_->rank()) ++here;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (here + i) % count, from = static_cast<std::size_t>(nodes_->neighbours()[at]);
      if (peers_[at].reach == Reach::message && from != me()) continue;
      const Panel all = whole_of(slabs_, me());
      const std::size_t row = std::max<std::size_t>(1, slabs_.rows.count(from) * slabs_.element);
      const std::size_t some = std::max<std::size_t>(line, read_bytes / row / line * line);
      const std::size_t each = exchange_.empty() ? all.count : some;
      for (std::size_t first = 0; first < all.count; first += each)
        reads_.push_back({at, {first, std::min(each, all.count - first)}});
    }
  }

  // nullptr, or what is wrong.
  const char* read_some(const Read& read) {
    std::atomic<const char*> wrong = nullptr;
    const Peer& peer = peers_[read.peer];
    const auto from = static_cast<std::size_t>(nodes_->neighbours()[read.peer]);
    const From a = from == me() ? a_ : From{peer.a, layouts_[read.peer]};
    team_.run([&](int thread) {
      if (from == me() || peer.reach == Reach::memory) {
        take(slabs_, from, a, me(), b_, read.panel, thread, team_.threads(), way_);
      } else if (const char* now = take_from_process(slabs_, from, peer.process, a, me(), b_, read.panel,
                                                     thread, team_.threads(), way_);
                 now != nullptr) {
        wrong = now;
      }
    });
    return wrong;
  }

  std::shared_ptr<const Nodes> nodes_;
  Slabs slabs_;
  From a_;
  To b_;
  std::vector<Peer> peers_;
  std::vector<Layout> layouts_;  // of the neighbours' A
  Exchange exchange_;
  Team team_;
  CopyOptions way_;
  std::vector<Read> reads_;
  std::size_t next_read_ = 0;
};

std::string MpiPlan::explain() const {
  std::string out = describe(slabs_, *nodes_, team_);
  if (peers_.size() > 1) out += std::string("neighbours' rows by ") + reach_name(reach()) + "\n";
  if (!exchange_.empty())
    out += std::to_string(exchange_.messages()) + " messages of up to " +
           std::to_string(exchange_.largest()) + " bytes from " +
           (exchange_.of_nodes() ? "this node" : "this rank") +
           (exchange_.piece() == 0 ? "" : " in pieces of " + std::to_string(exchange_.piece())) + "\n";
  return out;
}
// The CPUs that this rank may use are shared with the neighbours that may use the same. threads: as asked
// for.
Crew make_crew(const Nodes& nodes, int threads) {
  auto cpus = sys::affinity();
  const std::uint64_t mask = std::hash<std::string>()(cpus ? cpus->to_list() : "");
  std::vector<std::uint64_t> masks(nodes.neighbours().size());
  MPI_Allgather(&mask, 1, MPI_UINT64_T, masks.data(), 1, MPI_UINT64_T, nodes.node());
  const auto sharers = static_cast<int>(std::count(masks.begin(), masks.end(), mask));
  Crew out;
  out.threads = threads > 0 ? threads : std::max(1, (cpus ? cpus->count() : 1) / sharers);
  std::vector<int> of_all(masks.size());
  MPI_Allgather(&out.threads, 1, MPI_INT, of_all.data(), 1, MPI_INT, nodes.node());
  out.sharing.all = 0;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] != mask) continue;
    if (nodes.neighbours()[i] == nodes.rank()) out.sharing.first = out.sharing.all;
    out.sharing.all += of_all[i];
  }
  return out;
}

std::string text_of(const Demand& d) {
  return (d.matrices == 1 ? "" : std::to_string(d.matrices) + " matrices of ") + std::to_string(d.rows) +
         " x " + std::to_string(d.columns) + " elements of " + std::to_string(d.element) + " bytes";
}

// The same for all ranks.
std::string what_is_wrong(const Demand& here, const Demand& first, const Nodes& nodes, int threads) {
  if (here.rows != first.rows || here.columns != first.columns || here.element != first.element ||
      here.matrices != first.matrices)
    return "it has " + text_of(here) + " to transpose, rank 0 " + text_of(first);
  if (here.method != first.method) return "it wants other steps than rank 0";
  if (auto known = check_element(here.element); !known) return known.error().message;
  if (auto fits = matrix_bytes(here.rows, here.columns, here.element); !fits) return fits.error().message;
  if (auto fits = matrix_bytes(here.rows * here.columns, here.matrices, here.element); !fits)
    return fits.error().message;
  if (threads < 0 || threads > 4096) return "threads is not a number from 0 to 4096";
  std::size_t most = 0;
  for (const Group& group : nodes.groups())
    most = std::max(most, rows_of_a({{here.rows, static_cast<std::size_t>(nodes.size())}, {}, 1, 1}, group));
  if (most > INT_MAX / here.element)
    return "the rows of one node are more than a message takes of a column: use more nodes";
  return "";
}

std::string what_is_wrong(const Slabs& slabs, const Nodes& nodes, Arrays& arrays) {
  const auto me = static_cast<std::size_t>(nodes.rank());
  const std::size_t rows = slabs.rows.count(me), columns = slabs.columns.count(me);
  const std::size_t element = slabs.element;
  auto a = bytes_used("a", arrays.a_layout, rows, slabs.columns.things, slabs.matrices, element),
       b = bytes_used("b", arrays.b_layout, columns, slabs.rows.things, slabs.matrices, element);
  if (!a || !b) return (a ? b : a).error().message;
  arrays.a_used = *a;
  arrays.b_used = *b;
  for (const auto& [name, at, bytes, wanted] :
       {std::tuple("a", arrays.a, arrays.a_bytes, arrays.a_used),
        {"b", static_cast<const void*>(arrays.b), arrays.b_bytes, arrays.b_used}}) {
    if (bytes < wanted)
      return std::string(name) + " has " + std::to_string(bytes) + " bytes where " + std::to_string(wanted) +
             " are needed";
    if (at == nullptr && wanted > 0) return std::string(name) + " is NULL";
  }
  const auto from = reinterpret_cast<std::uintptr_t>(arrays.a),
             to = reinterpret_cast<std::uintptr_t>(arrays.b);
  if (!arrays.in_place && arrays.a_used > 0 && arrays.b_used > 0 &&
      (from - to < arrays.b_used || to - from < arrays.a_used))
    return "a and b overlap";
  return "";
}

// Finds out whether it is done in place, from the ranks that have a part of both arrays: the last rank has. A
// rank that lacks one gives the other for it.
void find_in_place(const Nodes& nodes, const Slabs& slabs, Arrays& arrays, std::string& wrong) {
  const auto me = static_cast<std::size_t>(nodes.rank());
  const bool a = slabs.bytes_of_a(me) > 0, b = slabs.bytes_of_b(me) > 0, same = arrays.a == arrays.b;
  unsigned mine = !(a && b) ? 0U : same ? 2U : 1U, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BOR, nodes.all());
  if (all == 3 && mine == 2) wrong = "a is b, which is not so on all ranks";
  arrays.in_place = all == 2;
  if (arrays.in_place && !a) {
    arrays.a = arrays.b;
    arrays.a_bytes = arrays.b_bytes;
  } else if (arrays.in_place && !b) {
    arrays.b = const_cast<void*>(arrays.a);
    arrays.b_bytes = arrays.a_bytes;
  }
}
}  // namespace

std::string describe(const Slabs& slabs, const Nodes& nodes, const Team& team) {
  return text_of({slabs.rows.things, slabs.columns.things, slabs.element, slabs.matrices}) + " over " +
         std::to_string(nodes.size()) + " ranks, " + std::to_string(nodes.neighbours().size()) +
         " of them on this node, " + std::to_string(team.threads()) + " threads each" +
         seats_text(team.seats()) + ", " + kernels().name + "\n";
}

Result<std::unique_ptr<nigh_transpose>> make_mpi(const Demand& demand, Arrays arrays, MPI_Comm comm,
                                                 int threads) {
  if (auto usable = check_comm(comm); !usable) return tl::unexpected(usable.error());
  const auto nodes = std::make_shared<const Nodes>(comm);
  Demand first = demand;
  static_assert(sizeof first == 5 * sizeof(std::uint64_t));
  MPI_Bcast(&first, 5, MPI_UINT64_T, 0, nodes->all());
  std::string wrong = nodes->agree(what_is_wrong(demand, first, *nodes, threads));
  if (!wrong.empty()) return fail(Errc::invalid, wrong);
  const auto ranks = static_cast<std::size_t>(nodes->size()), me = static_cast<std::size_t>(nodes->rank());
  const bool any = demand.rows > 0 && demand.columns > 0;  // of none there are none, however many
  const Slabs slabs{{demand.rows, ranks}, {demand.columns, ranks}, demand.element, any ? demand.matrices : 0};
  find_in_place(*nodes, slabs, arrays, wrong);
  arrays.a_layout = whole(arrays.a_layout, slabs.rows.count(me), demand.columns);
  arrays.b_layout = whole(arrays.b_layout, slabs.columns.count(me), demand.rows);
  if (wrong.empty()) wrong = what_is_wrong(slabs, *nodes, arrays);
  const bool steps = demand.method == Method::three_steps;
  if (wrong.empty() && steps) wrong = wrong_in_steps(slabs, arrays);
  if (wrong.empty() && arrays.in_place) wrong = wrong_in_place(slabs, me, arrays);
  wrong = nodes->agree(wrong);
  if (!wrong.empty()) return fail(Errc::invalid, wrong);
  const Crew crew = make_crew(*nodes, threads);
  // A rank without memory for messages says so, or the others would wait for its first one.
  std::unique_ptr<nigh_transpose> plan;
  std::string scarce;
  const From a{static_cast<const std::byte*>(arrays.a), arrays.a_layout};
  const To b{static_cast<std::byte*>(arrays.b), arrays.b_layout};
  try {
    if (steps) {
      plan = make_three_steps(nodes, slabs, a, b, crew);
    } else if (arrays.in_place) {
      plan = make_in_place(nodes, slabs, b, std::max(arrays.a_used, arrays.b_used), crew);
    } else {
      plan = std::make_unique<MpiPlan>(nodes, slabs, a, arrays.a_used, b, crew);
    }
  } catch (const std::bad_alloc&) {
    scarce = "there is no memory for the buffers of messages";
  } catch (const std::exception& error) { scarce = error.what(); }
  scarce = nodes->agree(scarce);
  if (!scarce.empty()) return fail(Errc::io, scarce);
  return plan;
}

}  // namespace nigh::transpose

using namespace nigh::transpose;

nigh_transpose* nigh_transpose_mpi_many(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                        const void* a, size_t a_bytes, size_t a_stride, size_t a_apart,
                                        void* b, size_t b_bytes, size_t b_stride, size_t b_apart,
                                        MPI_Comm comm, int threads) {
  return made([&] {
    return make_mpi({rows, columns, element_bytes, matrices},
                    {a, a_bytes, {a_stride, a_apart}, b, b_bytes, {b_stride, b_apart}}, comm, threads);
  });
}

nigh_transpose* nigh_transpose_mpi(size_t rows, size_t columns, size_t element_bytes, const void* a,
                                   size_t a_bytes, void* b, size_t b_bytes, MPI_Comm comm, int threads) {
  return nigh_transpose_mpi_many(1, rows, columns, element_bytes, a, a_bytes, 0, 0, b, b_bytes, 0, 0, comm,
                                 threads);
}

void nigh_transpose_mpi_share(size_t rows, size_t columns, MPI_Comm comm, size_t* first_row,
                              size_t* row_count, size_t* first_column, size_t* column_count) {
  int rank = 0, size = 1;
  const bool usable = nigh::guarded(
      [&] {
        const auto checked = check_comm(comm);
        if (!checked) set_why(checked.error().message);
        return checked.has_value();
      },
      set_why, false);
  if (usable) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  } else {
    rows = columns = 0;
  }
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
nigh_transpose* nigh_transpose_mpi_many_f(size_t matrices, size_t rows, size_t columns, size_t element_bytes,
                                          const void* a, size_t a_bytes, size_t a_stride, size_t a_apart,
                                          void* b, size_t b_bytes, size_t b_stride, size_t b_apart,
                                          MPI_Fint comm, int threads) {
  return nigh_transpose_mpi_many(matrices, rows, columns, element_bytes, a, a_bytes, a_stride, a_apart, b,
                                 b_bytes, b_stride, b_apart, MPI_Comm_f2c(comm), threads);
}
void* nigh_transpose_alloc_f(size_t bytes, MPI_Fint comm) {
  return nigh_transpose_alloc(bytes, MPI_Comm_f2c(comm));
}
