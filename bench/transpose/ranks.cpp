// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A matrix of doubles on the ranks of MPI and its transpose, in one subject's way. MB/s, read and written
// once: what passes over memory more often has less. All have the same rows, on pages of the same kind that
// each rank touched.
//
//     nigh            one pass from the neighbours' rows, which are in memory that all map
//     nigh-heap       the same of malloc's memory, which the kernel reads for us (under `nigh run --mpi` it
//     need not) three-steps     the seed's: reorder, exchange in as many steps as there are ranks, transpose;
//     our local kernels pipelined       what a careful program does: tiles into messages, some under way
//     while the next are made alltoallw       the MPI library by itself, with a type of columns memcpy, limit
//     a copy of as many bytes; the fastest known here
#include <mpi.h>
#include <nigh/transpose_mpi.h>
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
#include "transpose/slabs.hpp"

namespace {

using nigh::transpose::copy_part;
using nigh::transpose::Deal;
using nigh::transpose::transpose_part;
constexpr std::size_t word = sizeof(double);
int rank = 0, ranks = 1;

[[noreturn]] void wrong_use(const char* what) {
  if (rank == 0)
    std::fprintf(stderr,
                 "transpose: %s; usage: transpose --subject "
                 "nigh|nigh-heap|three-steps|pipelined|alltoallw|memcpy|limit [--teams RANKS] [--quick]\n",
                 what);
  MPI_Finalize();
  std::exit(2);
}

// This rank's rows of A and of B.
struct Rows {
  Rows(std::size_t n1, std::size_t n2, bool all_map)
      : rows(n1), columns(n2), mapped(all_map), mine{n1, std::size_t(ranks)}, of_b{n2, std::size_t(ranks)} {
    a = get(bytes_a());
    b = get(bytes_b());
    for (std::size_t i = 0; i < count(); ++i)
      for (std::size_t j = 0; j < columns; ++j) a[i * columns + j] = value(first() + i, j);
    std::memset(b, 0, bytes_b());
  }
  ~Rows() {
    for (double* memory : {a, b}) mapped ? nigh_transpose_free(memory) : std::free(memory);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  [[nodiscard]] static double value(std::size_t i, std::size_t j) { return double(i) * 65536 + double(j); }
  [[nodiscard]] std::size_t first(int of = rank) const { return mine.first(std::size_t(of)); }
  [[nodiscard]] std::size_t count(int of = rank) const { return mine.count(std::size_t(of)); }
  [[nodiscard]] std::size_t first_b(int of = rank) const { return of_b.first(std::size_t(of)); }
  [[nodiscard]] std::size_t count_b(int of = rank) const { return of_b.count(std::size_t(of)); }
  [[nodiscard]] std::size_t bytes_a() const { return count() * columns * word; }
  [[nodiscard]] std::size_t bytes_b() const { return count_b() * rows * word; }
  [[nodiscard]] bool transposed() const {
    for (std::size_t j = 0; j < count_b(); ++j)
      for (std::size_t i = 0; i < rows; ++i)
        if (b[j * rows + i] != value(i, first_b() + j)) return false;
    return true;
  }
  [[nodiscard]] bool copied() const { return std::memcmp(a, b, std::min(bytes_a(), bytes_b())) == 0; }

  std::size_t rows, columns;
  bool mapped;
  Deal mine, of_b;
  double *a = nullptr, *b = nullptr;

 private:
  [[nodiscard]] double* get(std::size_t bytes) const {
    void* memory = mapped ? nigh_transpose_alloc(bytes, MPI_COMM_WORLD)
                          : std::aligned_alloc(4096, (bytes + 4096) & ~4095UL);
    if (memory == nullptr) {
      std::fprintf(stderr, "transpose: there is no memory for %zu bytes\n", bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return static_cast<double*>(memory);
  }
};

using Pass = std::function<void()>;
struct Prepared {
  Pass pass;
  bool copies = false;
};

Prepared by_plan(Rows& m) {
  nigh_transpose* plan =
      nigh_transpose_mpi(m.rows, m.columns, word, m.a, m.bytes_a(), m.b, m.bytes_b(), MPI_COMM_WORLD, 1);
  if (plan == nullptr) {
    std::fprintf(stderr, "transpose: %s\n", nigh_transpose_why());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const std::shared_ptr<nigh_transpose> held(plan, nigh_transpose_destroy);
  return {[held] { nigh_transpose_execute(held.get()); }};
}

std::byte* bytes(double* at) { return reinterpret_cast<std::byte*>(at); }

// Seed 002, slide 9. One rank sends to one other in each step.
Prepared three_steps(Rows& m) {
  const auto a1 = std::make_shared<std::vector<double>>(m.bytes_a() / word);
  const auto a2 = std::make_shared<std::vector<double>>(m.bytes_b() / word);
  return {[&m, a1, a2] {
    const nigh::transpose::Way way;
    for (int to = 0; to < ranks; ++to)  // 1: what goes to one rank lies together
      copy_part({bytes(m.a + m.first_b(to)), m.columns * word, bytes(a1->data() + m.count() * m.first_b(to)),
                 m.count_b(to) * word, m.count(), m.count_b(to) * word},
                0, 1, way);
    for (int step = 0; step < ranks; ++step) {  // 2
      const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
      MPI_Sendrecv(a1->data() + m.count() * m.first_b(to), int(m.count() * m.count_b(to)), MPI_DOUBLE, to, 0,
                   a2->data() + m.count_b() * m.first(from), int(m.count(from) * m.count_b()), MPI_DOUBLE,
                   from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    transpose_part({bytes(a2->data()), m.count_b(), bytes(m.b), m.rows, m.rows, m.count_b()}, word, 0, 1,
                   way);  // 3
  }};
}

// As programs have it: tiles of 32 x 32, four panels for each rank, each sent as soon as it is made.
void tiles(const double* from, std::size_t from_stride, double* to, std::size_t to_stride, std::size_t rows,
           std::size_t columns) {
  constexpr std::size_t tile = 32;
  for (std::size_t j = 0; j < columns; j += tile)
    for (std::size_t i = 0; i < rows; i += tile)
      for (std::size_t y = j; y < std::min(j + tile, columns); ++y)
        for (std::size_t x = i; x < std::min(i + tile, rows); ++x)
          to[y * to_stride + x] = from[x * from_stride + y];
}

Prepared pipelined(Rows& m) {
  constexpr std::size_t panels = 4;
  const auto out = std::make_shared<std::vector<double>>(m.bytes_a() / word);
  const auto in = std::make_shared<std::vector<double>>(m.bytes_b() / word);
  return {[&m, out, in] {
    std::vector<MPI_Request> sends, receives;
    std::vector<std::function<void()>> puts;
    const auto cut = [](std::size_t count, std::size_t p) { return count * p / panels; };
    for (int step = 1; step < ranks; ++step) {
      const int from = (rank + ranks - step) % ranks;
      for (std::size_t p = 0; p < panels; ++p) {
        const std::size_t first = cut(m.count_b(), p), count = cut(m.count_b(), p + 1) - first;
        double* at = in->data() + m.first(from) * m.count_b() + first * m.count(from);
        MPI_Irecv(at, int(count * m.count(from)), MPI_DOUBLE, from, int(p), MPI_COMM_WORLD,
                  &receives.emplace_back());
        puts.emplace_back([&m, at, from, first, count] {
          for (std::size_t y = 0; y < count; ++y)
            std::memcpy(m.b + (first + y) * m.rows + m.first(from), at + y * m.count(from),
                        m.count(from) * word);
        });
      }
    }
    for (int step = 1; step < ranks; ++step) {
      const int to = (rank + step) % ranks;
      for (std::size_t p = 0; p < panels; ++p) {
        const std::size_t first = cut(m.count_b(to), p), count = cut(m.count_b(to), p + 1) - first;
        double* at = out->data() + m.count() * (m.first_b(to) + first);
        tiles(m.a + m.first_b(to) + first, m.columns, at, m.count(), m.count(), count);
        MPI_Isend(at, int(count * m.count()), MPI_DOUBLE, to, int(p), MPI_COMM_WORLD, &sends.emplace_back());
      }
    }
    tiles(m.a + m.first_b(), m.columns, m.b + m.first(), m.rows, m.count(), m.count_b());
    for (std::size_t left = receives.size(); left > 0; --left) {
      int which = 0;
      MPI_Waitany(int(receives.size()), receives.data(), &which, MPI_STATUS_IGNORE);
      puts[std::size_t(which)]();
    }
    MPI_Waitall(int(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  }};
}

// What is sent is a run of rows; what is received, for each of them a column of B.
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

Prepared copies(Rows& m, bool fastest) {
  const std::size_t count = std::min(m.bytes_a(), m.bytes_b());
  if (!fastest) return {[&m, count] { std::memcpy(m.b, m.a, count); }, true};
  return {[&m, count] { copy_part({bytes(m.a), 0, bytes(m.b), 0, 1, count}, 0, 1, {}); }, true};
}

Prepared prepare(const std::string& subject, Rows& m) {
  if (subject.starts_with("nigh")) return by_plan(m);
  if (subject == "three-steps") return three_steps(m);
  if (subject == "pipelined") return pipelined(m);
  if (subject == "alltoallw") return alltoallw(m);
  return copies(m, subject == "limit");
}

// From a barrier to the end of the slowest rank; the median of several.
bench::Measured measure(const std::string& subject, std::size_t rows, std::size_t columns, bool quick,
                        std::string& error) {
  Rows m(rows, columns, subject != "nigh-heap");
  const Prepared prepared = prepare(subject, m);
  prepared.pass();
  int right = prepared.copies ? m.copied() : m.transposed(), all_right = 0;
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
  const std::string known = " nigh nigh-heap nigh-spoiled three-steps pipelined alltoallw memcpy limit ";
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
