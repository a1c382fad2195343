// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of an element that moves with it and keeps its addresses: lists, trees and graphs need no
// description of how they are written, their pointers are right wherever the element goes (isomalloc:
// Antoniu, Bouge, Namyst, IPPS 1999).
//
//     struct Mesh : Element<Mesh> {
//       Heap heap;
//       Node* root = nullptr;  // into it
//       template <class Archive> void serialize(Archive& archive) { archive(heap, root); }
//     };
//
// Between threads and the processes of a space it is passed on as it is, else its bytes are copied to the
// same addresses. What lies there may point to within the heap, and to nothing else that moves or that is
// another process's: no functions, no virtual ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "nigh/chare/archive.hpp"
#include "nigh/chare/core.hpp"

namespace nigh::chare {

class Heap {
 public:
  static constexpr std::size_t most_alignment = 32768;

  Heap() = default;  // takes no memory before the first use
  Heap(Heap&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Heap& operator=(Heap&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  // All of its memory goes. What was made in it is not destroyed.
  ~Heap() {
    if (memory_) core::heap_free(memory_);
  }

  // Only in entry methods, constructors and run()'s main. Throws std::bad_alloc.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t align = alignof(std::max_align_t)) {
    return static_cast<Resource*>(resource())->allocate(bytes, align);
  }
  // With what it was allocated by.
  void deallocate(void* data, std::size_t bytes, std::size_t align = alignof(std::max_align_t)) {
    core::heap_give(memory_, data, bytes, align);
  }
  // A T in it; one that takes a polymorphic allocator (std::pmr::vector, map, string) has all its memory
  // there.
  template <class T, class... A>
  [[nodiscard]] T* make(A&&... arguments) {
    static_assert(!std::is_polymorphic_v<T>, "virtual functions have other addresses in other processes");
    return std::pmr::polymorphic_allocator<>(resource())
        .template new_object<T>(std::forward<A>(arguments)...);
  }
  template <class T>
  void destroy(T* object) {
    std::pmr::polymorphic_allocator<>(resource()).delete_object(object);
  }
  // It lies in the heap itself: containers there may keep it.
  [[nodiscard]] std::pmr::memory_resource* resource() {
    if (!memory_) {
      memory_ = core::heap_make();
      if (!memory_) throw std::bad_alloc();
      renew();
    }
    return std::launder(reinterpret_cast<Resource*>(memory_->resource));
  }
  // In use.
  [[nodiscard]] std::size_t bytes() const { return memory_ ? memory_->used : 0; }

  template <class Archive>
  void serialize(Archive& archive) {
    using Does = typename Archive::Does;
    archive.note_heap();
    const core::Reach to = archive.reach();
    std::uint64_t bytes = memory_ && to != core::Reach::shared ? core::heap_write(memory_, nullptr, to) : 0;
    auto* memory = memory_;
    archive(bytes, memory);
    if (archive.does() == Does::count) return void(archive.skip(bytes));
    if (archive.reads()) {
      if (memory && to != core::Reach::shared) {
        memory = core::heap_read(static_cast<const char*>(archive.skip(bytes)), bytes);
        if (!memory) throw std::runtime_error("a heap can't be put where it was: no memory, or no addresses");
      }
      Heap before(std::move(*this));
      memory_ = memory;
      if (memory_) renew();
      return;
    }
    if (memory_ && to != core::Reach::shared)
      core::heap_write(memory_, static_cast<char*>(archive.skip(bytes)), to);
    if (to != core::Reach::file) memory_ = nullptr;  // the reader's
  }

 private:
  class Resource final : public std::pmr::memory_resource {
   public:
    explicit Resource(core::HeapMemory* memory) : memory_(memory) {}

   private:
    void* do_allocate(std::size_t bytes, std::size_t align) override {
      void* const out = align <= most_alignment ? core::heap_get(memory_, bytes, align) : nullptr;
      if (!out) throw std::bad_alloc();
      return out;
    }
    void do_deallocate(void* data, std::size_t bytes, std::size_t align) override {
      core::heap_give(memory_, data, bytes, align);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
      return this == &other;
    }
    core::HeapMemory* memory_;
  };
  static_assert(sizeof(Resource) <= sizeof(core::HeapMemory::resource));
  // Its virtual functions are those of this process.
  void renew() { new (memory_->resource) Resource(memory_); }

  core::HeapMemory* memory_ = nullptr;
};

}  // namespace nigh::chare
