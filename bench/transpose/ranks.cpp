// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A matrix of doubles on the ranks of MPI and its transpose, in one subject's way. MB/s, read and written
// once: what passes over memory more often has less. All have the same rows, on pages of the same kind that
// each rank touched.
//
// - nigh: one pass from the neighbours' rows, which are in memory that all map
// - nigh-heap: the same of malloc's memory, which the kernel reads for us (under `nigh run --mpi` it need
// not)
// - three-steps: Haan's (reorder, exchange in as many steps as there are ranks, transpose)
// - pipelined: messages of panels, tuned, our local kernels
// - alltoallw: the MPI library by itself, with a type of columns
// - fftw-mpi-patient: FFTW's, planned with FFTW_PATIENT
// - memcpy, limit: a copy of as many bytes; the fastest known here
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "transpose/rows.hpp"

int bench::rank = 0, bench::ranks = 1;

namespace {

using bench::bytes, bench::Prepared, bench::rank, bench::ranks, bench::Rows, bench::word;
using nigh::transpose::copy_part;

[[noreturn]] void wrong_use(const char* what) {
  if (rank == 0)
    std::fprintf(stderr,
                 "transpose: %s; usage: transpose --subject "
                 "nigh|nigh-heap|three-steps|pipelined|alltoallw|fftw-mpi-patient|memcpy|limit "
                 "[--teams RANKS] [--quick]\n",
                 what);
  MPI_Finalize();
  std::exit(2);
}

Prepared by_plan(Rows& m, decltype(&nigh_transpose_mpi) make) {
  nigh_transpose* plan = make(m.rows, m.columns, word, m.a, m.bytes_a(), m.b, m.bytes_b(), MPI_COMM_WORLD, 1);
  if (plan == nullptr) {
    std::fprintf(stderr, "transpose: %s\n", nigh_transpose_why());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const std::shared_ptr<nigh_transpose> held(plan, nigh_transpose_destroy);
  return {[held] { nigh_transpose_execute(held.get()); }};
}

Prepared copies(Rows& m, bool fastest) {
  const std::size_t count = std::min(m.bytes_a(), m.bytes_b());
  if (!fastest) return {[&m, count] { std::memcpy(m.b, m.a, count); }, true};
  return {[&m, count] { copy_part({bytes(m.a), 0, bytes(m.b), 0, 1, count}, 0, 1, {}); }, true};
}

Prepared prepare(const std::string& subject, Rows& m) {
  if (subject.starts_with("nigh")) return by_plan(m, nigh_transpose_mpi);
  if (subject == "three-steps") return by_plan(m, nigh_transpose_mpi_three_steps);
  if (subject == "pipelined") return bench::pipelined(m);
  if (subject == "alltoallw") return bench::alltoallw(m);
  if (subject == "fftw-mpi-patient") return bench::fftw_patient(m);
  return copies(m, subject == "limit");
}

[[noreturn]] void absent() {
  if (rank == 0)
    std::fprintf(
        stderr,
        "transpose: built without FFTW for this MPI library (Debian: libfftw3-mpi-dev, Open MPI only)\n");
  MPI_Finalize();
  std::exit(3);
}

// From a barrier to the end of the slowest rank; the median of several.
bench::Measured measure(const std::string& subject, std::size_t rows, std::size_t columns, bool quick,
                        std::string& error) {
  Rows m(rows, columns, subject != "nigh-heap");
  const Prepared prepared = prepare(subject, m);
  if (!prepared.pass) absent();
  prepared.pass();
  int right = prepared.right    ? prepared.right()
              : prepared.copies ? m.copied()
                                : m.transposed(),
      all_right = 0;
  if (subject == "nigh-spoiled" && rank == 0) right = (m.b[0] += 1, m.transposed());
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  std::vector<double> times;
  for (int i = 0; i < (quick ? 7 : 15); ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    prepared.pass();
    double mine = MPI_Wtime() - from, slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times.push_back(slowest);
  }
  std::sort(times.begin(), times.end());
  const std::string name = std::to_string(rows) + "x" + std::to_string(columns);
  if (all_right == 0 && error.empty()) error = name + " is not transposed";
  return {name, 2e-6 * double(rows * columns * word) / times[times.size() / 2], true, "MB/s"};
}

void report(const std::vector<bench::Measured>& figures, const std::string& error) {
  std::vector<int> cpus(static_cast<std::size_t>(ranks));
  const int cpu = sched_getcpu();
  MPI_Gather(&cpu, 1, MPI_INT, cpus.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) bench::report("transpose", figures, cpus, cpus, error);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string subject;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      quick = true;
    } else if (i + 1 < argc && option == "--subject") {
      subject = argv[++i];
    } else if (i + 1 < argc && option == "--teams") {
      if (std::to_string(ranks) != argv[++i]) wrong_use("--teams is not the number of ranks");
    } else {
      wrong_use("an unknown option");
    }
  }
  const std::string known =
      " nigh nigh-heap nigh-spoiled three-steps pipelined alltoallw fftw-mpi-patient memcpy limit ";
  if (subject.empty() || known.find(" " + subject + " ") == std::string::npos) wrong_use("no such subject");
  std::vector<bench::Measured> figures;
  std::string error;
  using Shape = std::pair<std::size_t, std::size_t>;
  const std::vector<Shape> shapes = quick ? std::vector<Shape>{{2048, 2048}, {1000, 1000}}
                                          : std::vector<Shape>{{4096, 4096}, {4099, 4097}, {1000, 1000}};
  for (const auto& [rows, columns] : shapes) figures.push_back(measure(subject, rows, columns, quick, error));
  report(figures, error);
#ifdef MPICH_VERSION
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  MPI_Finalize();
  return error.empty() ? 0 : 1;
}
