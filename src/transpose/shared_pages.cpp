// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/shared_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sys/raw_memory.hpp"

namespace nigh::transpose {

namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20, small_page = 4096;

std::size_t pages_of(std::size_t bytes) {
  const std::size_t page = bytes < huge_page ? small_page : huge_page;
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

// Works with any shmem_enabled; since Linux 6.1. Stops where the kernel refuses: small pages do as well.
void make_huge(std::byte* at, std::size_t bytes) {
  for (std::size_t done = 0; done + huge_page <= bytes; done += huge_page) {
    *static_cast<volatile std::byte*>(at + done) = std::byte{};  // there must be something to begin with
    if (::madvise(at + done, huge_page, sys::kCollapse) != 0) return;
  }
}
}  // namespace

SharedPages::~SharedPages() {
  seal();
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

SharedPages::SharedPages(SharedPages&& other) noexcept
    : file_(std::exchange(other.file_, -1)), bytes_(other.bytes_), at_(std::exchange(other.at_, nullptr)) {}

SharedPages& SharedPages::operator=(SharedPages&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(at_, other.at_);
  return *this;
}

void SharedPages::seal() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

// Maps from an address where a huge page may begin: more addresses are reserved than are needed, and the
// others given back.
bool SharedPages::map() {
  const std::size_t room = bytes_ + huge_page;
  void* reserved = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  auto* const first = static_cast<std::byte*>(reserved);
  std::byte* const at = first + (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
  if (at > first) ::munmap(first, static_cast<std::size_t>(at - first));
  ::munmap(at + bytes_, static_cast<std::size_t>(first + room - (at + bytes_)));
  if (::mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0) == MAP_FAILED) {
    ::munmap(at, bytes_);
    return false;
  }
  at_ = at;
  return true;
}

SharedPages SharedPages::make(std::size_t bytes) {
  SharedPages made;
  made.bytes_ = pages_of(bytes);
  made.file_ = ::memfd_create("nigh-transpose", MFD_CLOEXEC);
  if (made.file_ < 0 || ::ftruncate(made.file_, static_cast<off_t>(made.bytes_)) != 0 || !made.map()) {
    made.seal();
    return made;
  }
  if (made.bytes_ >= huge_page) make_huge(made.at_, made.bytes_);
  return made;
}

SharedPages SharedPages::open(const Name& name) {
  SharedPages opened;
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
  opened.bytes_ = name.bytes;
  opened.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found{};
  // In another container the same number is another process.
  if (opened.file_ >= 0 && ::fstat(opened.file_, &found) == 0 && found.st_dev == name.device &&
      found.st_ino == name.inode && static_cast<std::uint64_t>(found.st_size) == name.bytes)
    (void)opened.map();
  opened.seal();
  return opened;
}

SharedPages::Name SharedPages::name() const {
  struct stat found{};
  if (file_ < 0 || ::fstat(file_, &found) != 0) return {};
  return {static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(file_), bytes_, found.st_dev,
          found.st_ino};
}

}  // namespace nigh::transpose
