// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of messages: got by the PE that sends, given back by the one that received, who may be another
// thread or another process. Each PE has a pool; its memory comes in chunks of 2 MiB that say at their start
// whose they are and what lies in each of their pages:
//
//     chunk:  owner, size class of each page | blocks of one class, each on lines of its own
//     shelf:  the addresses of a class's free blocks, in the owner's own memory
//     bag:    the addresses of up to 30 blocks on their way home; several go together, and the owner takes
//             all that came by one exchange
//
// Free blocks are never written: who gives one back leaves its lines shared, and who gets it again need not
// wait for a miss to learn the address of the next. (The batched way home after snmalloc, Lietar et al., ISMM
// 2019, and the locked allocator that Charm++ had to replace.) A pool that is preempted or killed anywhere
// delays nobody: bags are pushed by compare-and-swap and taken all at once.
//
// Bags are blocks themselves. An emptied one is used again by whoever emptied it, or given back as any block.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "message/atomic.hpp"
#include "message/lines.hpp"

namespace nigh::message {

inline constexpr unsigned bag_blocks = 30;
inline constexpr unsigned chain_bags = 8;  // that go home together: the owner's door is a miss each time

// Blocks of one owner on their way back to it: four lines.
struct alignas(64) Bag {
  Bag* next = nullptr;
  std::uint16_t count = 0;
  std::uint16_t bags = 0;    // of them: emptied ones; the others were messages
  void* blocks[bag_blocks];  // of which the first `count`
};
static_assert(sizeof(Bag) == 256);

// The one part of a pool that others write: on lines of its own, mapped by all at the same address.
struct alignas(128) PoolDoor {
  atomic<Bag*> bags = nullptr;

  void push(Bag* bag) { push(bag, bag); }
  // A chain of bags. Not looked at before: that would be one miss more.
  void push(Bag* first, Bag* last) {
    Bag* newest = nullptr;
    do {
      last->next = newest;
      note_write(last, sizeof *last);
    } while (
        !bags.compare_exchange_weak(newest, first, std::memory_order_release, std::memory_order_relaxed));
  }
  [[nodiscard]] Bag* take() {
    return bags.load(std::memory_order_relaxed) ? bags.exchange(nullptr, std::memory_order_acquire) : nullptr;
  }
};

// That line will be written. (Of __builtin_prefetch(line, 1) gcc makes a prefetch for reading, for x86-64 in
// general; that is nothing where the reader's copy has to go.)
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

struct PoolChunk;

// The source of chunks: memory that all pools have mapped at the same address, aligned to
// `Pool::chunk_bytes`. `get` may return null.
struct PoolMemory {
  void* (*get)(void* context, std::size_t bytes) = nullptr;
  void (*give)(void* context, void* memory, std::size_t bytes) = nullptr;
  void* context = nullptr;

  static PoolMemory of_process();  // by mmap
};

// The findings of the debug mode, reported to `found`; the block in question is not handed out again.
struct PoolFault {
  enum class Kind { given_twice, not_a_block, written_after };
  Kind kind = Kind::not_a_block;
  const void* block = nullptr;
  std::uint32_t tag = 0;       // that it was got with
  std::uint32_t given_by = 0;  // owner number of the pool that gave it back (the first time)
};
struct PoolDebug {
  std::function<void(const PoolFault&)> found;
  std::size_t quarantine = 64;  // free blocks of a class that are not handed out yet
};

// The account that a block's tag belongs to; null: each tag has its own.
struct PoolAccounting {
  std::uint32_t (*account_of)(std::uint32_t tag) = nullptr;
};
// The account of a pool's blocks, by the sizes of their classes (of their chunks, where they have one each).
// A block is in use until it has come home: those on their way back are, too.
struct PoolAccount {
  std::uint64_t blocks = 0, bytes = 0;            // in use now
  std::uint64_t most_bytes = 0;                   // at once
  std::uint64_t blocks_ever = 0, bytes_ever = 0;  // handed out

