// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Predictions of the transpose model, measured: the seconds of each step of Haan's three steps and
// of one pass of ours, for some shapes, on the ranks and threads that it is started with. The result is
// proved once for each. Steps are timed by the rank that is the slowest in all; ours overlap, so they have a
// total alone. One line of JSON for each shape and method.
//
//     steps [--threads T] [--passes N] 1024x1024 1000x2000 ...    T 0: so that a node's ranks use all its
//     CPUs
#include <mpi.h>
#include <nigh/transpose_mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transpose/rows.hpp"

int bench::rank = 0, bench::ranks = 1;

namespace {

using bench::rank, bench::ranks, bench::Rows;
constexpr double longest = 1.2;  // seconds for one method of one shape
int nodes = 1, here = 1;         // ranks of this one

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "steps: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

enum Step { reorder, on_node, between, turn, total, steps };
constexpr std::array<const char*, steps> step_names = {"local_reorder", "on_node", "between_nodes",
                                                       "local_transpose", "total"};
using Times = std::array<double, steps>;

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

// Ours is timed by its total alone: its steps overlap.
bool method(Rows& m, const char* name, decltype(&nigh_transpose_mpi) make, int threads, int passes) {
  std::memset(m.b, 0, m.bytes_b());
  const std::unique_ptr<nigh_transpose, void (*)(nigh_transpose*)> plan(
      make(m.rows, m.columns, bench::word, m.a, m.bytes_a(), m.b, m.bytes_b(), MPI_COMM_WORLD, threads),
      nigh_transpose_destroy);
  if (plan == nullptr) give_up(nigh_transpose_why());
  const auto pass = [&](Times& times) {
    nigh_transpose_seconds seconds{};
    if (nigh_transpose_execute(plan.get()) != 0) give_up(nigh_transpose_why());
    if (nigh_transpose_mpi_seconds(plan.get(), &seconds) != 0) return;
    times[reorder] = seconds.local_reorder;
    times[on_node] = seconds.on_node;
    times[between] = seconds.between_nodes;
    times[turn] = seconds.local_transpose;
  };
  Times ignored{};
  pass(ignored);
  return report(m, threads, name, measure(pass, passes));
}

bool shape(std::size_t rows, std::size_t columns, int threads, int passes) {
  Rows m(rows, columns, true);
  const bool steps_right = method(m, "three-steps", nigh_transpose_mpi_three_steps, threads, passes);
  return method(m, "one-pass", nigh_transpose_mpi, threads, passes) && steps_right;
}

// The CPUs of a rank, so that all CPUs that the ranks of a node may use are used.
int all_cpus(MPI_Comm node) {
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
  int threads = std::max(1, CPU_COUNT(&all) / here), least = 1;
  MPI_Allreduce(&threads, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least;
}

// Returns the threads of a rank if nobody says how many.
int find_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &here);
  int first = 0;
  MPI_Comm_rank(node, &first);
  const int leads = first == 0 ? 1 : 0;
  MPI_Allreduce(&leads, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int threads = all_cpus(node);
  MPI_Comm_free(&node);
  return threads;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int otherwise = find_nodes();
  int threads = otherwise, passes = 9, shapes = 0;
  bool right = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word_of = argv[i];
    unsigned long rows = 0, columns = 0;
    char more = 0;
    if (i + 1 < argc && word_of == "--threads") {
      const int asked = std::atoi(argv[++i]);
      threads = asked == 0 ? otherwise : asked;
    } else if (i + 1 < argc && word_of == "--passes") {
      passes = std::atoi(argv[++i]);
    } else if (std::sscanf(argv[i], "%lux%lu%c", &rows, &columns, &more) == 2 && rows > 0 && columns > 0 &&
               rows <= 1UL << 20 && columns <= 1UL << 20 && threads >= 1 && threads <= 1024 && passes >= 1) {
      right = shape(rows, columns, threads, passes) && right;
      ++shapes;
    } else {
      give_up("'" + word_of + "' is not known; usage: steps [--threads T] [--passes N] ROWSxCOLUMNS...");
    }
  }
  if (shapes == 0) give_up("no shape was given; usage: steps [--threads T] [--passes N] ROWSxCOLUMNS...");
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPICH_VERSION
  usleep(50000);  // see docs/testing-hosts.md, MPI_Finalize
#endif
  MPI_Finalize();
  return right ? 0 : 1;
}
