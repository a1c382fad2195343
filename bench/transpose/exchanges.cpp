// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes by messages, as programs have them: a tuned pipeline, derived types.
#include <algorithm>
#include <memory>
#include <vector>

#include "transpose/rows.hpp"

namespace bench {

using nigh::transpose::copy_part;
using nigh::transpose::transpose_part;

namespace {
// The way of a careful program on its machine: panels are turned into messages, some under way while the next
// are made, and received ones are put in their place meanwhile.
struct Panels {
  std::size_t panels;  // for each rank
  nigh::transpose::Stores into_messages;
};

class Pipeline {
 public:
  Pipeline(Rows& m, Panels cut)
      : m_(m),
        cut_(cut),
        out_(m.bytes_a() / word),
        in_(m.bytes_b() / word),
        sends_(parts()),
        receives_(parts()) {}

  void pass() {
    for (std::size_t part = 0; part < parts(); ++part) receive(part);
    for (std::size_t part = 0; part < parts(); ++part) {
      send(part);
      for (int which = test(); which != MPI_UNDEFINED; which = test()) put(std::size_t(which));
    }
    transpose_part(
        {bytes(m_.a + m_.first_b()), m_.columns, bytes(m_.b + m_.first()), m_.rows, m_.count(), m_.count_b()},
        word, 0, 1);
    for (int which = wait(); which != MPI_UNDEFINED; which = wait()) put(std::size_t(which));
    MPI_Waitall(int(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  [[nodiscard]] std::size_t parts() const { return std::size_t(ranks - 1) * cut_.panels; }
  [[nodiscard]] std::size_t cut(std::size_t count, std::size_t part) const {
    return count * (part / std::size_t(ranks - 1)) / cut_.panels;
  }
  [[nodiscard]] std::size_t end(std::size_t count, std::size_t part) const {
    return count * (part / std::size_t(ranks - 1) + 1) / cut_.panels;
  }
  // Panel by panel, and of each one for every other rank, the next ones first.
  [[nodiscard]] int to(std::size_t part) const { return (rank + 1 + int(part) % (ranks - 1)) % ranks; }
  [[nodiscard]] int from(std::size_t part) const {
    return (rank + ranks - 1 - int(part) % (ranks - 1)) % ranks;
  }
  [[nodiscard]] double* came(std::size_t part) {
    return in_.data() + m_.first(from(part)) * m_.count_b() + cut(m_.count_b(), part) * m_.count(from(part));
  }

  void receive(std::size_t part) {
    const std::size_t count = end(m_.count_b(), part) - cut(m_.count_b(), part);
    MPI_Irecv(came(part), int(count * m_.count(from(part))), MPI_DOUBLE, from(part), int(part),
              MPI_COMM_WORLD, &receives_[part]);
  }
  void send(std::size_t part) {
    const std::size_t first = m_.first_b(to(part)) + cut(m_.count_b(to(part)), part);
    const std::size_t count = end(m_.count_b(to(part)), part) - cut(m_.count_b(to(part)), part);
    double* const at = out_.data() + m_.count() * first;
    transpose_part({bytes(m_.a + first), m_.columns, bytes(at), m_.count(), m_.count(), count}, word, 0, 1,
                   {cut_.into_messages});
    MPI_Isend(at, int(count * m_.count()), MPI_DOUBLE, to(part), int(part), MPI_COMM_WORLD, &sends_[part]);
  }
  void put(std::size_t part) {
    const std::size_t first = cut(m_.count_b(), part), run = m_.count(from(part)) * word;
    copy_part({bytes(came(part)), run, bytes(m_.b + first * m_.rows + m_.first(from(part))), m_.rows * word,
               end(m_.count_b(), part) - first, run},
              0, 1, {nigh::transpose::Stores::streamed});
  }
  [[nodiscard]] int test() {
    int which = MPI_UNDEFINED, some = 0;
    MPI_Testany(int(receives_.size()), receives_.data(), &which, &some, MPI_STATUS_IGNORE);
    return some != 0 ? which : MPI_UNDEFINED;
  }
  [[nodiscard]] int wait() {
    int which = MPI_UNDEFINED;
    MPI_Waitany(int(receives_.size()), receives_.data(), &which, MPI_STATUS_IGNORE);
    return which;
  }

  Rows& m_;
  Panels cut_;
  std::vector<double> out_, in_;
  std::vector<MPI_Request> sends_, receives_;
};

// The best of three passes, of the slowest rank.
double time_of(Pipeline& pipeline) {
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    pipeline.pass();
    double mine = MPI_Wtime() - from, slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i > 0) best = std::min(best, slowest);
  }
  return best;
}
}  // namespace

// Tuned: numbers of panels and ways to write messages are tried, the fastest is kept.
Prepared pipelined(Rows& m) {
  using nigh::transpose::Stores;
  Panels fastest{1, Stores::cached};
  double best = 1e9;
  for (const std::size_t panels : {1, 2, 4, 8, 16, 32, 64}) {
    for (const Stores into : {Stores::cached, Stores::streamed}) {
      Pipeline one(m, {panels, into});
      const double time = time_of(one);
      if (time >= best) continue;
      best = time;
      fastest = {panels, into};
    }
  }
  const auto kept = std::make_shared<Pipeline>(m, fastest);
  return {[kept] { kept->pass(); }};
}

// A message is a run of rows; each of them becomes a column of B.
Prepared alltoallw(Rows& m) {
  struct Types {
    std::vector<MPI_Datatype> out, in;
    std::vector<int> out_counts, in_counts, out_at, in_at;
    ~Types() {
      for (std::vector<MPI_Datatype>* list : {&out, &in})
        for (MPI_Datatype& type : *list) MPI_Type_free(&type);
    }
  };
  const auto types = std::make_shared<Types>();
  for (int peer = 0; peer < ranks; ++peer) {
    MPI_Datatype rows = MPI_DATATYPE_NULL, column = MPI_DATATYPE_NULL, columns = MPI_DATATYPE_NULL;
    MPI_Type_vector(int(m.count()), int(m.count_b(peer)), int(m.columns), MPI_DOUBLE, &rows);
    MPI_Type_vector(int(m.count_b()), 1, int(m.rows), MPI_DOUBLE, &column);
    MPI_Type_create_hvector(int(m.count(peer)), 1, MPI_Aint(word), column, &columns);
    MPI_Type_free(&column);
    for (MPI_Datatype* type : {&rows, &columns}) MPI_Type_commit(type);
    types->out.push_back(rows);
    types->in.push_back(columns);
    types->out_counts.push_back(1);
    types->in_counts.push_back(1);
    types->out_at.push_back(int(m.first_b(peer) * word));
    types->in_at.push_back(int(m.first(peer) * word));
  }
  return {[&m, types] {
    MPI_Alltoallw(m.a, types->out_counts.data(), types->out_at.data(), types->out.data(), m.b,
                  types->in_counts.data(), types->in_at.data(), types->in.data(), MPI_COMM_WORLD);
  }};
}

}  // namespace bench
