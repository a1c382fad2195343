// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of this process, made reachable: the slot with heap and anonymous mmap in it, and the peers'
// slots once somebody has got their memfds. All of this exists before libc is initialised and in every child
// of a fork, so it is plain functions on static state, without the C++ runtime, and fails by saying false.
// Who builds a Space on it (process_space.cpp) asks for the window once and is told when it changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "space/layout.hpp"

namespace nigh::space {

struct MemoryState {
  bool on = false;       // the heap is in the slot
  const char* why = "";  // when it is not: one sentence without "nigh:", static text
  int rank = -1;         // among the ranks of the node, from the environment; -1: not started as a rank
  int size = 0;
  int shift = kMaxShift;
  int fd = -1;                // the memfd, close-on-exec
  std::uintptr_t slot = 0;    // first address of the slot = offset 0 of the memfd
  std::uintptr_t origin = 0;  // the header's address; symmetric offset = address - origin
  std::uint64_t span = 0;     // bytes of the slot
};

// Makes the slot on the first call, whoever calls first (malloc, a constructor, an entry of ours).
const MemoryState& memory();

// Our header; nullptr when off.
SlotHeader* own_header();

// A value of the environment this process was started with, or nullptr; usable before libc has read it.
const char* start_environment(const char* name);

// Maps rank's memfd at its slot: read and write, left out of core dumps and of children. Checks that the
// file's header is a complete slot of that rank, of our ABI, for our size and shift; the caller checks the
// key and whose it is. The fd stays the caller's and may be closed afterwards. False: nothing is mapped, *why
// (static text) says what was wrong.
bool map_peer(int rank, int fd, const char** why);
void unmap_peer(int rank);
// The header of a mapped peer (or our own), else nullptr.
SlotHeader* peer_header(int rank);

// Memory in the slot, reachable by all; nullptr: none left (never falls back to private memory). Not zeroed.
void* slot_alloc(std::size_t bytes, std::size_t align);
// In huge pages where they pay, and zeroed if it is asked for; above 32 MiB always, by fresh pages
// (heap.cpp).
void* slot_block(std::size_t bytes, std::size_t align, bool zeroed);
void slot_free(void* data);

// The data for Space::global(): addresses in [first, first + span) are ours and global, unless `patched`.
struct Window {
  std::uintptr_t first = 0;
  std::uintptr_t span = 0;
  bool patched = false;
  std::atomic<std::uint8_t>* marks = nullptr;  // see sites.hpp
};
Window window();
// The ranks have joined: what is allocated from now on may be shared to learn whether it is sent.
void learn_from_now_on();
// The slow question, exact: where all ranks find these bytes of ours (the slot less its holes, aliased static
// data), or nullptr. Takes no lock when there are no holes.
void* find_global(const void* data, std::size_t bytes);
// The address in `rank`'s memory that corresponds to `mine` in ours, heap or static data; nullptr: none.
void* find_remote(int rank, const void* mine);

// Told when something else was mapped within the slot (then ask find_global), and in the child of a fork,
// where the memory is private from then on, no peer is mapped, and the space is over. One listener.
struct Listener {
  void (*patched)(void* self) = nullptr;
  void (*forked)(void* self) = nullptr;  // in the child, single-threaded, the heap usable
  void* self = nullptr;
};
void set_listener(const Listener& listener);

// Huge pages behind bytes of our slot that have been touched; cheap when done before.
void collapse_range(const void* data, std::size_t bytes);

// Moves .data and .bss of the program and its libraries into the slot. False: *why. Once.
bool share_static_data(const char** why);

// One line per finding for --explain; returns the characters wanted, like snprintf.
int explain_memory(char* text, std::size_t bytes);

// Written by the join half: called once by our constructor, when libc is up and the memory is on.
void registry_start() __attribute__((weak));

}  // namespace nigh::space
