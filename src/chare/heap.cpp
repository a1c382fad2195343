// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a heap: extents in a list, the first of which begins with what is known of all. Small blocks
// are carved from the newest and kept in a list for each size when they are free; large ones have extents of
// their own. All of it lies within, so that a copy of the extents is the heap.
#include <bit>
#include <cstring>
#include <new>

#include "chare/pe.hpp"
#include "nigh/chare/heap.hpp"

namespace nigh::chare::core {

namespace {

constexpr std::size_t most_small = 32768, largest_growth = std::size_t{4} << 20;

struct Extent {
  Extent *next = nullptr, *before = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;  // from its beginning on; what is behind was never touched
};
struct Free {
  Free* next = nullptr;
};

// Sizes 16 to 128 in steps of 16, then four for each power of two. Blocks with an alignment have powers of
// two of their own.
constexpr unsigned plain_sizes = 40, aligned_sizes = 16;
constexpr unsigned class_of(std::size_t bytes) {
  if (bytes <= 128) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / 16);
  const auto power = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  return 8 + (power - 7) * 4 + static_cast<unsigned>((bytes - 1) >> (power - 2) & 3);
}
constexpr std::size_t size_of(unsigned index) {
  if (index < 8) return 16 * (std::size_t{index} + 1);
  return (std::size_t{5} + (index - 8) % 4) << (7 + (index - 8) / 4 - 2);
}
static_assert(class_of(most_small) == plain_sizes - 1 && size_of(plain_sizes - 1) == most_small);
static_assert(size_of(class_of(129)) == 160 && size_of(class_of(160)) == 160 && class_of(128) == 7);

struct Memory : HeapMemory {
  static constexpr std::uint64_t right = 0x6e69676868656170;
  std::uint64_t magic = right;
  Extent* first = nullptr;  // the newest that blocks are carved from, then the others
  Free* plain[plain_sizes] = {};
  Free* aligned[aligned_sizes] = {};
  std::size_t growth = 0;  // bytes of the next
};
constexpr std::size_t extent_head = (sizeof(Extent) + 63) / 64 * 64;

Memory& of(HeapMemory* heap) { return *static_cast<Memory*>(heap); }
char* begin_of(Extent* extent) { return reinterpret_cast<char*>(extent); }
std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Extent* new_extent(std::size_t bytes) {
  void* const memory = Pe::mine().extents().take(bytes);
  if (!memory) return nullptr;
  auto* const out = new (memory) Extent;
  out->bytes = bytes;
  out->used = extent_head;
  return out;
}

void link_behind(Memory& memory, Extent* extent) {  // the first stays first
  Extent* const first = memory.first;
  extent->before = first;
  extent->next = first->next;
  if (first->next) first->next->before = extent;
  first->next = extent;
}

// So many bytes of the newest extent, or of one more.
void* carve(Memory& memory, std::size_t bytes, std::size_t align) {
  std::size_t at = round_up(memory.first->used, align);
  if (at + bytes > memory.first->bytes) {
    Extent* const more = new_extent(std::max(memory.growth, 2 * most_small));
    if (!more) return nullptr;
    more->next = memory.first;
    memory.first->before = more;
    memory.first = more;
    memory.growth = std::min(2 * more->bytes, largest_growth);
    at = round_up(more->used, align);
  }
  memory.first->used = at + bytes;
  return begin_of(memory.first) + at;
}

void* get_large(Memory& memory, std::size_t bytes, std::size_t align) {
  const std::size_t from = round_up(extent_head, align);
  if (bytes > SIZE_MAX / 4) return nullptr;
  Extent* const extent = new_extent(from + bytes);
  if (!extent) return nullptr;
  extent->used = from + bytes;
  link_behind(memory, extent);
  return begin_of(extent) + from;
}

// The list for such blocks, and their size.
Free** list_for(Memory& memory, std::size_t& bytes, std::size_t align) {
  if (align <= 16) {
    const unsigned index = class_of(bytes);
    bytes = size_of(index);
    return &memory.plain[index];
  }
  bytes = std::bit_ceil(std::max(bytes, align));
  return &memory.aligned[std::countr_zero(bytes)];
}

struct Written {  // in front of the extents
  Memory* memory;
  std::uint64_t extents;
};
struct WrittenExtent {
  Extent* at;
  std::uint64_t bytes, used;
};

}  // namespace

