// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "message/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "message/pool_watch.hpp"

namespace nigh::message {

namespace {

constexpr std::size_t header_bytes = sizeof(PoolChunk);
constexpr unsigned no_class = 254;  // of a page that belongs to no span
constexpr unsigned bag_class = Pool::class_of(sizeof(Bag));
constexpr std::size_t few_empty_bags = 8;     // kept for later; more go home
constexpr std::size_t large_kept = 64 << 20;  // bytes of free large chunks
constexpr std::size_t line = 64;

// Pages of a span: so many that least is left over, and that a chunk can be filled with them.
constexpr unsigned best_span(std::size_t size) {
  unsigned best = 0;
  double best_left = 1;
  for (const unsigned pages : {1, 2, 4, 8, 10, 16}) {
    const std::size_t all = pages * Pool::page_bytes;
    if (all - header_bytes < size) continue;
    const double left = static_cast<double>(all % size) / static_cast<double>(all);
    if (left < best_left - 0.02) best_left = left, best = pages;
  }
  return best;
}
constexpr auto span_pages = [] {
  std::array<std::uint8_t, Pool::classes> out{};
  for (unsigned i = 0; i < Pool::classes; ++i)
    out[i] = static_cast<std::uint8_t>(best_span(Pool::size_of_class(i)));
  return out;
}();
static_assert(Pool::class_of(Pool::most_classed) == Pool::classes - 1);
static_assert(std::ranges::min(span_pages) > 0);

constexpr std::size_t span_start(unsigned first_page) {
  return first_page == 0 ? header_bytes : first_page * Pool::page_bytes;
}
constexpr std::size_t span_blocks(unsigned first_page, unsigned index) {
  return ((first_page + span_pages[index]) * Pool::page_bytes - span_start(first_page)) /
         Pool::size_of_class(index);
}

// Those of a chunk that may hold blocks, a bit each.
std::uint32_t all_pages(bool recorded) { return ~std::uint32_t{0} << (recorded ? record_pages : 0); }

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void* map_chunk(void*, std::size_t bytes) {
  const std::size_t more = bytes + Pool::chunk_bytes;
  void* const all = mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const auto from = reinterpret_cast<std::uintptr_t>(all);
  const std::uintptr_t chunk = round_up(from, Pool::chunk_bytes);
  if (chunk > from) munmap(all, chunk - from);
  munmap(reinterpret_cast<void*>(chunk + bytes), from + more - chunk - bytes);
  return reinterpret_cast<void*>(chunk);
}
void unmap_chunk(void*, void* memory, std::size_t bytes) { munmap(memory, bytes); }

}  // namespace

PoolMemory PoolMemory::of_process() { return {map_chunk, unmap_chunk, nullptr}; }

Pool::Pool(PoolDoor* door, std::uint32_t number, std::uint32_t owners, PoolMemory memory,
           const PoolDebug* debug, const PoolAccounting* accounting)
    : door_(door),
      number_(number),
      watch_(debug || accounting ? std::make_unique<Watch>(debug, accounting) : nullptr),
      away_(owners),
      memory_(memory) {}

Pool::~Pool() {
  for (const Kept& kept : chunks_) give_chunk_back(kept.chunk);
  for (const Large& large : large_) give_chunk_back(large.chunk);
  for (Shelf& shelf : shelves_) std::free(shelf.blocks);
}

void* Pool::get_slowly(std::size_t bytes, std::uint32_t tag) {
  if (bytes > most_classed) return get_own_chunk(bytes, tag);
  const unsigned index = class_of(bytes);
  if (watch_) return get_watched(index, tag);
  while (shelves_[index].count == 0 && open_bag()) {}
  return raw(index);
}

// A block of that class that is here, or of a new span.
void* Pool::raw(unsigned index) {
  Shelf& shelf = shelves_[index];
  if (shelf.count > 0) return shelf.blocks[--shelf.count];
  const std::size_t size = size_of_class(index);
  if (static_cast<std::size_t>(shelf.fresh_end - shelf.fresh) < size && !new_span(index)) return nullptr;
  ++shelf.taken;
  return std::exchange(shelf.fresh, shelf.fresh + size);
}

void* Pool::get_own_chunk(std::size_t bytes, std::uint32_t tag) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  while (open_bag()) {}
  const std::size_t all = round_up(bytes + header_bytes, chunk_bytes);
  Large* best = nullptr;
  for (Large& large : large_)
    if (large.free && large.chunk->bytes >= all && large.chunk->bytes <= 2 * all &&
        (!best || large.chunk->bytes < best->chunk->bytes))
      best = &large;
  if (best) {
    best->free = false;
    large_free_ -= best->chunk->bytes;
  } else {
    PoolChunk* const chunk = new_chunk(all);
    if (!chunk) return nullptr;
    chunk->class_of_page[0] = own_chunk;
    best = &large_.emplace_back(Large{chunk, false});
  }
  if (watch_) note_got(best->chunk + 1, tag);
  return best->chunk + 1;
}

