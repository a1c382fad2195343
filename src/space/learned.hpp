// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Keeps between runs which places of a program (sites.hpp) send: blocks that are made once and
// sent again and again are made before anything is known of their place, so the first run leaves them private
// and the second one shares them. A file for each executable, in the folder that NIGH_SPACE_LEARNED names: 8
// bytes for each place that sends (lowest bit 1) or does not any more (0), of which the later
// one counts. Ranks append to it when they end; nothing is locked, and what is damaged is no place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nigh::space {

// Reads what earlier runs learned. Works before libc is initialised. Nothing is kept where there is no
// folder.
void learned_start();
bool learned_is_on();
bool learned_anything();  // earlier runs have

// A place by what is the same in each run of the same machine code: the code around the return address
// `caller`, its offset within its page, and the class of sizes. The lowest bit is 0. 0: it can't be told.
std::uint64_t place_of(std::uintptr_t caller, std::uint64_t size_class);

bool learned_to_send(std::uint64_t place);

// Appends places; with the lowest bit set they send.
void learned_append(const std::uint64_t* places, std::size_t count);

}  // namespace nigh::space
