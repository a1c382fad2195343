// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A complex forward transform on the ranks of MPI, in one subject's way. Mflop/s by the custom of FFTW's
// authors, 5 N log2 N operations. Natural order in and out, or (-transposed) the result turned.
//
//     nigh, nigh-transposed             nigh's own kernels
//     nigh-fftw, nigh-fftw-transposed   rows by FFTW, if libnigh-fft-fftw.so is there
//     fftw-mpi, fftw-mpi-transposed     FFTW's own, PATIENT, in place (which it does faster); with Open MPI
//                                       only: Debian has no other. Its transposed order in one dimension is
//                                       not told, so that is left out
//     fftw-openmp                       one process, --teams threads
//     limit                             each rank's rows twice by FFTW, and nothing moved between ranks
#include <mpi.h>
#include <nigh/fft_mpi.h>
#include <sched.h>
#include <sys/mman.h>
#ifdef NIGH_FFTW_MPI
#include <fftw3-mpi.h>
#endif
#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "common/batches.hpp"

namespace {

using Complex = std::complex<double>;
int rank = 0, ranks = 1, threads = 1;
// Seconds that FFTW may plan a transform, in every sample: PATIENT wants minutes for the large ones, and with
// 20 its plans for MPI were half as fast as with 40. Its wisdom is not kept: what it had learned within such
// a limit gave slower plans the next time.
double patience = 45;
unsigned effort = FFTW_PATIENT;  // with --quick FFTW_MEASURE

[[noreturn]] void wrong_use(const char* what) {
  if (rank == 0)
    std::fprintf(stderr,
                 "fft: %s; usage: fft --subject nigh|nigh-transposed|nigh-fftw|nigh-fftw-transposed|fftw-mpi|"
                 "fftw-mpi-transposed|fftw-openmp|limit [--teams RANKS] [--only CASE] [--quick]\n",
                 what);
  MPI_Finalize();
  std::exit(2);
}
[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "fft: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

using Shape = std::vector<std::size_t>;
std::size_t product(const Shape& n) {
  std::size_t all = 1;
  for (const std::size_t one : n) all *= one;
  return all;
}

// The parts of a subject that the measurement needs.
struct Prepared {
  std::shared_ptr<void> held;  // plans and memory
  std::function<void()> pass;
  Complex *in = nullptr, *out = nullptr;
  std::size_t first_in = 0, count_in = 0;  // elements, in natural order
  std::size_t count_out = 0;
  std::function<std::size_t(std::size_t i)> index;  // of element i of `out` in natural order; none: unchecked
};

Prepared by_nigh(const Shape& n, bool turned, bool by_fftw) {
  unsigned flags = NIGH_FFT_DESTROY_INPUT;
  if (turned) flags |= NIGH_FFT_TRANSPOSED_OUT;
  if (by_fftw) flags |= NIGH_FFT_FFTW;
  nigh_fft_part in, out;
  const int dimensions = static_cast<int>(n.size());
  const bool in_place = !turned && dimensions > 1;
  nigh_fft_mpi_share(dimensions, n.data(), -1, flags, in_place, MPI_COMM_WORLD, &in, &out);
  auto* a = static_cast<Complex*>(nigh_transpose_alloc(in.bytes, MPI_COMM_WORLD));
  auto* b = in_place ? a : static_cast<Complex*>(nigh_transpose_alloc(out.bytes, MPI_COMM_WORLD));
  if (a == nullptr || b == nullptr) give_up(nigh_transpose_why());
  std::fill_n(a, in.bytes / sizeof *a, Complex());
  std::fill_n(b, out.bytes / sizeof *b, Complex());
  nigh_fft* plan =
      nigh_fft_mpi(dimensions, n.data(), -1, flags, a, in.bytes, b, out.bytes, MPI_COMM_WORLD, threads);
  if (plan == nullptr) give_up(nigh_fft_why());
  std::shared_ptr<void> held(plan, [a, b](void* p) {
    nigh_fft_destroy(static_cast<nigh_fft*>(p));
    if (a != b) nigh_transpose_free(b);
    nigh_transpose_free(a);
  });
  const std::size_t columns = product(n) / n[0], first = out.first, row = out.row;
  const std::size_t n1 = dimensions == 1 ? nigh_fft_factor(n[0]) : 0;
  return {held,
          [plan] { nigh_fft_execute(plan); },
          a,
          b,
          in.first * in.row,
          in.rows * in.row,
          out.rows * out.row,
          [=](std::size_t i) {
            const std::size_t r = first + i / row, c = i % row;
            return !turned ? r * row + c : n1 > 0 ? r + n1 * c : c * columns + r;
          }};
}

// On huge pages, if there are any.
Complex* memory_for_fftw(std::size_t elements) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const std::size_t bytes = (elements * sizeof(Complex) + huge) / huge * huge;
  void* memory = std::aligned_alloc(huge, bytes);
  if (memory == nullptr) give_up("there is no memory for FFTW's array");
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(static_cast<Complex*>(memory), elements, Complex());
  return static_cast<Complex*>(memory);
}
std::shared_ptr<void> hold(fftw_plan plan, Complex* memory) {
  if (plan == nullptr) give_up("FFTW has no plan for this");
  return {plan, [memory](void* p) {
            fftw_destroy_plan(static_cast<fftw_plan>(p));
            std::free(memory);
          }};
}
fftw_complex* raw(Complex* at) { return reinterpret_cast<fftw_complex*>(at); }

#ifdef NIGH_FFTW_MPI
Prepared by_fftw_mpi(const Shape& n, bool turned) {
  const std::vector<std::ptrdiff_t> shape(n.begin(), n.end());
  std::ptrdiff_t count = 0, first = 0, count_out = 0, first_out = 0, all = 0;
  const unsigned flags = effort | (turned ? FFTW_MPI_TRANSPOSED_OUT : 0U);
  const std::size_t columns = product(n) / n[0];
  if (n.size() == 1) {
    all = fftw_mpi_local_size_1d(shape[0], MPI_COMM_WORLD, FFTW_FORWARD, flags, &count, &first, &count_out,
                                 &first_out);
  } else {
    all = fftw_mpi_local_size_transposed(static_cast<int>(n.size()), shape.data(), MPI_COMM_WORLD, &count,
                                         &first, &count_out, &first_out);
  }
  Complex* a = memory_for_fftw(static_cast<std::size_t>(all));
  fftw_plan plan = n.size() == 1
                       ? fftw_mpi_plan_dft_1d(shape[0], raw(a), raw(a), MPI_COMM_WORLD, FFTW_FORWARD, flags)
                       : fftw_mpi_plan_dft(static_cast<int>(n.size()), shape.data(), raw(a), raw(a),
                                           MPI_COMM_WORLD, FFTW_FORWARD, flags);
  Prepared done{hold(plan, a), [plan] { fftw_execute(plan); }, a, a, 0, 0, 0, {}};
  const std::size_t row = n.size() == 1 ? 1 : columns;
  done.first_in = static_cast<std::size_t>(first) * row;
  done.count_in = static_cast<std::size_t>(count) * row;
  const auto from = static_cast<std::size_t>(n.size() == 1 || turned ? first_out : first);
  if (!turned || n.size() == 1) {
    done.count_out = static_cast<std::size_t>(n.size() == 1 ? count_out : count) * row;
    done.index = [=](std::size_t i) { return from * row + i; };
  } else {  // [n1][n0][rest]
    const std::size_t n0 = n[0], rest = columns / n[1], n1 = n[1];
    done.count_out = static_cast<std::size_t>(count_out) * n0 * rest;
    done.index = [=](std::size_t i) { return (i / rest % n0 * n1 + from + i / rest / n0) * rest + i % rest; };
  }
  return done;
}
#endif

Prepared by_fftw_openmp(const Shape& n) {
  fftw_init_threads();
  fftw_plan_with_nthreads(threads);
  Complex* a = memory_for_fftw(product(n));
  const std::vector<int> shape(n.begin(), n.end());
  fftw_plan plan =
      fftw_plan_dft(static_cast<int>(n.size()), shape.data(), raw(a), raw(a), FFTW_FORWARD, effort);
  return {hold(plan, a), [plan] { fftw_execute(plan); }, a, a, 0, product(n),
          product(n),    [](std::size_t i) { return i; }};
}

// Rows of the square of as many elements, nearly.
Prepared limit(const Shape& n) {
  const std::size_t all = product(n), length = n.size() == 1 ? nigh_fft_factor(n[0]) : n[0],
                    rows = all / length / std::size_t(ranks);
  Complex* a = memory_for_fftw(rows * length);
  const int size = static_cast<int>(length);
  fftw_plan plan = fftw_plan_many_dft(1, &size, 1, raw(a), nullptr, 1, size, raw(a), nullptr, 1, size,
                                      FFTW_FORWARD, effort);
  const std::size_t times = n.size() == 3 ? 3 : 2;
  return {hold(plan, a),
          [=] {
            for (std::size_t i = 0; i < times; ++i)
              for (std::size_t r = 0; r < rows; ++r)
                fftw_execute_dft(plan, raw(a + r * length), raw(a + r * length));
          },
          a,
          a,
          0,
          rows * length,
          0,
          {}};
}

Prepared prepare(const std::string& subject, const Shape& n) {
  const bool turned = subject.ends_with("-transposed");
  if (subject.starts_with("nigh")) return by_nigh(n, turned, subject.starts_with("nigh-fftw"));
  if (subject == "fftw-openmp") return by_fftw_openmp(n);
  if (subject == "limit") return limit(n);
#ifdef NIGH_FFTW_MPI
  return by_fftw_mpi(n, turned);
#else
  wrong_use("there is no FFTW for this MPI library");
#endif
}

// Two pulses: 1 where `at` is, i in the first element.
std::size_t pulse(const Shape& n) {
  std::size_t at = 0;
  for (const std::size_t one : n) at = at * one + one / 3 + 1;
  return at % product(n);
}
void fill(const Prepared& one, const Shape& n) {
  std::fill_n(one.in, one.count_in, Complex());
  const std::size_t at = pulse(n);
  if (one.first_in == 0 && one.count_in > 0) one.in[0] += Complex(0, 1);
  if (at >= one.first_in && at < one.first_in + one.count_in) one.in[at - one.first_in] += 1;
}
bool right(const Prepared& one, const Shape& n) {
  if (!one.index) return true;
  for (std::size_t i = 0; i < one.count_out; ++i) {
    double turns = 0;
    std::size_t k = one.index(i), at = pulse(n);
    for (std::size_t d = n.size(); d-- > 0; k /= n[d], at /= n[d])
      turns += double(k % n[d] * (at % n[d]) % n[d]) / double(n[d]);
    const Complex wanted = Complex(0, 1) + std::polar(1.0, -2 * std::numbers::pi * turns);
    if (!(std::abs(one.out[i] - wanted) < 1e-9)) return false;
  }
  return true;
}

// From a barrier to the end of the slowest rank; the median of several.
bench::Measured measure(const std::string& subject, const std::string& name, const Shape& n, bool quick,
                        std::string& error) {
  const Prepared one = prepare(subject == "nigh-spoiled" ? "nigh" : subject, n);
  fill(one, n);
  MPI_Barrier(MPI_COMM_WORLD);
  one.pass();
  if (subject == "nigh-spoiled" && rank == 0) one.out[1] += 1;
  int fine = right(one, n), all_fine = 0;
  MPI_Allreduce(&fine, &all_fine, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  std::vector<double> times;
  for (int i = 0; i < (quick ? 5 : 7); ++i) {
    fill(one, n);
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    one.pass();
    double mine = MPI_Wtime() - from, slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times.push_back(slowest);
  }
  std::sort(times.begin(), times.end());
  if (all_fine == 0 && error.empty()) error = name + " is not transformed";
  const double all = double(product(n));
  return {name, 5e-6 * all * std::log2(all) / times[times.size() / 2], true, "Mflop/s"};
}

struct Options {
  std::string subject, teams, only;  // only: one case of all
  bool quick = false;
};
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      options.quick = true;
    } else if (i + 1 < argc && option == "--subject") {
      options.subject = argv[++i];
    } else if (i + 1 < argc && option == "--only") {
      options.only = argv[++i];
    } else if (i + 1 < argc && option == "--teams") {
      options.teams = argv[++i];
    } else {
      wrong_use("an unknown option");
    }
  }
  const std::string known =
      " nigh nigh-transposed nigh-fftw nigh-fftw-transposed nigh-spoiled fftw-mpi fftw-mpi-transposed "
      "fftw-openmp limit ";
  if (options.subject.empty() || known.find(" " + options.subject + " ") == std::string::npos)
    wrong_use("no such subject");
  if (options.subject == "fftw-openmp" && ranks == 1) {
    threads = std::max(1, std::atoi(options.teams.c_str()));
  } else if (!options.teams.empty() && options.teams != std::to_string(ranks)) {
    wrong_use("--teams is not the number of ranks");
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef NIGH_FFTW_MPI
  fftw_mpi_init();
#endif
  const Options options = parse(argc, argv);
  if (options.quick) {
    patience = 1;
    effort = FFTW_MEASURE;
  }
  fftw_set_timelimit(patience);
  std::vector<bench::Measured> figures;
  std::string error;
  const std::vector<std::pair<std::string, Shape>> shapes =
      options.quick ? std::vector<std::pair<std::string, Shape>>{{"1024x1024", {1024, 1024}},
                                                                 {"64x64x64", {64, 64, 64}}}
                    : std::vector<std::pair<std::string, Shape>>{{"4096x4096", {4096, 4096}},
                                                                 {"256x256x256", {256, 256, 256}},
                                                                 {"4194304", {std::size_t{1} << 22}}};
  for (const auto& [name, n] : shapes)
    if ((n.size() > 1 || options.subject != "fftw-mpi-transposed") &&
        (options.only.empty() || options.only == name))
      figures.push_back(measure(options.subject, name, n, options.quick, error));
  std::vector<int> cpus(static_cast<std::size_t>(ranks));
  const int cpu = sched_getcpu();
  MPI_Gather(&cpu, 1, MPI_INT, cpus.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) bench::report("fft", figures, cpus, cpus, error);
#ifdef MPICH_VERSION
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  MPI_Finalize();
  return error.empty() ? 0 : 1;
}
