// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What the model of the transpose predicts, measured: the seconds of each step of the seed's three steps and
// of one pass of ours, for some shapes, on the ranks and threads that it is started with. The result is
// proved once for each. Steps are timed by the rank that is the slowest in all; ours overlap, so they have a
// total alone. One line of JSON for each shape and method.
//
//     steps --threads T [--passes N] 1024x1024 1000x2000 ...
#include <mpi.h>
#include <nigh/transpose_mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "transpose/slabs.hpp"

namespace {

using nigh::transpose::Deal;
using nigh::transpose::Team;
constexpr std::size_t word = sizeof(double);
constexpr double longest = 1.2;  // seconds for one method of one shape
int rank = 0, ranks = 1, nodes = 1, here = 1;
std::vector<int> node_of;  // each rank

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "steps: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

enum Step { reorder, on_node, between, turn, total, steps };
constexpr std::array<const char*, steps> step_names = {"local_reorder", "on_node", "between_nodes",
                                                       "local_transpose", "total"};
using Times = std::array<double, steps>;

std::byte* bytes(double* at) { return reinterpret_cast<std::byte*>(at); }

// This rank's rows of A and of B.
struct Rows {
  Rows(std::size_t n1, std::size_t n2)
      : rows(n1), columns(n2), of_a{n1, std::size_t(ranks)}, of_b{n2, std::size_t(ranks)} {
    a = static_cast<double*>(nigh_transpose_alloc(bytes_a(), MPI_COMM_WORLD));
    b = static_cast<double*>(nigh_transpose_alloc(bytes_b(), MPI_COMM_WORLD));
    if (a == nullptr || b == nullptr) give_up(nigh_transpose_why());
    for (std::size_t i = 0; i < count(); ++i)
      for (std::size_t j = 0; j < columns; ++j) a[i * columns + j] = value(of_a.first(me()) + i, j);
  }
  ~Rows() {
    nigh_transpose_free(a);
    nigh_transpose_free(b);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  static double value(std::size_t i, std::size_t j) { return double(i) * 65536 + double(j); }
  [[nodiscard]] static std::size_t me() { return std::size_t(rank); }
  [[nodiscard]] std::size_t count() const { return of_a.count(me()); }
  [[nodiscard]] std::size_t count_b() const { return of_b.count(me()); }
  [[nodiscard]] std::size_t bytes_a() const { return count() * columns * word; }
  [[nodiscard]] std::size_t bytes_b() const { return count_b() * rows * word; }
  void spoil() { std::memset(b, 0, bytes_b()); }
  [[nodiscard]] bool transposed() const {
    for (std::size_t j = 0; j < count_b(); ++j)
      for (std::size_t i = 0; i < rows; ++i)
        if (b[j * rows + i] != value(i, of_b.first(me()) + j)) return false;
    return true;
  }

  std::size_t rows, columns;
  Deal of_a, of_b;
  double *a = nullptr, *b = nullptr;
};

// Seed 002, slide 9: local parts by all threads, messages by the first of them.
class ThreeSteps {
 public:
  ThreeSteps(Rows& m, Team& team) : m_(m), team_(team), a1_(m.bytes_a() / word), a2_(m.bytes_b() / word) {}
  void pass(Times& times) {
    double from = MPI_Wtime();
    const auto lap = [&](Step step) {
      const double now = MPI_Wtime();
      times[step] += now - from;
      from = now;
    };
    for (int to = 0; to < ranks; ++to) {
      const auto r = std::size_t(to);
      nigh::transpose::copy({bytes(m_.a + m_.of_b.first(r)), m_.columns * word,
                             bytes(a1_.data() + m_.count() * m_.of_b.first(r)), m_.of_b.count(r) * word,
                             m_.count(), m_.of_b.count(r) * word},
                            team_);
    }
    lap(reorder);
    for (int step = 0; step < ranks; ++step) {
      const int to = (rank + step) % ranks, source = (rank + ranks - step) % ranks;
      exchange(to, source);
      const int mine = node_of[std::size_t(rank)];
      lap(node_of[std::size_t(to)] == mine && node_of[std::size_t(source)] == mine ? on_node : between);
    }
    nigh::transpose::transpose({bytes(a2_.data()), m_.count_b(), bytes(m_.b), m_.rows, m_.rows, m_.count_b()},
                               word, team_);
    lap(turn);
  }

