// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The table of request_table.hpp: linear probing, at most half full, deletion by moving back what would be
// cut off.
#include "mpi/request_table.hpp"

#include <cstdlib>
#include <new>

namespace nigh::mpi {

std::atomic<bool> TableLock::flag = false;
Table::Slot Table::first_slots[256];
Table g_table;
Record* g_posted = nullptr;
std::atomic<int> g_live = 0;
std::atomic<int> g_unusual = 0;
std::atomic<int> g_placeholders = 0;
LargeReceives g_large;

bool Table::grow() {
  const std::size_t room = 2 * (mask_ + 1);
  auto* slots = static_cast<Slot*>(std::calloc(room, sizeof(Slot)));
  if (!slots) return false;
  Slot* old = slots_;
  const std::size_t old_mask = mask_;
  slots_ = slots;
  mask_ = room - 1;
  --shift_;
  for (std::size_t i = 0; i <= old_mask; ++i) {
    if (old[i].key == 0) continue;
    std::size_t at = home(old[i].key);
    while (slots_[at].key != 0) at = (at + 1) & mask_;
    slots_[at] = old[i];
  }
  if (old != first_slots) std::free(old);
  return true;
}

Record* Table::insert(std::uintptr_t key) {
  if (2 * used_ > mask_ && !grow()) return nullptr;
  std::size_t i = home(key);
  for (; slots_[i].key != 0 && slots_[i].key != key; i = (i + 1) & mask_) {}
  const bool old = slots_[i].key != 0;
  if (old && !(g_process.multiple && slots_[i].record->pinned)) return slots_[i].record;
  if (!free_) {
    constexpr int chunk = 64;
    auto* made = static_cast<Record*>(std::calloc(chunk, sizeof(Record)));
    if (!made) return nullptr;
    for (int k = 0; k < chunk; ++k) {
      auto* record = new (made + k) Record;
      record->next = free_;
      free_ = record;
    }
  }
  Record* record = free_;
  free_ = record->next;
  record->key = key;
  record->detached = false;
  if (old)
    slots_[i].record->detached = true;
  else
    ++used_;
  slots_[i] = {.key = key, .record = record};
  return record;
}

void Table::erase(Record* record) {
  unlist(*record);
  if (record->detached) {
    record->next = free_;
    free_ = record;
    return;
  }
  std::size_t i = home(record->key);
  while (slots_[i].key != record->key) i = (i + 1) & mask_;
  for (std::size_t j = i;;) {
    j = (j + 1) & mask_;
    if (slots_[j].key == 0) break;
    // slots_[j] may fill the hole unless its home lies between the hole and itself.
    if (((j - home(slots_[j].key)) & mask_) >= ((j - i) & mask_)) {
      slots_[i] = slots_[j];
      i = j;
    }
  }
  slots_[i] = {};
  --used_;
  record->key = 0;
  record->next = free_;
  free_ = record;
}

}  // namespace nigh::mpi
