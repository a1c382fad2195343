// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/common_range.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#ifndef MAP_FIXED_NOREPLACE  // newer than some C libraries' headers
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace nigh::space {

namespace {

constexpr std::size_t alone_bytes = std::size_t{1} << 37;  // what sanitizers leave room for

void* at(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): that is what it is
}

}  // namespace

// The address, where nobody has anything there; 0: somebody has.
std::uintptr_t CommonRange::keep(std::uintptr_t address, std::size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address != 0 ? MAP_FIXED_NOREPLACE : 0);
  void* const got = mmap(at(address), bytes, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) return 0;
  const auto out = reinterpret_cast<std::uintptr_t>(got);
  if (address == 0 || out == address) return out;
  munmap(got, bytes);  // a kernel that takes the address as a hint
  return 0;
}

CommonRange::CommonRange() {
  for (std::size_t i = 0; i < places.size(); ++i)
    if (keep(places[i], most_bytes) != 0) free_ |= 1U << i;
}

CommonRange::~CommonRange() {
  if (bytes_ > 0) munmap(at(first_), bytes_);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (free_ >> i & 1) munmap(at(places[i]), most_bytes);
  if (file_ >= 0) ::close(file_);
}

bool CommonRange::settle(std::uint32_t free_in_all) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!(std::exchange(free_, free_ & ~(1U << i)) >> i & 1)) continue;
    if (bytes_ == 0 && (free_in_all >> i & 1)) {
      first_ = places[i];
      bytes_ = most_bytes;
    } else {
      munmap(at(places[i]), most_bytes);
    }
  }
  open_slabs();
  return settled();
}

bool CommonRange::settle_alone() {
  if (settle(free_)) return true;
  first_ = keep(0, alone_bytes);
  if (first_ != 0) bytes_ = alone_bytes;
  open_slabs();
  return settled();
}

void CommonRange::open_slabs() { in_use_ = std::vector<std::atomic<std::uint64_t>>(bytes_ / slab / 64); }

std::string CommonRange::make_file() {
  struct rlimit limit;  // beyond it ftruncate would end the process
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < most_bytes) return {};
  const int fd = ::memfd_create("nigh-common-range", MFD_CLOEXEC);
  if (fd < 0) return {};
  if (::ftruncate(fd, static_cast<off_t>(most_bytes)) != 0) {
    ::close(fd);
    return {};
  }
  file_ = fd;
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
}

bool CommonRange::share(const std::string& file) {
  if (!settled()) return false;
  if (file_ < 0) file_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) return false;
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  if (mmap(at(first_), bytes_, PROT_READ | PROT_WRITE, flags, file_, 0) != MAP_FAILED) return true;
  ::close(std::exchange(file_, -1));
  return false;
}

bool CommonRange::use(const void* data, std::size_t size) {
  if (!has(data, size)) return false;
  if (is_shared() || size == 0) return true;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(data) - first_;
  for (std::size_t i = offset / slab; i <= (offset + size - 1) / slab; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    if (in_use_[i / 64].load(std::memory_order_acquire) & bit) continue;
    if (mprotect(at(first_ + i * slab), slab, PROT_READ | PROT_WRITE) != 0) return false;
    in_use_[i / 64].fetch_or(bit, std::memory_order_release);
  }
  return true;
}

void CommonRange::discard(void* data, std::size_t size) const {
  madvise(data, size, is_shared() ? MADV_REMOVE : MADV_DONTNEED);
}

}  // namespace nigh::space
