// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Open addressing, at most half full. A table that has become too small stays where it is: a peer may be
// reading it.
#include "mpi/directory.hpp"

#include <mutex>
#include <new>

#include "mpi/process.hpp"

namespace nigh::mpi {
namespace {

constexpr std::uint64_t first_capacity = 128;
constexpr std::uint64_t empty = 0, gone = 2;  // contexts are odd

std::mutex g_writing;
std::uint64_t g_used = 0;  // words that are not empty

Directory::Word& word_at(Directory& table, std::uint64_t place) {
  return table.words()[place & (table.capacity - 1)];
}

Directory::Word* find(Directory& table, std::uint64_t context) {
  for (std::uint64_t step = 0; step < table.capacity; ++step) {
    Directory::Word& word = word_at(table, context / 2 + step);
    const std::uint64_t there = word.context.load(std::memory_order_acquire);
    if (there == context) return &word;
    if (there == empty) return nullptr;
  }
  return nullptr;
}

void enter(Directory& table, std::uint64_t context, void* shown) {
  for (std::uint64_t step = 0;; ++step) {
    Directory::Word& word = word_at(table, context / 2 + step);
    const std::uint64_t there = word.context.load(std::memory_order_relaxed);
    if (there != empty && there != gone) continue;
    if (there == empty) ++g_used;
    word.shown.store(shown, std::memory_order_relaxed);
    word.context.store(context, std::memory_order_release);
    return;
  }
}

Directory* make_table(std::uint64_t capacity) {
  void* memory =
      process().space->alloc(sizeof(Directory) + capacity * sizeof(Directory::Word), alignof(Directory));
  if (!memory) return nullptr;
  auto* table = new (memory) Directory;
  table->capacity = capacity;
  for (std::uint64_t i = 0; i < capacity; ++i) new (&table->words()[i]) Directory::Word{};
  return table;
}

// A table with room for one more word; nullptr: no memory.
Directory* table_with_room() {
  Page& page = *process().page;
  Directory* old = page.directory.load(std::memory_order_relaxed);
  if (old && 2 * (g_used + 1) <= old->capacity) return old;
  Directory* fresh = make_table(old ? 2 * old->capacity : first_capacity);
  if (!fresh) return old && g_used + 1 < old->capacity ? old : nullptr;
  g_used = 0;
  for (std::uint64_t i = 0; old && i < old->capacity; ++i) {
    const Directory::Word& word = old->words()[i];
    const std::uint64_t context = word.context.load(std::memory_order_relaxed);
    if ((context & 1) != 0) enter(*fresh, context, word.shown.load(std::memory_order_relaxed));
  }
  page.directory.store(fresh, std::memory_order_release);
  return fresh;
}

}  // namespace

bool tell_first(std::uint64_t context, void* shown) {
  const std::lock_guard guard(g_writing);
  Directory* table = table_with_room();
  if (table) enter(*table, context, shown);
  return table != nullptr;
}

bool tell(std::uint64_t context, void* shown) {
  {
    const std::lock_guard guard(g_writing);
    Directory* table = process().page->directory.load(std::memory_order_relaxed);
    if (Directory::Word* word = table ? find(*table, context) : nullptr) {
      word->shown.store(shown, std::memory_order_release);
      return true;
    }
  }
  return tell_first(context, shown);
}

bool heard(const Page& page, std::uint64_t context, void*& shown) {
  Directory* table = page.directory.load(std::memory_order_acquire);
  const Directory::Word* word = table ? find(*table, context) : nullptr;
  if (word) shown = word->shown.load(std::memory_order_acquire);
  return word != nullptr;
}

// Words that are gone before an empty one are empty again: searches stop there.
void forget(std::uint64_t context) {
  const std::lock_guard guard(g_writing);
  Directory* table = process().page->directory.load(std::memory_order_relaxed);
  Directory::Word* word = table ? find(*table, context) : nullptr;
  if (!word) return;
  word->context.store(gone, std::memory_order_release);
  auto place = static_cast<std::uint64_t>(word - table->words());
  if (word_at(*table, place + 1).context.load(std::memory_order_relaxed) != empty) return;
  for (; word_at(*table, place).context.load(std::memory_order_relaxed) == gone; --place, --g_used)
    word_at(*table, place).context.store(empty, std::memory_order_release);
}

}  // namespace nigh::mpi
