// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// mmap and its kin: anonymous private memory must behave as the kernel's own.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cases.hpp"

static constexpr int kOpen = PROT_READ | PROT_WRITE;
static constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
static constexpr std::size_t kPage = 4096;
static constexpr std::size_t kMiB = 1 << 20;

static char* map(std::size_t bytes, int prot = kOpen, int flags = kAnonymous, void* at = nullptr) {
  return static_cast<char*>(mmap(at, bytes, prot, flags, -1, 0));
}
static bool zero(const char* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (data[i] != 0) return false;
  return true;
}

CASE(map_gives_zeros_and_unmap_takes_them) {
  for (std::size_t bytes : {kPage, 3 * kPage, kMiB, 5 * kMiB + kPage}) {
    char* data = map(bytes);
    CHECK(data != MAP_FAILED && in_slot(data) == expect_shared() && zero(data, bytes));
    std::memset(data, 1, bytes);
    CHECK(munmap(data, bytes) == 0);
    CHECK(faults(read_byte, data) && faults(write_byte, data + bytes - 1));
    CHECK(munmap(data, bytes) == 0);  // nothing is there: fine
  }
  errno = 0;
  CHECK(map(0) == MAP_FAILED && errno == EINVAL);
  char* data = map(4 * kPage);
  CHECK(munmap(data + 1, kPage) == -1 && errno == EINVAL);
  CHECK(munmap(data, 0) == -1 && errno == EINVAL);
  std::memset(data, 7, 4 * kPage);
  CHECK(munmap(data + kPage, 2 * kPage - 100) == 0);
  CHECK(data[0] == 7 && data[3 * kPage] == 7 && faults(read_byte, data + kPage) &&
        faults(read_byte, data + 2 * kPage));
  char* back = map(2 * kPage, kOpen, kAnonymous | MAP_FIXED_NOREPLACE, data + kPage);
  CHECK(back == data + kPage && zero(back, 2 * kPage));
  CHECK(map(kPage, kOpen, kAnonymous | MAP_FIXED_NOREPLACE, data) == MAP_FAILED && errno == EEXIST);
}

CASE(addresses_are_used_again) {
  char* first = map(8 * kMiB);
  munmap(first, 8 * kMiB);
  for (int i = 0; i < 5000; ++i) {  // 40 GiB in all
    char* data = map(8 * kMiB);
    CHECK(data != MAP_FAILED && data[5] == 0);
    data[5] = 1;
    CHECK(munmap(data, 8 * kMiB) == 0);
  }
}

CASE(advice_means_what_it_did) {
  char* data = map(4 * kMiB);
  std::memset(data, 5, 4 * kMiB);
  CHECK(madvise(data + kPage, kPage, MADV_DONTNEED) == 0);
  CHECK(data[kPage - 1] == 5 && zero(data + kPage, kPage) && data[2 * kPage] == 5);
  CHECK(madvise(data, 4 * kMiB, MADV_DONTNEED) == 0 && zero(data, 4 * kMiB));
  std::memset(data, 6, 4 * kMiB);
  CHECK(madvise(data, kMiB, MADV_FREE) == 0 && (data[0] == 6 || data[0] == 0) && data[kMiB] == 6);
  errno = 0;
  CHECK(madvise(data, kMiB, MADV_REMOVE) == -1 && errno == EINVAL && data[kMiB] == 6);
  CHECK(madvise(data, kMiB, MADV_WILLNEED) == 0);
  CHECK(madvise(data, 4 * kMiB, MADV_HUGEPAGE) == 0 && madvise(data, 4 * kMiB, MADV_NOHUGEPAGE) == 0);
  CHECK(data[3 * kMiB] == 6);
  errno = 0;
  CHECK(madvise(data + 1, kPage, MADV_DONTNEED) == -1 && errno == EINVAL);
  CHECK(madvise(data, kPage, 9999) == -1 && errno == EINVAL);
  munmap(data, 4 * kMiB);
  errno = 0;
  CHECK(madvise(data, kPage, MADV_DONTNEED) == -1 && errno == ENOMEM);
}