 private:
  void exchange(int to, int source) {
    const auto t = std::size_t(to), s = std::size_t(source);
    double* out = a1_.data() + m_.count() * m_.of_b.first(t);
    double* in = a2_.data() + m_.count_b() * m_.of_a.first(s);
    const std::size_t size = m_.count() * m_.of_b.count(t);
    if (to == rank)
      nigh::transpose::copy({bytes(out), 0, bytes(in), 0, 1, size * word}, team_);
    else
      MPI_Sendrecv(out, int(size), MPI_DOUBLE, to, 0, in, int(m_.of_a.count(s) * m_.count_b()), MPI_DOUBLE,
                   source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  Rows& m_;
  Team& team_;
  std::vector<double> a1_, a2_;
};

// The median pass, by its total on the slowest rank; steps of a pass are the slowest rank's of each.
struct Measured {
  Times times{};
  double low = 0, high = 0;
  int passes = 0;
};
Measured measure(const std::function<void(Times&)>& pass, int passes) {
  std::vector<Times> all;
  const double start = MPI_Wtime();
  double spent = 0;
  for (int i = 0; i < passes && (i < 3 || spent < longest); ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    Times mine{}, slowest{};
    const double from = MPI_Wtime();
    pass(mine);
    mine[total] = MPI_Wtime() - from;
    MPI_Allreduce(mine.data(), slowest.data(), steps, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    all.push_back(slowest);
    spent = MPI_Wtime() - start;
    MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  std::sort(all.begin(), all.end(), [](const Times& a, const Times& b) { return a[total] < b[total]; });
  return {all[all.size() / 2], all.front()[total], all.back()[total], static_cast<int>(all.size())};
}

bool report(const Rows& m, int threads, const char* method, const Measured& measured) {
  int right = m.transposed(), all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank != 0) return all_right != 0;
  std::printf(
      "{\"steps\":\"transpose\",\"rows\":%zu,\"columns\":%zu,\"nodes\":%d,\"ranks\":%d,\"threads\":%d,"
      "\"method\":\"%s\",\"passes\":%d,\"verified\":%s,\"low\":%.6g,\"high\":%.6g,\"seconds\":{",
      m.rows, m.columns, nodes, here, threads, method, measured.passes, all_right != 0 ? "true" : "false",
      measured.low, measured.high);
  for (int step = 0; step < steps; ++step)
    std::printf("%s\"%s\":%.6g", step == 0 ? "" : ",", step_names[std::size_t(step)],
                measured.times[std::size_t(step)]);
  std::printf("}}\n");
  std::fflush(stdout);
  return all_right != 0;
}

bool shape(std::size_t rows, std::size_t columns, int threads, int passes) {
  Rows m(rows, columns);
  bool right = true;
  {
    Team team(threads);
    ThreeSteps three(m, team);
    Times ignored{};
    m.spoil();
    three.pass(ignored);
    right = report(m, threads, "three-steps", measure([&](Times& t) { three.pass(t); }, passes)) && right;
  }
  m.spoil();
  nigh_transpose* plan =
      nigh_transpose_mpi(rows, columns, word, m.a, m.bytes_a(), m.b, m.bytes_b(), MPI_COMM_WORLD, threads);
  if (plan == nullptr) give_up(nigh_transpose_why());
  nigh_transpose_execute(plan);
  const Measured ours = measure([&](Times&) { nigh_transpose_execute(plan); }, passes);
  right = report(m, threads, "one-pass", ours) && right;
  nigh_transpose_destroy(plan);
  return right;
}

void find_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &here);
  int leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  node_of.resize(std::size_t(ranks));
  MPI_Allgather(&leader, 1, MPI_INT, node_of.data(), 1, MPI_INT, MPI_COMM_WORLD);
  nodes = 0;
  for (int i = 0; i < ranks; ++i) nodes += node_of[std::size_t(i)] == i;
  MPI_Comm_free(&node);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  find_nodes();
  int threads = 1, passes = 9, shapes = 0;
  bool right = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word_of = argv[i];
    unsigned long rows = 0, columns = 0;
    char more = 0;
    if (i + 1 < argc && word_of == "--threads") {
      threads = std::atoi(argv[++i]);
    } else if (i + 1 < argc && word_of == "--passes") {
      passes = std::atoi(argv[++i]);
    } else if (std::sscanf(argv[i], "%lux%lu%c", &rows, &columns, &more) == 2 && rows > 0 && columns > 0 &&
               rows <= 1UL << 20 && columns <= 1UL << 20 && threads >= 1 && threads <= 1024 && passes >= 1) {
      right = shape(rows, columns, threads, passes) && right;
      ++shapes;
    } else {
      give_up("'" + word_of + "' is not known; usage: steps --threads T [--passes N] ROWSxCOLUMNS...");
    }
  }
  if (shapes == 0) give_up("no shape was given; usage: steps --threads T [--passes N] ROWSxCOLUMNS...");
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  usleep(50000);  // see docs/testing-hosts.md, MPI_Finalize
#endif
  MPI_Finalize();
  return right ? 0 : 1;
}
