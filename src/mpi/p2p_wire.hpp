// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The descriptor that the library carries in place of a large message; it names the sender's offer. It always
// has wire_bytes (240) bytes, and every message of a user with just that length is sent by descriptor as
// well, so that a receiver, and a probe that can't look inside, knows by the length alone. The words at the
// start are for messages of that length from ranks without us. 240: a multiple of the sizes of all basic
// types and of MPI's pairs (6, 12, 20 bytes), because MPICH refuses to receive a part of one of them; short
// enough for one eager packet of every library; and rarer in programs than powers of two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/status.hpp"
#include "mpi/types.hpp"

namespace nigh::mpi {

struct Descriptor {
  static constexpr std::uint64_t first_word = 0x9d1f6e69'67682d6d, second_word = 0x65737361'6765c1a7;
  std::uint64_t magic[2] = {first_word, second_word};
  std::uint64_t name = 0;  // Offers::name_of
  std::uint64_t bytes = 0;
  std::int32_t from = -1;  // ranks of the space
  std::int32_t to = -1;
  std::uint64_t check = 0;
  std::uint64_t zero[24] = {};

  [[nodiscard]] std::uint64_t sum() const {
    return (name * 0x9e3779b97f4a7c15u) ^ bytes ^
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) ^
           static_cast<std::uint32_t>(to);
  }
  void seal() { check = sum(); }
  [[nodiscard]] bool sealed() const {
    return magic[0] == first_word && magic[1] == second_word && check == sum();
  }
};
static_assert(sizeof(Descriptor) == wire_bytes, "ranks of one job agree on it: a change changes abi_version");
static_assert(wire_bytes % 16 == 0 && wire_bytes % 12 == 0 && wire_bytes % 20 == 0 && wire_bytes % 6 == 0);

}  // namespace nigh::mpi
