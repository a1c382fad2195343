// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Everything against the two loops that anyone would write. The result is looked at with what lies around it:
// a kernel that writes a byte too much spoils it.
#include "transpose/local.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace nigh::transpose {
namespace {

constexpr std::size_t around = 32;  // elements before and behind

// At least so many bytes, no two elements alike.
const std::byte* pattern(std::size_t bytes) {
  static std::vector<std::uint32_t> words;
  while (words.size() * 4 < bytes)
    words.push_back(static_cast<std::uint32_t>(words.size()) * 2654435761U + 12345);
  return reinterpret_cast<const std::byte*>(words.data());
}

// A matrix of distinct elements, `off` elements into its memory.
struct Held {
  Held(std::size_t rows, std::size_t columns, std::size_t stride_of, std::size_t element_of, std::size_t off)
      : stride(std::max(stride_of, columns)),
        element(element_of),
        first(around + off),
        bytes((first + rows * stride + around) * element) {
    std::memcpy(bytes_at(), pattern(bytes), bytes);
  }
  // So that what is never written differs from what should have been.
  void begin_otherwise() { std::memset(bytes_at(), 0x5a, bytes); }
  [[nodiscard]] std::byte* bytes_at() { return memory.data() + skew(); }
  [[nodiscard]] std::byte* at(std::size_t row, std::size_t column) {
    return bytes_at() + (first + row * stride + column) * element;
  }
  // So that memory begins at a line, wherever the vector's does.
  [[nodiscard]] std::size_t skew() const {
    return (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  }

  std::size_t stride, element, first, bytes;
  std::vector<std::byte> memory = std::vector<std::byte>(bytes + 64);
};

// want(j, i) = from(i, j), as anyone would write it.
template <std::size_t element>
void naive(Held& from, Held& want, std::size_t rows, std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    std::byte* to = want.at(j, 0);
    const std::byte* source = from.at(0, j);
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to + i * element, source + i * from.stride * element, element);
  }
}
void naive(Held& from, Held& want, std::size_t rows, std::size_t columns) {
  if (from.element == 4) return naive<4>(from, want, rows, columns);
  if (from.element == 8) return naive<8>(from, want, rows, columns);
  naive<16>(from, want, rows, columns);
}

struct Case {
  std::size_t rows, columns, element, from_stride, to_stride, off;
  int threads;
  Stores stores;
  const Kernels* kernels;
};

std::string text(const Case& c) {
  std::ostringstream out;
  out << c.rows << "x" << c.columns << " of " << c.element << " bytes, strides " << c.from_stride << " and "
      << c.to_stride << ", off " << c.off << ", " << c.threads << " threads, "
      << (c.stores == Stores::streamed ? "streamed" : "cached") << ", " << c.kernels->name;
  return out.str();
}

bool right(const Case& c, Team& team) {
  Held from(c.rows, c.columns, c.from_stride, c.element, 0),
      to(c.columns, c.rows, c.to_stride, c.element, c.off);
  Held want(c.columns, c.rows, c.to_stride, c.element, c.off);
  to.begin_otherwise();
  want.begin_otherwise();
  naive(from, want, c.rows, c.columns);
  transpose({from.at(0, 0), from.stride, to.at(0, 0), to.stride, c.rows, c.columns}, c.element, team,
            {c.stores, 0, c.kernels});
  return std::memcmp(to.bytes_at(), want.bytes_at(), to.bytes) == 0;
}

bool right_in_place(std::size_t rows, std::size_t columns, std::size_t element, Team& team) {
  Held matrix(rows, columns, columns, element, 0), want(columns, rows, rows, element, 0);
  naive(matrix, want, rows, columns);
  if (!transpose_in_place(matrix.at(0, 0), rows, columns, element, team)) return false;
  return std::memcmp(matrix.bytes_at(), want.bytes_at(), matrix.bytes) == 0;
}

constexpr std::size_t sizes[] = {4, 8, 16};
#ifdef NIGH_SANITIZED
constexpr std::size_t every = 97;  // of so many shapes one
constexpr std::size_t few = 4;     // ... of large ones
constexpr std::size_t largest = 700, large_ones = 8;
#else
constexpr std::size_t every = 1, few = 1;
constexpr std::size_t largest = 3000, large_ones = 24;
#endif
// make soak looks at all shapes, make test at one of three of those that are large in both directions.
bool left_to_soak(std::size_t rows, std::size_t columns, std::size_t count) {
  static const bool soak = std::getenv("NIGH_SOAK") != nullptr;
  return !soak && rows > 64 && columns > 64 && count % 3 != 0;
}

