// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The demand for a transpose over MPI, and the plans that meet it. All functions are collective.
#pragma once

#include <memory>
#include <string>

#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#include "transpose/seats.hpp"

namespace nigh::transpose {

enum class Method : std::uint64_t { one_pass, three_steps };
struct Demand {
  std::uint64_t rows, columns, element, matrices;
  Method method = Method::one_pass;
};

// This rank's; strides of 0: without gaps. What is below is found out from them.
struct Arrays {
  const void* a = nullptr;
  std::size_t a_bytes = 0;
  Layout a_layout;
  void* b = nullptr;
  std::size_t b_bytes = 0;
  Layout b_layout;
  bool in_place = false;
  std::size_t a_used = 0, b_used = 0;  // bytes
};

// Wrong on one rank: an error on all. `comm` may be freed before the plan is.
Result<std::unique_ptr<nigh_transpose>> make_mpi(const Demand& demand, Arrays arrays, MPI_Comm comm,
                                                 int threads);

// The threads of a rank, and where they are among those of the neighbours that may use the same CPUs.
struct Crew {
  int threads = 1;
  Sharing sharing;
  [[nodiscard]] std::vector<CpuSet> seats() const { return transpose::seats(threads, sharing); }
};

// In place. What is wrong with arrays that are all right otherwise; and the plan of right ones; throws
// bad_alloc after all that is collective.
std::string wrong_in_place(const Slabs& slabs, std::size_t rank, const Arrays& arrays);
std::unique_ptr<nigh_transpose> make_in_place(std::shared_ptr<const Nodes> nodes, const Slabs& slabs,
                                              const To& data, std::size_t bytes, const Crew& crew);

// Haan's steps: the same.
std::string wrong_in_steps(const Slabs& slabs, const Arrays& arrays);
std::unique_ptr<nigh_transpose> make_three_steps(std::shared_ptr<const Nodes> nodes, const Slabs& slabs,
                                                 const From& a, const To& b, const Crew& crew);

std::string describe(const Slabs& slabs, const Nodes& nodes, const Team& team);

}  // namespace nigh::transpose