void Pool::give_slowly(PoolChunk* chunk, void* block) {
  if (watch_ && watch_->debugs && !note_given(chunk, block)) return;
  if (chunk->owner == number_) return come_home(block);
  send_home(chunk, block, true);
  if (chunk->class_of(block) == own_chunk) send_chain(chunk->door, away_[chunk->owner]);
}

// Debug mode: false, and told, where that block is not in use.
bool Pool::note_given(PoolChunk* chunk, void* block) {
  using State = Watch::State;
  const std::size_t offset = chunk->offset(block);
  const unsigned index = chunk->class_of(block);
  bool is_block = chunk->recorded && chunk->owner < away_.size() && offset >= header_bytes;
  if (index == own_chunk) {
    is_block = is_block && offset == header_bytes;
  } else {
    const std::size_t start = span_start(chunk->first_page[offset / page_bytes]);
    is_block = is_block && index < classes && (offset - start) % size_of_class(index) == 0;
  }
  if (!is_block) {
    watch_->found(PoolFault::Kind::not_a_block, block, 0);
    return false;
  }
  std::uint64_t old = Watch::record(chunk, block).load(std::memory_order_relaxed);
  const std::uint64_t given = Watch::record_of(State::given, number_, Watch::tag_of(old));
  if (Watch::state_of(old) != State::used ||
      !Watch::record(chunk, block).compare_exchange_strong(old, given, std::memory_order_relaxed)) {
    watch_->found(
        Watch::state_of(old) == State::none ? PoolFault::Kind::not_a_block : PoolFault::Kind::given_twice,
        block, old);
    return false;
  }
  if (index != own_chunk) std::memset(block, poison, size_of_class(index));
  return true;
}

// A block of ours, from here or out of a bag.
void Pool::come_home(void* block) {
  PoolChunk* const chunk = PoolChunk::of(block);
  const unsigned index = chunk->class_of(block);
  const bool waits = watch_ && note_home(chunk, block);
  if (index == own_chunk) return free_own_chunk(chunk);
  if (waits)
    watch_->free[index].push_back(block);
  else
    shelve(shelves_[index], block);
}

bool Pool::make_room(Shelf& shelf) {
  const std::uint32_t room = std::max<std::uint32_t>(2 * shelf.room, 64);
  void* const larger = std::aligned_alloc(line_bytes, room * sizeof(void*));
  if (!larger) return false;
  if (shelf.count > 0) std::memcpy(larger, shelf.blocks, shelf.count * sizeof(void*));
  std::free(shelf.blocks);
  shelf.blocks = static_cast<void**>(larger);
  shelf.room = room;
  return true;
}

void Pool::own_parts(std::vector<OwnPart>& out) const {
  out.push_back({"pool", this, sizeof *this});
  out.push_back({"pool: away", away_.data(), away_.size() * sizeof away_[0]});
  for (const Shelf& shelf : shelves_)
    if (shelf.blocks) out.push_back({"pool: shelf", shelf.blocks, shelf.room * sizeof(void*)});
}

// That owner's, soon or by this block.
void Pool::bag_fills(PoolChunk* chunk, const void* block) {
  Away& away = away_[chunk->owner];
  const bool last = away.full + 1 == chain_bags || chunk->class_of(block) > most_chained;
  if (away.filling->count < bag_blocks) {
    if (last) fetch_to_write(chunk->door);
    return;
  }
  add_bag(away);
  if (last) send_chain(chunk->door, away);
}

