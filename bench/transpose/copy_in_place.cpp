// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Matrices of doubles that are transposed in their own memory: by us, by FFTW (one thread: it cuts no
// rectangle for more), and along the cycles of the permutation, as textbooks have it, with a bit for each
// element.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "transpose/copy_peers.hpp"
#include "transpose/local.hpp"

namespace bench {

namespace {
using nigh::transpose::Team;
constexpr std::size_t word = sizeof(double);

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns) {
    void* at = mmap(nullptr, room(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    madvise(at, room(), MADV_HUGEPAGE);
    data_ = static_cast<double*>(at);
    fill();
  }
  ~Matrix() { munmap(data_, room()); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  void fill() {
    for (std::size_t i = 0; i < rows_ * columns_; ++i) data_[i] = static_cast<double>(i) + 0.5;
  }
  [[nodiscard]] bool transposed() const {
    for (std::size_t j = 0; j < columns_; ++j)
      for (std::size_t i = 0; i < rows_; ++i)
        if (data_[j * rows_ + i] != static_cast<double>(i * columns_ + j) + 0.5) return false;
    return true;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t bytes() const { return rows_ * columns_ * word; }
  [[nodiscard]] double* data() const { return data_; }
  [[nodiscard]] std::byte* at() const { return reinterpret_cast<std::byte*>(data_); }

 private:
  [[nodiscard]] std::size_t room() const { return (bytes() + (4U << 20)) >> 21 << 21; }
  std::size_t rows_, columns_;
  double* data_ = nullptr;
};

void follow_cycles(Matrix& m, std::vector<bool>& moved) {
  const std::size_t count = m.rows() * m.columns();
  std::fill(moved.begin(), moved.end(), false);
  for (std::size_t first = 1; first + 1 < count; ++first) {
    if (moved[first]) continue;
    double carried = m.data()[first];
    std::size_t at = first;
    do {
      at = at % m.columns() * m.rows() + at / m.columns();  // where it belongs
      std::swap(carried, m.data()[at]);
      moved[at] = true;
    } while (at != first);
  }
}

// One pass; nothing for a subject that does no such thing.
std::function<void()> pass_of(const std::string& subject, Matrix& m, Matrix& other, Team& team) {
  if (subject == "nigh") return [&] { (void)transpose_in_place(m.at(), m.rows(), m.columns(), word, team); };
  if (subject == "cycles") {
    const auto moved = std::make_shared<std::vector<bool>>(m.rows() * m.columns());
    return [&m, moved] { follow_cycles(m, *moved); };
  }
  if (subject == "fftw") {
    const auto plan =
        std::make_shared<FftwTranspose>(m.data(), m.columns(), m.data(), m.rows(), m.rows(), m.columns());
    m.fill();
    return [plan] { plan->run(); };
  }
  if (subject == "limit") return [&] { copy({m.at(), 0, other.at(), 0, 1, m.bytes()}, team); };
  if (subject != "memcpy") return {};
  return [&] {
    team.run([&](int thread) {
      const auto part = nigh::transpose::share(m.bytes(), 4096, static_cast<std::size_t>(thread),
                                               static_cast<std::size_t>(team.threads()));
      std::memcpy(other.at() + part.first, m.at() + part.first, part.end - part.first);
    });
  };
}
}  // namespace

std::string measure_in_place(const std::string& subject, Team& team, bool quick,
                             std::vector<Measured>& results) {
  using Shape = std::pair<std::size_t, std::size_t>;
  const std::vector<Shape> shapes =
      quick ? std::vector<Shape>{{1024, 1024}, {1000, 700}}
            : std::vector<Shape>{{4096, 4096}, {4096, 2048}, {3000, 5000}, {5000, 3001}, {100, 60000}};
  std::string error;
  for (const auto& [rows, columns] : shapes) {
    Matrix m(rows, columns), other(rows, columns);
    const auto pass = pass_of(subject, m, other, team);
    if (!pass) return "";
    const std::string name = "in-place " + std::to_string(rows) + "x" + std::to_string(columns);
    pass();
    const bool copies = subject == "memcpy" || subject == "limit";
    if (!(copies ? std::memcmp(m.at(), other.at(), m.bytes()) == 0 : m.transposed()) && error.empty())
      error = name + " is not transposed";
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) {
      const double from = now();
      pass();
      times.push_back(now() - from);
    }
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    results.push_back({name, 2e-6 * static_cast<double>(m.bytes()) / times[2], true, "MB/s"});
  }
  return error;
}

}  // namespace bench
