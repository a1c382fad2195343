// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See memory.hpp. The fill differs from byte to byte and from buffer to buffer, so that data copied to the
// wrong place, or from it, shows.
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "check.hpp"

namespace soak {

char* Arena::take(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (bytes > bytes_ - used_) return nullptr;
  char* at = start_ + used_;
  used_ += bytes;
  return at;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(whole_, other.whole_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(protected_, other.protected_);
  image_.swap(other.image_);
}

void Buffer::obtain(Rng& rng, Arenas& arenas, std::size_t bytes) {
  int die = rng.below(100);
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = bytes;
  if (die < 15 && (whole_ = arenas.stack.take(bytes)) != nullptr) {
    home_ = Home::stack;
  } else if (die < 30 && (whole_ = arenas.data.take(bytes)) != nullptr) {
    home_ = Home::data;
  } else if (die < 45) {
    mapped_ = (bytes + page - 1) / page * page;
    int flags = MAP_ANONYMOUS | (die < 42 ? MAP_PRIVATE : MAP_SHARED);
    void* map = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (map == MAP_FAILED) fail("mmap of %zu bytes failed", mapped_);
    home_ = die < 42 ? Home::map : Home::shared_map;
    whole_ = static_cast<char*>(map);
    bytes_ = mapped_;
  } else if (die < 52) {
    void* memory = nullptr;
    std::size_t align = std::size_t{64} << rng.below(8);
    if (posix_memalign(&memory, align, bytes) != 0) fail("posix_memalign of %zu bytes failed", bytes);
    EXPECT(reinterpret_cast<std::uintptr_t>(memory) % align == 0);
    home_ = Home::aligned;
    whole_ = static_cast<char*>(memory);
  } else if (die < 56) {
    void* memory = nullptr;
    MPI_OK(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory));
    home_ = Home::mpi;
    whole_ = static_cast<char*>(memory);
  } else if (die < 62) {  // grown: a heap moves what it has
    void* memory = malloc(bytes / 2 + 1);
    if (memory != nullptr) memory = realloc(memory, bytes);
    if (memory == nullptr) fail("realloc to %zu bytes failed", bytes);
    home_ = Home::heap;
    whole_ = static_cast<char*>(memory);
  } else {
    whole_ = static_cast<char*>(die < 70 ? calloc(1, bytes) : malloc(bytes));
    if (whole_ == nullptr) fail("malloc of %zu bytes failed", bytes);
    home_ = Home::heap;
  }
}

void Buffer::release() {
  switch (home_) {
    case Home::heap:
    case Home::aligned: free(whole_); break;
    case Home::map:
    case Home::shared_map: munmap(whole_, mapped_); break;
    case Home::mpi: MPI_Free_mem(whole_); break;
    default: break;
  }
  home_ = Home::none;
}

Buffer Buffer::make(Rng& rng, Arenas& arenas, std::ptrdiff_t first, std::ptrdiff_t end) {
  Buffer buffer;
  std::size_t front = static_cast<std::size_t>(rng.in(16, 160));
  std::size_t back = static_cast<std::size_t>(rng.in(16, 160));
  if (rng.percent(40)) front = (front + 63) & ~std::size_t{63};
  auto body = static_cast<std::size_t>(end - first);
  buffer.obtain(rng, arenas, front + body + back);
  content(rng.next(), buffer.whole_, buffer.bytes_);
  buffer.data_ = buffer.whole_ + front - first;
  return buffer;
}

Buffer Buffer::make(Rng& rng, Arenas& arenas, const Layout& layout, int count, const char* stream,
                    std::size_t bytes) {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t end = 0;
  layout.reach(count, first, end);
  Buffer buffer = make(rng, arenas, first, end);
  if (stream != nullptr) layout.scatter(stream, bytes, buffer.data_);
  buffer.snapshot();
  return buffer;
}

void Buffer::snapshot() { image_.assign(whole_, whole_ + bytes_); }
void Buffer::ensure_image() {
  if (image_.empty()) snapshot();
}

void Buffer::expect(const Layout& layout, const char* stream, std::size_t bytes,
                    std::ptrdiff_t displacement) {
  ensure_image();
  layout.scatter(stream, bytes, image_.data() + (data_ - whole_) + displacement);
}

void Buffer::expect_raw(const char* bytes, std::size_t count, std::ptrdiff_t displacement) {
  ensure_image();
  if (count > 0) std::memcpy(image_.data() + (data_ - whole_) + displacement, bytes, count);
}

void Buffer::expect_anything_in_data(const Layout& layout, int count) {
  std::vector<char> now(layout.size * static_cast<std::size_t>(count));
  layout.gather(data_, now.size(), now.data());
  expect(layout, now.data(), now.size());
}

void Buffer::same(const char* what) {
  if (std::memcmp(image_.data(), whole_, bytes_) == 0) return;
  std::size_t first = 0;
  while (image_[first] == whole_[first]) ++first;
  std::size_t last = bytes_ - 1;
  while (image_[last] == whole_[last]) --last;
  std::size_t wrong = 0;
  for (std::size_t i = first; i <= last; ++i) wrong += image_[i] != whole_[i];
  static const char* const homes[] = {"no",   "heap",        "stack",   "static",
                                      "mmap", "shared mmap", "aligned", "MPI_Alloc_mem"};
  fail(
      "%s: %zu bytes differ between offsets %td and %td of the buffer (%s memory, %zu bytes with its "
      "guards): "
      "first has 0x%02x, should be 0x%02x",
      what, wrong, static_cast<std::ptrdiff_t>(first) - (data_ - whole_),
      static_cast<std::ptrdiff_t>(last) - (data_ - whole_), homes[static_cast<int>(home_)], bytes_,
      static_cast<unsigned char>(whole_[first]), static_cast<unsigned char>(image_[first]));
}

void Buffer::protect() {
  if (home_ == Home::map && mprotect(whole_, mapped_, PROT_READ) == 0) protected_ = true;
}

}  // namespace soak
