// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "message/pool_watch.hpp"

#include <cstring>

namespace nigh::message {

namespace {

std::size_t size_of(const PoolChunk* chunk, const void* block) {
  const unsigned index = chunk->class_of(block);
  return index == Pool::own_chunk ? chunk->bytes : Pool::size_of_class(index);
}

}  // namespace

// Bags are opened as soon as they are there, so that accounts tell what is home
// by now.
void* Pool::get_watched(unsigned index, std::uint32_t tag) {
  while (open_bag()) {}
  void* block = watch_->debugs ? out_of_quarantine(index) : nullptr;
  if (!block) block = raw(index);
  if (block) note_got(block, tag);
  return block;
}

// Null: none has been there for long enough.
void* Pool::out_of_quarantine(unsigned index) {
  std::deque<void*>& free = watch_->free[index];
  while (free.size() > watch_->with.quarantine) {
    void* const block = free.front();
    free.pop_front();
    const auto* bytes = static_cast<const unsigned char*>(block);
    const std::size_t size = size_of_class(index);
    if (bytes[0] == poison && std::memcmp(bytes, bytes + 1, size - 1) == 0) return block;
    watch_->found(PoolFault::Kind::written_after, block, Watch::record(PoolChunk::of(block), block));
  }
  return nullptr;
}

void Pool::note_got(void* block, std::uint32_t tag) {
  PoolChunk* const chunk = PoolChunk::of(block);
  Watch::record(chunk, block).store(Watch::record_of(Watch::State::used, 0, tag), std::memory_order_relaxed);
  if (watch_->keeps_accounts) watch_->got(tag, size_of(chunk, block));
}

// True: the debug mode keeps it for a while.
bool Pool::note_home(PoolChunk* chunk, void* block) {
  Watch::Record& record = Watch::record(chunk, block);
  const std::uint64_t was = record.load(std::memory_order_relaxed);
  const bool is_message = Watch::state_of(was) != Watch::State::none;
  if (!is_message)
    watch_->accounts.bags.came_home(size_of(chunk, block));
  else if (watch_->keeps_accounts)
    watch_->came_home(Watch::tag_of(was), size_of(chunk, block));
  if (watch_->debugs) return is_message;  // the record tells who gives it a second time
  record.store(0, std::memory_order_relaxed);
  return false;
}

void Pool::each_in_use(const std::function<void(const void* block, std::uint32_t tag)>& tell) const {
  if (!watch_ || !watch_->debugs) return;
  auto look = [&](const void* block, std::uint64_t record) {
    if (Watch::state_of(record) == Watch::State::used) tell(block, Watch::tag_of(record));
  };
  for (const Large& large : large_) look(large.chunk + 1, large.chunk->own_record);
  for (const Kept& kept : chunks_)
    for (std::size_t at = record_pages * page_bytes; at < chunk_bytes; at += recorded_line) {
      const char* block = reinterpret_cast<const char*>(kept.chunk) + at;
      look(block, Watch::record(kept.chunk, block));
    }
}

const PoolAccounts* Pool::accounts() const {
  return watch_ && watch_->keeps_accounts ? &watch_->accounts : nullptr;
}

PoolPeak Pool::take_peak() {
  if (!watch_) return {};
  return std::exchange(watch_->peak, {watch_->accounts.all.bytes, held_});
}

}  // namespace nigh::message
