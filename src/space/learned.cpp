// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "space/learned.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "space/memory.hpp"
#include "space/slot.hpp"
#include "sys/launchers.hpp"
#include "sys/raw.h"
#include "sys/variables.hpp"

namespace nigh::space {

constexpr std::size_t kWords = 8192;                        // of the table, of which half may be in use
constexpr std::size_t kMostBytes = std::size_t{256} << 10;  // of a file; a longer one is begun anew
constexpr int kMostKeepers = 64;                            // ranks of a job that write
constexpr std::uintptr_t kCodePage = 4096;

static constinit std::uint64_t g_table[kWords] = {};  // 0: free; else a place, with its lowest bit
static constinit std::size_t g_known = 0;
static constinit bool g_on = false;
static constinit char g_file[4096] = {};

constexpr std::uint64_t kBasis = 0xcbf29ce484222325U, kPrime = 0x100000001b3U;  // FNV-1a
static std::uint64_t hashed(const unsigned char* data, std::size_t bytes, std::uint64_t hash = kBasis) {
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * kPrime;
  return hash;
}

// Code may be executable and not readable; the kernel looks first, and says so.
static bool read_code(std::uintptr_t lo, unsigned char* to, std::size_t bytes) {
  const iovec local = {to, bytes}, remote = {reinterpret_cast<void*>(lo), bytes};
  const long pid = nigh_raw_syscall3(SYS_getpid, 0, 0, 0);
  return nigh_raw_syscall6(SYS_process_vm_readv, pid, reinterpret_cast<long>(&local), 1,
                           reinterpret_cast<long>(&remote), 1, 0) == static_cast<long>(bytes);
}

std::uint64_t place_of(std::uintptr_t caller, std::uint64_t size_class) {
  constexpr std::uintptr_t before = 24, after = 8;
  const std::uintptr_t page = caller & ~(kCodePage - 1);
  const std::uintptr_t lo = caller - page < before ? page : caller - before;
  const std::uintptr_t hi = caller + after < page + kCodePage ? caller + after : page + kCodePage;
  unsigned char code[before + after] = {};
  if (!read_code(lo, code, hi - lo)) return 0;
  std::uint64_t hash = hashed(code, hi - lo);
  const std::uint64_t more[] = {caller - page, size_class};
  hash = hashed(reinterpret_cast<const unsigned char*>(more), sizeof more, hash);
  return (hash | 2) & ~std::uint64_t{1};
}

static std::uint64_t& word_for(std::uint64_t place) {
  std::size_t at = place * 0x9e3779b97f4a7c15U >> 51;
  while (g_table[at] != 0 && (g_table[at] & ~std::uint64_t{1}) != place) at = (at + 1) % kWords;
  return g_table[at];
}

static void note(std::uint64_t record) {
  const std::uint64_t place = record & ~std::uint64_t{1};
  if (place == 0) return;
  std::uint64_t& word = word_for(place);
  if (word == 0 && ++g_known > kWords / 2) return;
  word = record;
}

// The executable's path names the file.
static bool name_file(const char* folder) {
  char path[4096] = {};
  const long length = nigh_raw_syscall6(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                                        reinterpret_cast<long>(path), static_cast<long>(sizeof path), 0, 0);
  const std::size_t bytes = strlen(folder);
  if (length <= 0 || bytes + 18 > sizeof g_file) return false;
  memcpy(g_file, folder, bytes + 1);
  g_file[bytes] = '/';
  std::uint64_t hash = hashed(reinterpret_cast<const unsigned char*>(path), static_cast<std::size_t>(length));
  for (int i = 0; i < 16; ++i, hash >>= 4) g_file[bytes + 1 + i] = "0123456789abcdef"[hash & 15];
  return true;
}

// The user's own file, whole records of it; -1: there is none that is to be used.
static int open_file(int flags, std::size_t& bytes) {
  const long fd = nigh_raw_syscall6(SYS_openat, AT_FDCWD, reinterpret_cast<long>(g_file),
                                    flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600, 0, 0);
  if (fd < 0) return -1;
  struct stat is = {};
  const long uid = nigh_raw_syscall3(SYS_geteuid, 0, 0, 0);
  if (nigh_raw_syscall3(SYS_fstat, fd, reinterpret_cast<long>(&is), 0) != 0 || !S_ISREG(is.st_mode) ||
      static_cast<long>(is.st_uid) != uid || is.st_size < 0) {
    nigh_raw_syscall3(SYS_close, fd, 0, 0);
    return -1;
  }
  bytes = static_cast<std::size_t>(is.st_size);
  return static_cast<int>(fd);
}

void learned_start() {
  const char* folder = start_environment("NIGH_SPACE_LEARNED");
  if (folder == nullptr || *folder == '\0' || strcmp(folder, "off") == 0) return;
  if (folder[0] != '/')
    return sys::tell_variable("NIGH_SPACE_LEARNED", folder, "off or a folder, with its whole path",
                              "it counts as not set", look_up_at_start);
  if (!name_file(folder)) return;
  g_on = true;
  std::size_t bytes = 0;
  const int fd = open_file(O_RDONLY, bytes);
  if (fd < 0) return;
  std::uint64_t records[256];
  while (bytes <= kMostBytes) {
    const long got =
        nigh_raw_syscall3(SYS_read, fd, reinterpret_cast<long>(records), static_cast<long>(sizeof records));
    for (long i = 0; i < got / 8; ++i) note(records[i]);
    if (got != static_cast<long>(sizeof records)) break;
  }
  nigh_raw_syscall3(SYS_close, fd, 0, 0);
}

bool learned_is_on() { return g_on; }
bool learned_anything() { return g_on && g_known > 0; }

bool learned_to_send(std::uint64_t place) { return g_on && (word_for(place) & 1) != 0; }

// Ranks of a job do alike: the first ones are enough.
static bool is_keeper() {
  for (const sys::LauncherVariables& one : sys::launcher_variables) {
    const int rank = one.rank != nullptr ? sys::launcher_number(look_up_at_start, nullptr, one.rank) : -1;
    if (rank >= 0) return rank < kMostKeepers;
  }
  return true;
}

void learned_append(const std::uint64_t* places, std::size_t count) {
  if (!g_on || count == 0 || !is_keeper()) return;
  std::size_t bytes = 0;
  const int fd = open_file(O_WRONLY | O_CREAT | O_APPEND, bytes);
  if (fd < 0) return;
  if (bytes > kMostBytes || bytes % 8 != 0) nigh_raw_syscall3(SYS_ftruncate, fd, 0, 0);
  // One call: those of other ranks come before it or after it. What is not written is learned again.
  nigh_raw_say(fd, places, count * sizeof *places);
  nigh_raw_syscall3(SYS_close, fd, 0, 0);
}

}  // namespace nigh::space