  void got(std::size_t size) {
    ++blocks, ++blocks_ever;
    bytes += size, bytes_ever += size;
    if (bytes > most_bytes) most_bytes = bytes;
  }
  void came_home(std::size_t size) { --blocks, bytes -= size; }
};
struct PoolPeak {
  std::uint64_t in_use = 0, held = 0;  // bytes; without bags, and of all chunks
};
struct PoolAccounts {
  PoolAccount all, bags;  // all: without bags, which are the pool's own
  std::unordered_map<std::uint32_t, PoolAccount> of;
  std::uint64_t most_held = 0;
};

struct PoolUse {
  std::size_t chunks = 0;  // bytes taken from the memory below
  std::size_t out = 0;     // bytes of blocks in use or still on their way back
  std::size_t free = 0;
};

class alignas(line_bytes) Pool {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{2} << 20, page_bytes = std::size_t{64} << 10;
  static constexpr std::size_t pages = chunk_bytes / page_bytes;
  static constexpr std::size_t most_classed = (std::size_t{512} << 10) + 64;  // above: chunks of their own
  static constexpr unsigned classes = 49, own_chunk = 255;
  static constexpr unsigned most_chained = 12;  // class; bags of larger blocks go home at once

  // `number` of this pool among `owners`; `door` is in shared memory. One thread uses a pool. In the debug
  // mode all pools that exchange blocks must be in it; whether it keeps accounts is each pool's own affair.
  Pool(PoolDoor* door, std::uint32_t number, std::uint32_t owners, PoolMemory memory,
       const PoolDebug* debug = nullptr, const PoolAccounting* accounting = nullptr);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // When nobody uses its blocks or has some in his bags.
  ~Pool();

  // At least `bytes`, aligned to a line; null: there is no memory. `tag`: told by the debug mode, and what
  // accounts are kept by.
  [[nodiscard]] void* get(std::size_t bytes, std::uint32_t tag = 0) {
    if (bytes <= most_classed && !watch_) [[likely]] {
      Shelf& shelf = shelves_[class_of(bytes)];
      if (shelf.count > 0) [[likely]] {
        void* const block = shelf.blocks[--shelf.count];
        if (bytes > 64) fetch_ahead(shelf, bytes);  // smaller ones were fetched with their bag
        return block;
      }
    }
    return get_slowly(bytes, tag);
  }

  // A block of any pool.
  void give(void* block);

  // Sends all blocks that were given back to their owners.
  void flush();

  // Chunks of which no block is in use go back to where they came from. Slow; for quiet times.
  void trim();

  [[nodiscard]] PoolUse use() const;
  void own_parts(std::vector<OwnPart>& out) const;
  // Debug mode: blocks of this pool that are in use.
  void each_in_use(const std::function<void(const void* block, std::uint32_t tag)>& tell) const;
  // Null: none are kept.
  [[nodiscard]] const PoolAccounts* accounts() const;
  // The most since this was last asked for.
  [[nodiscard]] PoolPeak take_peak();

  static constexpr std::size_t size_of_class(unsigned index) {
    if (index < 8) return 64 * (std::size_t{index} + 1);
    const unsigned step = index - 8 + 3;
    return ((std::size_t{5} + step % 4) << (8 + step / 4 - 2)) + 64;
  }
  static constexpr unsigned class_of(std::size_t bytes) {
    if (bytes <= 512) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / 64);
    const std::size_t rest = bytes - 65;  // an odd number of lines: blocks begin in different cache sets
    const auto power = static_cast<unsigned>(std::bit_width(rest)) - 1;
    return 8 + (power - 8) * 4 + static_cast<unsigned>(rest >> (power - 2) & 3) - 3;
  }

 private:
  struct Shelf {
    void** blocks = nullptr;
    std::uint32_t count = 0, room = 0;
    char *fresh = nullptr, *fresh_end = nullptr;  // of the newest span
    std::uint64_t taken = 0;                      // blocks, from all its spans
  };
  struct Kept {
    PoolChunk* chunk = nullptr;
    std::uint32_t free = 0;  // a bit for each page that belongs to no span
  };
  struct Away {  // bags for one owner
    Bag* filling = nullptr;
    Bag *first = nullptr, *last = nullptr;  // full ones, oldest first
    std::uint32_t full = 0;
  };
  struct Large {  // a block with a chunk of its own
    PoolChunk* chunk = nullptr;
    bool free = false;
  };

  struct Watch;