void Pool::add_bag(Away& away) {
  Bag* const bag = std::exchange(away.filling, nullptr);
  if (away.last)
    away.last->next = bag;
  else
    away.first = bag;
  away.last = bag;
  ++away.full;
}

void Pool::send_chain(PoolDoor* door, Away& away) {
  if (away.filling && away.filling->count > 0) add_bag(away);
  if (away.first) door->push(away.first, away.last);
  away.first = away.last = nullptr;
  away.full = 0;
}

// Into which that owner's blocks may go; null: there is no memory.
Bag* Pool::stage(std::uint32_t owner) {
  while (empty_.empty() && shelves_[bag_class].count == 0 && open_bag()) {}
  Bag*& bag = away_[owner].filling;
  if (bag) return bag;  // one of those just emptied
  void* memory = nullptr;
  if (!empty_.empty()) {
    memory = empty_.back();
    empty_.pop_back();
  } else {
    memory = raw(bag_class);
    if (watch_ && memory) watch_->accounts.bags.got(sizeof(Bag));
  }
  if (!memory) return nullptr;
  for (std::size_t i = line; i < sizeof(Bag); i += line) fetch_to_write(static_cast<char*>(memory) + i);
  return bag = new (memory) Bag;
}

// False: there is none.
bool Pool::open_bag() {
  if (!opened_ && !(opened_ = door_->take())) return false;
  Bag* const bag = std::exchange(opened_, opened_->next);
  note_read(bag, sizeof *bag);
  if (opened_)
    for (std::size_t i = 0; i < sizeof *bag; i += line)
      __builtin_prefetch(reinterpret_cast<char*>(opened_) + i);
  for (unsigned i = 0; i < bag->count; ++i) fetch_to_write(bag->blocks[i]);
  for (unsigned i = bag->count;
       i-- > 0;) {  // who was given back first is got first: the reader is done with it
    void* const block = bag->blocks[i];
    const unsigned index = PoolChunk::of(block)->class_of(block);
    if (watch_ || index >= classes) [[unlikely]]
      come_home(block);
    else
      shelve(shelves_[index], block);
  }
  PoolChunk* const chunk = PoolChunk::of(bag);
  if (watch_ && watch_->debugs && watch_->is_message(chunk, bag))  // its giver had no memory for a bag
    std::memset(static_cast<void*>(bag), poison, offsetof(Bag, blocks));
  if (chunk->owner == number_)
    come_home(bag);
  else if (chunk->class_of(bag) == bag_class && !away_[chunk->owner].filling)
    away_[chunk->owner].filling = new (bag) Bag;
  else if (chunk->class_of(bag) == bag_class && empty_.size() < few_empty_bags)
    empty_.push_back(bag);
  else
    send_home(chunk, bag, false);
  return true;
}

void Pool::flush() {
  for (Away& away : away_) {
    const Bag* const any = away.first ? away.first : away.filling;
    // Bags alone can wait: sent at once they could go to and fro for ever.
    if (any && (away.first || any->count > any->bags)) send_chain(PoolChunk::of(any->blocks[0])->door, away);
  }
}

bool Pool::new_span(unsigned index) {
  const unsigned count = span_pages[index];
  const std::uint32_t run = (1U << count) - 1;
  auto first_of = [&](std::uint32_t free) {
    for (unsigned first = 0; first + count <= pages; ++first)
      if ((free >> first & run) == run) return static_cast<int>(first);
    return -1;
  };
  auto place =
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Kept& k) { return first_of(k.free) >= 0; });
  if (place == chunks_.end()) {
    PoolChunk* const chunk = new_chunk(chunk_bytes);
    if (!chunk) return false;
    std::memset(chunk->class_of_page, no_class, sizeof chunk->class_of_page);
    chunks_.push_back({chunk, all_pages(watch_ != nullptr)});
    place = chunks_.end() - 1;
  }
  const auto first = static_cast<unsigned>(first_of(place->free));
  place->free &= ~(run << first);
  for (unsigned page = first; page < first + count; ++page) {
    place->chunk->class_of_page[page] = static_cast<std::uint8_t>(index);
    place->chunk->first_page[page] = static_cast<std::uint8_t>(first);
  }
  Shelf& shelf = shelves_[index];
  shelf.fresh = reinterpret_cast<char*>(place->chunk) + span_start(first);
  shelf.fresh_end = shelf.fresh + span_blocks(first, index) * size_of_class(index);
  return true;
}