// The first test with all that a case can differ in, the second with all shapes that the issue of this room
// names.
TEST(Transpose, SmallShapesInEveryWay) {
  Team alone(1), three(3);
  for (std::size_t rows = 1, count = 0; rows <= 33; ++rows) {
    for (std::size_t columns = 1; columns <= 33; ++columns) {
      if (++count % every != 0) continue;
      for (const std::size_t element : sizes) {
        for (const Kernels* kernels : all_kernels()) {
          for (const Stores stores : {Stores::cached, Stores::streamed}) {
            for (Team* team : {&alone, &three}) {
              const Case c{rows,
                           columns,
                           element,
                           columns + rows % 3,
                           rows + columns % 5,
                           (rows * 7 + columns) % 16,
                           team->threads(),
                           stores,
                           kernels};
              ASSERT_TRUE(right(c, *team)) << text(c);
            }
          }
        }
      }
    }
  }
}

TEST(Transpose, EveryShape) {
  std::vector<std::unique_ptr<Team>> teams;
  for (int threads = 1; threads <= 4; ++threads) teams.push_back(std::make_unique<Team>(threads));
  const auto& sets = all_kernels();
  for (std::size_t rows = 1, count = 0; rows <= 257; ++rows) {
    for (std::size_t columns = 1; columns <= 311; ++columns) {
      if (++count % every != 0 || left_to_soak(rows, columns, count)) continue;
      Team& team = *teams[count / 3 % 97 == 0 ? count % 4 : 0];  // waking others takes longer than the work
      const Case c{rows,
                   columns,
                   sizes[(count + rows) % 3],
                   columns,
                   rows,
                   count % 5 == 0 ? count % 16 : 0,
                   team.threads(),
                   count % 2 == 0 ? Stores::streamed : Stores::cached,
                   sets[count / 7 % sets.size()]};
      ASSERT_TRUE(right(c, team)) << text(c);
    }
  }
}

TEST(Transpose, EveryShapeInPlace) {
  Team alone(1), three(3);
  for (std::size_t rows = 1, count = 0; rows <= 257; ++rows) {
    for (std::size_t columns = 1; columns <= 311; ++columns) {
      if (++count % every != 0 || left_to_soak(rows, columns, count)) continue;
      ASSERT_TRUE(right_in_place(rows, columns, sizes[(count + rows) % 3], count % 101 == 0 ? three : alone))
          << rows << "x" << columns << " of " << sizes[(count + rows) % 3];
    }
  }
}

TEST(Transpose, LargeOnesOfRandomShape) {
  std::mt19937 random(20001);
  std::vector<std::unique_ptr<Team>> teams;
  for (int threads = 1; threads <= 4; ++threads) teams.push_back(std::make_unique<Team>(threads));
  for (std::size_t i = 0; i < large_ones; ++i) {
    const std::size_t rows = 1 + random() % largest, columns = 1 + random() % largest,
                      element = sizes[random() % 3];
    Team& team = *teams[random() % 4];
    for (const Kernels* kernels : all_kernels()) {
      const Case c{rows,
                   columns,
                   element,
                   columns + random() % 9,
                   rows + random() % 9,
                   random() % 16,
                   team.threads(),
                   i % 4 == 0 ? Stores::cached : Stores::streamed,
                   kernels};
      ASSERT_TRUE(right(c, team)) << text(c);
    }
    if (i % 6 == 0) {
      ASSERT_TRUE(right_in_place(rows, columns, element, team))
          << rows << "x" << columns << " of " << element;
    }
  }
}

// Few rows or columns, cut into several panels with something left over.
TEST(Transpose, ThinOnesInPlace) {
  std::vector<std::unique_ptr<Team>> teams;
  for (int threads = 1; threads <= 4; ++threads) teams.push_back(std::make_unique<Team>(threads));
  std::size_t count = 0;
  for (std::size_t few = 2; few <= 36; ++few) {
    for (const std::size_t element : sizes) {
      if (++count % (every > 1 ? 4 : 1) != 0) continue;
      const std::size_t many = (std::size_t{300} << 10) / (few * element) + 7 * few;
      for (const auto& team : teams) {
        ASSERT_TRUE(right_in_place(many, few, element, *team)) << many << "x" << few << " of " << element;
        ASSERT_TRUE(right_in_place(few, many, element, *team)) << few << "x" << many << " of " << element;
      }
    }
  }
}

// Matrices larger than a cache are cut otherwise: rows of the result that begin at lines, and that do not.
TEST(Transpose, LargeOnesOfFewRows) {
  Team team(1);
  std::size_t count = 0;
  for (const std::size_t rows : {1, 7, 16, 33, 65, 100}) {
    for (const std::size_t element : sizes) {
      if (++count % few != 0) continue;
      const std::size_t columns = (std::size_t{5} << 20) / (rows * element) + 13;
      for (const std::size_t to_stride : {(rows + 15) / 16 * 16, rows + 1}) {
        for (const Kernels* kernels : all_kernels()) {
          const Case c{rows, columns, element, columns + 3, to_stride, 0, 1, Stores::streamed, kernels};
          ASSERT_TRUE(right(c, team)) << text(c);
        }
      }
    }
  }
}

