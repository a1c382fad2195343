// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes from C++: one process, in place, over ranks; and that what is refused is thrown.
#include <mpi.h>
#include <nigh/transpose.hpp>

#include <array>
#include <complex>
#include <cstdio>
#include <vector>

namespace {
int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what);
}

void alone() {
  constexpr std::size_t rows = 120, columns = 77;
  std::vector<float> a(rows * columns), b(rows * columns);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  const auto right = [&](const std::vector<float>& result) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        if (result[j * rows + i] != static_cast<float>(i * columns + j)) return false;
    return true;
  };
  nigh::Transpose<float> turn(rows, columns, a, b, 2);
  turn();
  expect(right(b), "the transpose of one process");
  expect(turn.explain().find("120 x 77") == 0, "what it says of itself");
  nigh::Transpose<float> here(rows, columns, a, a);
  here();
  expect(right(a), "in place");
  bool thrown = false;
  try {
    nigh::Transpose<float> large(rows, columns + 1, a, b);
  } catch (const std::invalid_argument&) { thrown = true; }
  expect(thrown, "an array that is too small");
}

void over_ranks() {
  using Complex = std::complex<double>;
  constexpr std::size_t rows = 90, columns = 61;
  std::size_t first = 0, count = 0, first_b = 0, count_b = 0;
  nigh_transpose_mpi_share(rows, columns, MPI_COMM_WORLD, &first, &count, &first_b, &count_b);
  const nigh::RankArray<Complex> a(count * columns, MPI_COMM_WORLD), b(count_b * rows, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      a[i * columns + j] = {static_cast<double>(first + i), static_cast<double>(j)};
  nigh::Transpose<Complex> turn(MPI_COMM_WORLD, rows, columns, a, b, 1);
  turn();
  bool right = true;
  for (std::size_t j = 0; j < count_b; ++j)
    for (std::size_t i = 0; i < rows; ++i)
      right = right && b[j * rows + i] == Complex(static_cast<double>(i), static_cast<double>(first_b + j));
  expect(right, "the transpose over ranks");
  bool thrown = false;
  try {
    nigh::Transpose<Complex> large(MPI_COMM_WORLD, rows + 100, columns, a, b, 1);
  } catch (const nigh::TransposeError& error) {
    thrown = std::string(error.what()).find("are needed") != std::string::npos;
  }
  expect(thrown, "rows that are not there");
}

// There and back again, over a grid of ranks x 1; a batch of squares in place.
void pencils_and_batches() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::array<std::size_t, 3> n{12, 7, 20};
  std::size_t first[3], count[3], turned[3];
  nigh_transpose_pencils_share(n.data(), ranks, 1, 1, MPI_COMM_WORLD, first, count);
  nigh_transpose_pencils_share(n.data(), ranks, 1, 0, MPI_COMM_WORLD, nullptr, turned);
  std::vector<double> a(count[0] * count[1] * count[2]), b(turned[0] * turned[1] * turned[2]), c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(1000 * first[0] + i);
  nigh::Transpose<double> there(MPI_COMM_WORLD, n, {ranks, 1}, 1, 0, a, b, 1);
  nigh::Transpose<double> back(MPI_COMM_WORLD, n, {ranks, 1}, 0, 1, b, c, 1);
  there();
  back();
  expect(a == c, "pencils there and back");
  expect(a != b || a.size() < 2, "pencils that stay as they are");
  std::size_t rows = 0;
  nigh_transpose_mpi_share(30, 30, MPI_COMM_WORLD, nullptr, &rows, nullptr, nullptr);
  std::vector<float> squares(5 * rows * 30, 1), before = squares;
  for (std::size_t i = 0; i < squares.size(); ++i) before[i] = squares[i] = static_cast<float>(i);
  nigh::Transpose<float> turn(MPI_COMM_WORLD, 5, 30, 30, squares, squares, 1);
  turn();
  expect(squares != before, "a batch that stays as it is");
  turn();
  expect(squares == before, "a batch turned twice");
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alone();
  over_ranks();
  pencils_and_batches();
  int all = 0, rank = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && all == 0) std::puts("all transposes are right");
  MPI_Finalize();
  return all != 0;
}
