// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The sizes at which a collective call takes another way, and those that bound what it stages. The model
// checker (tests/model) has its own, so small that a few short calls go every way and use every cell again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::message {

#ifndef NIGH_MODEL
inline constexpr std::uint64_t cell_count = 32;
// Operands up to these sizes travel in cells.
inline constexpr std::size_t small_bcast = 1024;
inline constexpr std::size_t small_reduction = 1024;
inline constexpr std::size_t small_move = 1024;  // all that one member posts
// Reductions: up to this the root alone combines what the others show.
inline constexpr std::size_t serial_reduce = 4096;
inline constexpr std::size_t round_bytes = std::size_t{4} << 20;    // of a reduction: bounds what is staged
inline constexpr std::size_t chunk_bytes = std::size_t{128} << 10;  // of a bcast between domains
inline constexpr std::size_t ring_chunks = 8;                       // of a staged bcast
inline constexpr std::size_t stage_half = std::size_t{1} << 20;     // of a staged move
inline constexpr std::size_t stage_block = std::size_t{16} << 10;   // the least room for one of many readers
#else
inline constexpr std::uint64_t cell_count = 4;
inline constexpr std::size_t small_bcast = 64, small_reduction = 64, small_move = 64;
inline constexpr std::size_t serial_reduce = 128, round_bytes = 256;
inline constexpr std::size_t chunk_bytes = 64, ring_chunks = 2;
inline constexpr std::size_t stage_half = 128, stage_block = 16;
#endif
inline constexpr int flat_members = 16;  // above this many, small calls climb a tree even without levels

}  // namespace nigh::message