// Lines a page apart are read in panels of another height.
TEST(Transpose, PowersOfTwo) {
  Team team(2);
  for (const std::size_t element : sizes) {
    for (const Kernels* kernels : all_kernels()) {
      const Case c{1024, 512, element, 4096 / element, 1024, 0, 2, Stores::streamed, kernels};
      ASSERT_TRUE(right(c, team)) << text(c);
    }
  }
}

TEST(Transpose, SquaresWithGapsBetweenTheirRows) {
  Team team(2);
  for (const std::size_t side : {1, 31, 32, 33, 100, 257}) {
    for (const std::size_t element : sizes) {
      Held matrix(side, side, side + 5, element, 0), want(side, side, side + 5, element, 0);
      for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = 0; j < side; ++j) std::memcpy(want.at(j, i), matrix.at(i, j), element);
      }
      transpose_square(matrix.at(0, 0), side, matrix.stride, element, team);
      EXPECT_EQ(std::memcmp(matrix.bytes_at(), want.bytes_at(), matrix.bytes), 0) << side << " " << element;
    }
  }
}

// A matrix that begins at no multiple of its elements is not streamed, and right all the same.
TEST(Transpose, ElementsBetweenTheirPlaces) {
  Team team(1);
  Held from(70, 50, 50, 16, 0), to(50, 70, 70, 16, 0), want(50, 70, 70, 16, 0);
  for (std::size_t j = 0; j < 50; ++j) {
    for (std::size_t i = 0; i < 70; ++i) std::memcpy(want.at(j, i) + 8, from.at(i, j), 16);
  }
  transpose({from.at(0, 0), 50, to.at(0, 0) + 8, 70, 70, 50}, 16, team, {Stores::streamed});
  EXPECT_EQ(std::memcmp(to.bytes_at(), want.bytes_at(), to.bytes), 0);
}

// Rows of the result lie without gaps, and nothing but the line behind them is spoiled.
TEST(Kernels, Woven) {
  for (const Kernels* kernels : all_kernels()) {
    for (const std::size_t element : sizes) {
      for (std::size_t rows = 1; rows <= 35; ++rows) {
        for (const std::size_t columns : {1, 2, 15, 16, 17, 64, 77}) {
          Held from(rows, columns, columns + rows % 3, element, 0),
              to(columns, rows, rows, element, rows % 16), want(columns, rows, rows, element, rows % 16);
          naive(from, want, rows, columns);
          kernels->woven[Kernels::index(element)](
              {from.at(0, 0), from.stride, to.at(0, 0), rows, rows, columns});
          std::memcpy(to.at(columns, 0), want.at(columns, 0), line);
          ASSERT_EQ(std::memcmp(to.bytes_at(), want.bytes_at(), to.bytes), 0)
              << rows << "x" << columns << " of " << element << ", " << kernels->name;
        }
      }
    }
  }
}

TEST(Copy, RowsOfAllLengths) {
  for (const int threads : {1, 3}) {
    Team team(threads);
    for (const Kernels* kernels : all_kernels()) {
      for (const Stores stores : {Stores::cached, Stores::streamed}) {
        for (std::size_t bytes = 0; bytes < 400; bytes += 1 + bytes / 50) {
          for (const std::size_t count : {0, 1, 2, 7}) {
            Held from(8, 128, 128, 4, 0), to(8, 128, 130, 4, bytes % 16), want(8, 128, 130, 4, bytes % 16);
            for (std::size_t i = 0; i < count; ++i) std::memcpy(want.at(i, 0), from.at(i, 1), bytes);
            copy({from.at(0, 1), from.stride * 4, to.at(0, 0), to.stride * 4, count, bytes}, team,
                 {stores, 0, kernels});
            ASSERT_EQ(std::memcmp(to.bytes_at(), want.bytes_at(), to.bytes), 0) << bytes << " x " << count;
          }
        }
      }
    }
  }
}

TEST(Kernels, NarrowestFirst) {
  ASSERT_FALSE(all_kernels().empty());
  EXPECT_EQ(&kernels(), all_kernels().back());
#if defined(__x86_64__)
  EXPECT_STREQ(all_kernels().front()->name, "scalar");
  if (__builtin_cpu_supports("avx2")) { EXPECT_GT(all_kernels().size(), 1U); }
  if (__builtin_cpu_supports("avx512bw")) { EXPECT_STREQ(kernels().name, "AVX-512"); }
#endif
}

}  // namespace
}  // namespace nigh::transpose