// The same by syscall(), and what else that does stays as it is.
CASE(system_calls_mean_what_they_did) {
  auto* data = reinterpret_cast<char*>(
      syscall(SYS_mmap, nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(data != MAP_FAILED && in_slot(data) == expect_shared() && zero(data, 4 * kMiB));
  std::memset(data, 5, 4 * kMiB);
  CHECK(syscall(SYS_madvise, data + kPage, kPage, MADV_DONTNEED) == 0);
  CHECK(data[kPage - 1] == 5 && zero(data + kPage, kPage) && data[2 * kPage] == 5);
  data = reinterpret_cast<char*>(syscall(SYS_mremap, data, 4 * kMiB, 8 * kMiB, MREMAP_MAYMOVE));
  CHECK(data != MAP_FAILED && data[0] == 5 && zero(data + kPage, kPage) && zero(data + 4 * kMiB, 4 * kMiB));
  errno = 0;
  CHECK(syscall(SYS_madvise, data + 1, kPage, MADV_DONTNEED) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_munmap, data, 8 * kMiB) == 0 && faults(read_byte, data));
  void* heap = std::aligned_alloc(kPage, kMiB);
  std::memset(heap, 6, kMiB);
  CHECK(syscall(SYS_madvise, heap, kMiB, MADV_DONTNEED) == 0 && zero(static_cast<char*>(heap), kMiB));
  std::free(heap);
  CHECK(syscall(SYS_getpid) == getpid());
  errno = 0;
  CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
  int ends[2];
  CHECK(pipe(ends) == 0);
  constexpr std::size_t piece = 3;
  CHECK(syscall(SYS_write, ends[1], "abc", piece) == 3);
  char got[8] = {};
  CHECK(syscall(SYS_splice, ends[0], nullptr, -1, nullptr, piece, 0) == -1 && errno == EBADF);
  CHECK(read(ends[0], got, sizeof got) == 3 && std::strcmp(got, "abc") == 0);
  close(ends[0]), close(ends[1]);
}

CASE(reservations_open_piece_by_piece) {
  constexpr std::size_t bytes = std::size_t{4} << 30;
  char* data = map(bytes, PROT_NONE, kAnonymous | MAP_NORESERVE);
  CHECK(data != MAP_FAILED && faults(read_byte, data));
  for (std::size_t at = 0; at < 64 * kMiB; at += kMiB) {
    CHECK(mprotect(data + at, kMiB, kOpen) == 0);
    CHECK(data[at] == 0);
    data[at + 5] = 1;
  }
  char* piece = map(kMiB, kOpen, kAnonymous | MAP_FIXED, data + bytes / 2);
  CHECK(piece == data + bytes / 2 && zero(piece, kMiB));
  piece[9] = 9;
  CHECK(map(kMiB, PROT_NONE, kAnonymous | MAP_FIXED | MAP_NORESERVE, piece) == piece &&
        faults(read_byte, piece));
  CHECK(mprotect(piece, kMiB, kOpen) == 0 && piece[9] == 0);
  CHECK(mprotect(data, kMiB, PROT_READ) == 0 && data[5] == 1 && faults(write_byte, data));
  CHECK(munmap(data, bytes) == 0 && faults(read_byte, data));
}

CASE(remap_moves_grows_and_shrinks) {
  std::size_t bytes = 3 * kPage;
  char* data = map(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::size_t next = kPage * (1 + random() % (round % 8 == 0 ? 2000 : 30));
    char* wall = map(kPage);  // in the way, often
    auto* to = static_cast<char*>(mremap(data, bytes, next, MREMAP_MAYMOVE));
    CHECK(to != MAP_FAILED);
    for (std::size_t i = 0; i < std::min(bytes, next); ++i) CHECK(to[i] == static_cast<char>(i));
    for (std::size_t i = bytes; i < next; ++i) CHECK(to[i] == 0);
    for (std::size_t i = bytes; i < next; ++i) to[i] = static_cast<char>(i);
    if (to != data) CHECK(faults(read_byte, data));
    data = to;
    bytes = next;
    if (random() % 2 == 0) munmap(wall, kPage);
  }
  char* target = map(bytes);
  std::memset(target, 9, bytes);
  CHECK(mremap(data, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  CHECK(target[77] == 77 && faults(read_byte, data));
  errno = 0;
  CHECK(mremap(target, bytes, bytes, MREMAP_FIXED, data) == MAP_FAILED && errno == EINVAL);
  auto* other = static_cast<char*>(mremap(target, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr));
  CHECK(other != MAP_FAILED && other != target && other[77] == 77 && target[77] == 0);
  char* guarded = map(2 * kPage, PROT_READ);
  auto* moved = static_cast<char*>(mremap(guarded, 2 * kPage, 4000 * kPage, MREMAP_MAYMOVE));
  CHECK(moved != MAP_FAILED && moved[3999 * kPage] == 0 && faults(write_byte, moved));
}

CASE(files_and_special_mappings_are_the_kernels) {
  char name[] = "/tmp/nigh-space-XXXXXX";
  int fd = mkstemp(name);
  CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 8 * kPage) == 0 && pwrite(fd, "words", 5, 0) == 5);
  char* data = map(8 * kPage);
  std::memset(data, 3, 8 * kPage);
  char* over = static_cast<char*>(mmap(data + 2 * kPage, 2 * kPage, kOpen, MAP_SHARED | MAP_FIXED, fd, 0));
  CHECK(over == data + 2 * kPage && std::memcmp(over, "words", 5) == 0 && data[2 * kPage - 1] == 3 &&
        data[4 * kPage] == 3);
  over[0] = 'W';
  char first = 0;
  CHECK(pread(fd, &first, 1, 0) == 1 && first == 'W');
  CHECK(map(kPage, kOpen, kAnonymous | MAP_FIXED, over) == over && zero(over, kPage) && over[kPage] == 0);
  CHECK(munmap(data, 8 * kPage) == 0 && faults(read_byte, over));
  for (int i = 0; i < 100; ++i) {  // the place can be used as before
    char* again = map(8 * kPage);
    CHECK(zero(again, 8 * kPage));
    std::memset(again, 4, 8 * kPage);
    munmap(again, 8 * kPage);
  }
  char* low = map(kPage, kOpen, kAnonymous | MAP_32BIT);
  CHECK(low != MAP_FAILED && reinterpret_cast<std::uintptr_t>(low) < std::uintptr_t{1} << 32 &&
        !in_slot(low));
  char* shared = map(kPage, kOpen, MAP_SHARED | MAP_ANONYMOUS);
  CHECK(shared != MAP_FAILED && !in_slot(shared));
  char* populated = map(64 * kPage, kOpen, kAnonymous | MAP_POPULATE);
  unsigned char resident[64];
  CHECK(mincore(populated, 64 * kPage, resident) == 0);
  for (unsigned char page : resident) CHECK((page & 1) != 0);
  unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  char* program = map(kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
  std::memcpy(program, code, sizeof code);
#if defined(__x86_64__)
  CHECK(reinterpret_cast<int (*)()>(program)() == 42);
  CHECK(!in_slot(program));
#endif
  CHECK(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
  close(fd);
}

CASE(hints_are_honoured_when_they_can) {
  void* hint = reinterpret_cast<void*>(std::uintptr_t{0xc000000000});
  CHECK(map(kMiB, kOpen, kAnonymous, hint) == hint);
  CHECK(map(kMiB, kOpen, kAnonymous, hint) != hint);
  char* data = map(2 * kMiB);
  munmap(data + kMiB, kMiB);
  CHECK(map(kMiB, kOpen, kAnonymous, data + kMiB) == data + kMiB);
}

CASE(mlockall_does_not_fill_the_machine) {
  char* data = map(4 * kMiB);
  data[0] = 1;
  int rc = mlockall(MCL_CURRENT | MCL_FUTURE);
  std::printf("%d\n", rc);
  char* later = map(kMiB);
  CHECK(later != MAP_FAILED && later[100] == 0);
  void* heap = std::malloc(8 << 20);
  CHECK(heap != nullptr);
  munlockall();
}

// Random calls on a region, its pages and contents mirrored in an array.
CASE(random_calls_against_a_model) {
  constexpr std::size_t pages = 512;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    char* base = map(pages * kPage, PROT_NONE);
    std::vector<int> model(pages, -2);  // -2: no access, -1: unmapped, else the byte
    std::mt19937 random(seed);
    for (int step = 0; step < 3000; ++step) {
      std::size_t first = random() % pages, count = 1 + random() % std::min<std::size_t>(40, pages - first);
      char* at = base + first * kPage;
      bool open = true;
      for (std::size_t i = first; i < first + count; ++i) open = open && model[i] >= 0;
      int next = static_cast<int>(random() % 100);
      switch (random() % 6) {
        case 0:
          CHECK(map(count * kPage, kOpen, kAnonymous | MAP_FIXED, at) == at);
          next = 0;
          break;
        case 1:
          CHECK(munmap(at, count * kPage) == 0);
          next = -1;
          break;
        case 2:
          if (!open) continue;
          CHECK(madvise(at, count * kPage, MADV_DONTNEED) == 0);
          next = 0;
          break;
        case 3:
          CHECK(map(count * kPage, PROT_NONE, kAnonymous | MAP_FIXED, at) == at);
          next = -2;
          break;
        default:
          if (!open) continue;
          std::memset(at, next, count * kPage);
      }
      for (std::size_t i = first; i < first + count; ++i) model[i] = next;
      std::size_t probe = random() % pages;
      char* there = base + probe * kPage + random() % kPage;
      if (model[probe] >= 0)
        CHECK(*there == model[probe]);
      else if (step % 10 == 0)
        CHECK(faults(read_byte, there));
    }
    munmap(base, pages * kPage);
  }
}