  void* get_slowly(std::size_t bytes, std::uint32_t tag);
  void* get_watched(unsigned index, std::uint32_t tag);
  void* out_of_quarantine(unsigned index);
  void* get_own_chunk(std::size_t bytes, std::uint32_t tag);
  void* raw(unsigned index);
  void give_slowly(PoolChunk* chunk, void* block);
  bool note_given(PoolChunk* chunk, void* block);
  void note_got(void* block, std::uint32_t tag);
  bool note_home(PoolChunk* chunk, void* block);
  void come_home(void* block);
  void shelve(Shelf& shelf, void* block);
  static void fetch_ahead(const Shelf& shelf, std::size_t bytes);
  static bool make_room(Shelf& shelf);
  void send_home(PoolChunk* chunk, void* block, bool message);
  void bag_fills(PoolChunk* chunk, const void* block);
  static void add_bag(Away& away);
  static void send_chain(PoolDoor* door, Away& away);
  Bag* stage(std::uint32_t owner);
  bool open_bag();
  bool new_span(unsigned index);
  void free_own_chunk(PoolChunk* chunk);
  PoolChunk* new_chunk(std::size_t bytes);
  void give_chunk_back(PoolChunk* chunk);

  PoolDoor* door_;
  std::uint32_t number_;
  std::unique_ptr<Watch> watch_;  // debug mode, or accounts are kept
  std::array<Shelf, classes> shelves_{};
  LineVector<Away> away_;  // for each owner
  Bag* opened_ = nullptr;  // taken from the door, not looked at yet
  std::vector<Bag*> empty_;
  std::vector<Kept> chunks_;
  std::vector<Large> large_;
  std::size_t held_ = 0, large_free_ = 0;  // bytes of all chunks; of large ones that are free
  PoolMemory memory_;
};

// At the start of each chunk. Written by the owner before any block of it is handed out.
struct alignas(64) PoolChunk {
  PoolDoor* door = nullptr;
  std::uint32_t owner = 0;
  bool recorded = false;  // records of all blocks lie in front of them
  std::size_t bytes = 0;
  std::uint8_t class_of_page[Pool::pages] = {};
  std::uint8_t first_page[Pool::pages] = {};  // of the span that the page belongs to
  atomic<std::uint64_t> own_record = 0;       // of a block that has a chunk of its own

  static PoolChunk* of(const void* block) {
    return reinterpret_cast<PoolChunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(Pool::chunk_bytes - 1));
  }
  [[nodiscard]] std::size_t offset(const void* block) const {
    return static_cast<std::size_t>(static_cast<const char*>(block) - reinterpret_cast<const char*>(this));
  }
  [[nodiscard]] unsigned class_of(const void* block) const {
    return class_of_page[offset(block) / Pool::page_bytes];
  }
};
static_assert(sizeof(PoolChunk) == 128);

inline void Pool::give(void* block) {
  PoolChunk* const chunk = PoolChunk::of(block);
  const unsigned index = chunk->class_of(block);
  if (watch_ || index == own_chunk) [[unlikely]]
    return give_slowly(chunk, block);
  if (chunk->owner == number_)
    shelve(shelves_[index], block);
  else
    send_home(chunk, block, true);
}

inline void Pool::shelve(Shelf& shelf, void* block) {
  if (shelf.count == shelf.room && !make_room(shelf)) [[unlikely]]
    return;  // lost: there is no memory to remember it
  shelf.blocks[shelf.count++] = block;
}

// Small ones a few gets before they are due, of large ones less but sooner: so many misses go on at once.
inline void Pool::fetch_ahead(const Shelf& shelf, std::size_t bytes) {
  const std::uint32_t ahead = bytes <= 512 ? 6 : 2;
  if (shelf.count < ahead) return;
  const char* const block = static_cast<const char*>(shelf.blocks[shelf.count - ahead]);
  const std::size_t most = bytes <= 512 ? 256 : 1024;
  for (std::size_t at = 0; at < bytes && at < most; at += 64) fetch_to_write(block + at);
}

inline void Pool::send_home(PoolChunk* chunk, void* block, bool message) {
  Away& away = away_[chunk->owner];
  if (!away.filling && !stage(chunk->owner)) [[unlikely]]
    return chunk->door->push(new (block) Bag);  // which is then all that is in it
  Bag* const bag = away.filling;
  bag->blocks[bag->count++] = block;
  if (!message) ++bag->bags;
  if (bag->count == bag_blocks - 8 || bag->count == bag_blocks) [[unlikely]]
    bag_fills(chunk, block);
}

}  // namespace nigh::message
