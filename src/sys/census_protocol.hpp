// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The words between ranks and the census of their job (launch/census.hpp), over TCP: 8 bytes to the rank, by
// which it knows that a census and nothing else listens there; 64 bytes from the rank, one byte back, and the
// connection ends. Without the C++ runtime, since ranks use it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nigh::sys {

inline constexpr const char* census_variable = "NIGH_MPI_CENSUS";

inline constexpr char census_greeting[8] = {'n', 'c', 'e', 'n', 's', 'u', 's', '1'};

struct CensusQuestion {
  enum Kind : std::uint32_t { enters, asks };
  static constexpr std::uint64_t magic_word = 0x3173756e6563206e;  // "n census1"
  std::uint64_t magic = magic_word;
  unsigned char token[16] = {};  // of the job's census; who does not know it is not answered
  std::uint32_t kind = enters;
  std::uint32_t rank = 0, ranks = 0;  // in MPI_COMM_WORLD
  std::uint32_t process = 0;          // a random number; a rank of a later program has another
  std::uint64_t world = 0;            // what distinguishes worlds of one launcher
  std::uint64_t settings = 0;         // version and settings, the same on all ranks or there is no hierarchy
  std::uint32_t whole = 0;            // it has all ranks of its node in its space
  std::uint32_t unused = 0;
};
static_assert(sizeof(CensusQuestion) == 64);

enum class CensusAnswer : char { entered = 'e', all = 'y', not_all = 'n' };

// "TOKEN@10.0.0.1:4711,[fe80::1]:4711": 32 hexadecimal digits, and where the census listens.
struct CensusPlace {
  static constexpr std::size_t most_addresses = 8;
  unsigned char token[16] = {};
  sockaddr_storage addresses[most_addresses] = {};
  std::size_t count = 0;
};
// False: the text is something else.
bool parse_census_place(const char* text, CensusPlace& out);
inline socklen_t bytes_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace nigh::sys
