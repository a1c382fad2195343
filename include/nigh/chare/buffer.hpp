// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// An array in the memory of messages: passed to an entry method by move, it is not copied, and whoever has it
// can pass it on.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a buffer may be copied as bytes");
  static_assert(alignof(T) <= 64, "buffers are aligned to 64 bytes");

 public:
  Buffer() = default;
  // Its items are not initialized. Throws std::bad_alloc. Only in entry methods and in run()'s main.
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(core::get_memory(size * sizeof(T)))), size_(size) {
    if (!data_) throw std::bad_alloc();
  }
  explicit Buffer(std::span<const T> items) : Buffer(items.size()) {
    if (!items.empty()) std::memcpy(static_cast<void*>(data_), items.data(), items.size_bytes());
  }
  Buffer(const Buffer& other) : Buffer(std::span<const T>(other)) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (data_) core::give_memory(data_);
  }

  // Its memory is somebody else's from now on.
  void release() {
    data_ = nullptr;
    size_ = 0;
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;  // first: core::Entry::buffers
  std::size_t size_ = 0;
};

}  // namespace nigh::chare