PoolChunk* Pool::new_chunk(std::size_t bytes) {
  void* const memory = memory_.get(memory_.context, bytes);
  if (!memory) return nullptr;
  if (watch_ && bytes == chunk_bytes) std::memset(memory, 0, record_pages * page_bytes);
  auto* chunk = new (memory) PoolChunk;
  chunk->door = door_;
  chunk->owner = number_;
  chunk->recorded = watch_ != nullptr;
  chunk->bytes = bytes;
  held_ += bytes;
  if (watch_) watch_->holds(held_);
  return chunk;
}

void Pool::free_own_chunk(PoolChunk* chunk) {
  const auto large =
      std::find_if(large_.begin(), large_.end(), [&](const Large& l) { return l.chunk == chunk; });
  if (large_free_ + chunk->bytes > large_kept) {
    large_.erase(large);
    return give_chunk_back(chunk);
  }
  large->free = true;
  large_free_ += chunk->bytes;
}

void Pool::give_chunk_back(PoolChunk* chunk) {
  held_ -= chunk->bytes;
  memory_.give(memory_.context, chunk, chunk->bytes);
}

void Pool::trim() {
  while (open_bag()) {}
  std::erase_if(large_, [&](const Large& large) {
    if (large.free) large_free_ -= large.chunk->bytes, give_chunk_back(large.chunk);
    return large.free;
  });
  if (watch_ && watch_->debugs) return;  // what is given back too often must be found there
  for (unsigned index = 0; index < classes; ++index) {
    Shelf& shelf = shelves_[index];
    const std::size_t size = size_of_class(index);
    for (; shelf.fresh < shelf.fresh_end; shelf.fresh += size, ++shelf.taken) shelve(shelf, shelf.fresh);
    std::sort(shelf.blocks, shelf.blocks + shelf.count, std::greater<>());  // the first will be used first
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0, next = 0; i < shelf.count; i = next) {
      PoolChunk* const chunk = PoolChunk::of(shelf.blocks[i]);
      auto span_of = [&](void* block) { return chunk->first_page[chunk->offset(block) / page_bytes]; };
      const unsigned first = span_of(shelf.blocks[i]);
      for (next = i; next < shelf.count && PoolChunk::of(shelf.blocks[next]) == chunk &&
                     span_of(shelf.blocks[next]) == first;)
        ++next;
      const bool whole = next - i == span_blocks(first, index);
      if (!whole) {
        kept = static_cast<std::uint32_t>(
            std::copy(shelf.blocks + i, shelf.blocks + next, shelf.blocks + kept) - shelf.blocks);
        continue;
      }
      shelf.taken -= next - i;
      const std::uint32_t run = ((1U << span_pages[index]) - 1) << first;
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Kept& k) { return k.chunk == chunk; })->free |=
          run;
      std::memset(chunk->class_of_page + first, no_class, span_pages[index]);
    }
    shelf.count = kept;
  }
  std::erase_if(chunks_, [&](const Kept& kept) {
    const bool is_free = kept.free == all_pages(watch_ != nullptr);
    if (is_free) give_chunk_back(kept.chunk);
    return is_free;
  });
}

PoolUse Pool::use() const {
  PoolUse out{.chunks = held_};
  for (unsigned index = 0; index < classes; ++index) {
    const std::size_t size = size_of_class(index);
    std::size_t here = shelves_[index].count;
    if (watch_) here += watch_->free[index].size();
    out.free += here * size;
    out.out += (shelves_[index].taken - here) * size;
  }
  for (const Large& large : large_) (large.free ? out.free : out.out) += large.chunk->bytes;
  return out;
}

}  // namespace nigh::message