HeapMemory* heap_make() {
  Extent* const first = new_extent(Extents::smallest);
  if (!first && !Pe::mine().extents().can_be())
    Pe::mine().failed(
        "a heap can't be: no addresses are free in all processes, or ulimit -v or -f limits them");
  if (!first) return nullptr;
  auto* const out = new (begin_of(first) + first->used) Memory;
  first->used = round_up(first->used + sizeof(Memory), 64);
  out->used = 0;
  out->first = first;
  out->growth = 2 * first->bytes;
  return out;
}

void* heap_get(HeapMemory* heap, std::size_t bytes, std::size_t align) {
  Memory& memory = of(heap);
  const std::size_t asked = bytes;
  void* out = nullptr;
  if (std::max(bytes, align) > most_small) {
    out = get_large(memory, bytes, align);
  } else {
    Free** const list = list_for(memory, bytes, align);
    if (*list) {
      out = *list;
      *list = (*list)->next;
    } else {
      out = carve(memory, bytes, align <= 16 ? 16 : bytes);
    }
  }
  if (out) memory.used += asked;
  return out;
}

void heap_give(HeapMemory* heap, void* data, std::size_t bytes, std::size_t align) {
  if (!data) return;
  Memory& memory = of(heap);
  memory.used -= bytes;
  if (std::max(bytes, align) > most_small) {
    const std::size_t from = round_up(extent_head, align);
    auto* const extent = reinterpret_cast<Extent*>(static_cast<char*>(data) - from);
    extent->before->next = extent->next;  // it is never the first
    if (extent->next) extent->next->before = extent->before;
    Pe::mine().extents().give(extent, extent->bytes);
    return;
  }
  Free** const list = list_for(memory, bytes, align);
  *list = new (data) Free{*list};
}

void heap_free(HeapMemory* heap) {
  Pe* const pe = Pe::here();
  if (!pe) return;  // the range goes with the job
  for (Extent *extent = of(heap).first, *next = nullptr; extent; extent = next) {
    next = extent->next;
    pe->extents().give(extent, extent->bytes);
  }
}

std::size_t heap_write(HeapMemory* heap, char* into, Reach to) {
  Memory& memory = of(heap);
  std::size_t bytes = sizeof(Written);
  Written written{&memory, 0};
  for (const Extent* extent = memory.first; extent; extent = extent->next) {
    bytes += sizeof(WrittenExtent) + extent->used;
    ++written.extents;
  }
  if (!into) return bytes;
  std::memcpy(into, &written, sizeof written);
  into += sizeof written;
  Extents& extents = Pe::mine().extents();
  for (Extent *extent = memory.first, *next = nullptr; extent; extent = next) {
    next = extent->next;
    const WrittenExtent one{extent, extent->bytes, extent->used};
    std::memcpy(into, &one, sizeof one);
    std::memcpy(into + sizeof one, begin_of(extent), one.used);
    into += sizeof one + one.used;
    if (to == Reach::file)
      extents.note_written(extent);
    else
      extents.leave(extent, one.bytes);
  }
  return bytes;
}

HeapMemory* heap_read(const char* from, std::size_t bytes) {
  Written written;
  if (bytes < sizeof written) return nullptr;
  std::memcpy(&written, from, sizeof written);
  std::size_t at = sizeof written;
  bool has_memory = false;
  Extents& extents = Pe::mine().extents();
  for (std::uint64_t i = 0; i < written.extents; ++i) {
    WrittenExtent one;
    if (bytes - at < sizeof one) return nullptr;
    std::memcpy(&one, from + at, sizeof one);
    at += sizeof one;
    if (one.used > bytes - at || one.used > one.bytes || !extents.place(one.at, one.bytes)) return nullptr;
    std::memcpy(static_cast<void*>(one.at), from + at, one.used);
    at += one.used;
    const void* const memory = begin_of(one.at) + extent_head;
    has_memory |= memory == written.memory && one.used >= extent_head + sizeof(Memory);
  }
  return has_memory && at == bytes && written.memory->magic == Memory::right ? written.memory : nullptr;
}

}  // namespace nigh::chare::core
