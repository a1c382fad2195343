// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See raw_file.hpp.
#include "sys/raw_file.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <cerrno>
#include <initializer_list>

#include "sys/raw.h"

namespace nigh::sys {

static long open_to_read(const char* path) {
  return nigh_raw_syscall6(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static long read_some(int fd, char* text, std::size_t bytes) {
  long got = 0;
  do got = nigh_raw_syscall3(SYS_read, fd, reinterpret_cast<long>(text), static_cast<long>(bytes));
  while (got == -EINTR);
  return got;
}

long raw_read_file(const char* path, char* text, std::size_t bytes) {
  text[0] = '\0';
  const long fd = open_to_read(path);
  if (fd < 0) return fd;
  std::size_t length = 0;
  long got = 1;
  while (length < bytes - 1 && got > 0) {
    got = read_some(static_cast<int>(fd), text + length, bytes - 1 - length);
    if (got > 0) length += static_cast<std::size_t>(got);
  }
  text[length] = '\0';
  nigh_raw_syscall3(SYS_close, fd, 0, 0);
  return got < 0 && length == 0 ? got : static_cast<long>(length);
}

RawLines::RawLines(const char* path) : fd_(static_cast<int>(open_to_read(path))) { buffer_[0] = '\0'; }
RawLines::~RawLines() {
  if (fd_ >= 0) nigh_raw_syscall3(SYS_close, fd_, 0, 0);
}

const char* RawLines::next() {
  if (fd_ < 0) return nullptr;
  for (;;) {
    auto* newline = static_cast<char*>(memchr(buffer_ + begin_, '\n', end_ - begin_));
    const bool full = begin_ == 0 && end_ == kBytes;
    if (newline != nullptr || (begin_ < end_ && (ended_ || full))) {
      char* line = buffer_ + begin_;
      char* stop = newline != nullptr ? newline : buffer_ + end_;
      begin_ = static_cast<std::size_t>(stop - buffer_) + (newline != nullptr ? 1 : 0);
      *stop = '\0';
      return line;
    }
    if (ended_) return nullptr;
    memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const long got = read_some(fd_, buffer_ + end_, kBytes - end_);
    if (got <= 0) ended_ = true;
    if (got > 0) end_ += static_cast<std::size_t>(got);
  }
}

static bool digits(const char*& at, unsigned base, std::uint64_t& out) {
  out = 0;
  const char* first = at;
  for (;; ++at) {
    unsigned digit = 99;
    if (*at >= '0' && *at <= '9') digit = static_cast<unsigned>(*at - '0');
    if (*at >= 'a' && *at <= 'f') digit = static_cast<unsigned>(*at - 'a') + 10;
    if (digit >= base) break;
    out = out * base + digit;
  }
  return at != first;
}

static bool skip(const char*& at, char c) {
  if (*at != c) return false;
  ++at;
  return true;
}

bool parse_mapping(const char* line, RawMapping& out) {
  std::uint64_t lo = 0, hi = 0, major = 0, minor = 0;
  const char* at = line;
  if (!digits(at, 16, lo) || !skip(at, '-') || !digits(at, 16, hi) || !skip(at, ' ')) return false;
  if (strnlen(at, 5) < 5) return false;
  out.prot =
      (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
  out.shared = at[3] == 's';
  at += 4;
  if (!skip(at, ' ') || !digits(at, 16, out.offset) || !skip(at, ' ')) return false;
  if (!digits(at, 16, major) || !skip(at, ':') || !digits(at, 16, minor) || !skip(at, ' ')) return false;
  if (!digits(at, 10, out.inode)) return false;
  out.lo = lo;
  out.hi = hi;
  out.major = static_cast<unsigned>(major);
  out.minor = static_cast<unsigned>(minor);
  return true;
}

std::uint64_t number_after(const char* text, const char* key) {
  const std::size_t length = strlen(key);
  for (const char* line = text; line != nullptr && *line != '\0'; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, key, length) != 0) continue;
    const char* at = line + length;
    at += strspn(at, " \t");
    std::uint64_t value = 0;
    digits(at, 10, value);
    return value;
  }
  return 0;
}

constexpr std::size_t kPath = 512;

static bool join_path(char (&out)[kPath], const char* a, const char* b, const char* c) {
  const std::size_t la = strlen(a), lb = strlen(b), lc = strlen(c);
  if (la + lb + lc + 1 > kPath) return false;
  memcpy(out, a, la);
  memcpy(out + la, b, lb);
  memcpy(out + la + lb, c, lc + 1);
  return true;
}

static std::uint64_t number_in(const char* mount, const char* path, const char* file, std::uint64_t other) {
  char name[kPath], text[64];
  if (!join_path(name, mount, path, file) || raw_read_file(name, text, sizeof text) <= 0) return other;
  const char* at = text;
  std::uint64_t value = 0;
  return digits(at, 10, value) ? value : other;  // "max": no limit
}

// The memory that one cgroup leaves; page cache that nobody uses can be dropped at once.
static std::uint64_t room_of(const char* mount, const char* path, bool v2) {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  const std::uint64_t limit = number_in(mount, path, v2 ? "/memory.max" : "/memory.limit_in_bytes", none);
  if (limit >= none / 2) return none;  // v1 writes "no limit" as a number near 2^63
  const std::uint64_t used = number_in(mount, path, v2 ? "/memory.current" : "/memory.usage_in_bytes", 0);
  char name[kPath], text[4096];
  std::uint64_t cache = 0;
  if (join_path(name, mount, path, "/memory.stat") && raw_read_file(name, text, sizeof text) > 0)
    cache = number_after(text, v2 ? "inactive_file " : "total_inactive_file ");
  return limit + cache > used ? limit + cache - used : 0;
}

static std::uint64_t room_along(const char* mount, char* path, bool v2) {
  std::uint64_t room = ~std::uint64_t{0};
  for (;;) {
    const std::uint64_t here = room_of(mount, path, v2);
    if (here < room) room = here;
    char* slash = strrchr(path, '/');
    if (slash == nullptr) return room;
    *slash = '\0';
  }
}

static std::uint64_t cgroup_room() {
  std::uint64_t room = ~std::uint64_t{0};
  RawLines lines("/proc/self/cgroup");
  while (const char* line = lines.next()) {
    const char* first = strchr(line, ':');
    const char* second = first != nullptr ? strchr(first + 1, ':') : nullptr;
    if (second == nullptr || strlen(second + 1) >= kPath) continue;
    const char* group = strcmp(second + 1, "/") == 0 ? "" : second + 1;
    const bool v2 = second == first + 1;
    const char* memory = strstr(first, "memory");
    if (!v2 && (memory == nullptr || memory > second)) continue;
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"}) {
      if (v2 != (mount[14] == '\0')) continue;
      char path[kPath];
      memcpy(path, group, strlen(group) + 1);
      const std::uint64_t here = room_along(mount, path, v2);
      if (here < room) room = here;
    }
  }
  return room;
}

std::uint64_t raw_headroom() {
  char text[2048];
  raw_read_file("/proc/meminfo", text, sizeof text);
  const std::uint64_t machine = number_after(text, "MemAvailable:") << 10;
  const std::uint64_t group = cgroup_room();
  return group < machine ? group : machine;
}

std::uint64_t raw_total_memory() {
  char text[2048];
  raw_read_file("/proc/meminfo", text, sizeof text);
  return (number_after(text, "MemTotal:") + number_after(text, "SwapTotal:")) << 10;
}

// The count of numbers in "0-3,8".
static int numbers_in_list(const char* at) {
  int numbers = 0;
  for (std::uint64_t first = 0, last = 0; digits(at, 10, first); skip(at, ',')) {
    last = first;
    if (skip(at, '-')) digits(at, 10, last);
    numbers += static_cast<int>(last - first + 1);
  }
  return numbers;
}

int raw_memory_nodes() {
  static const char key[] = "Mems_allowed_list:";
  RawLines lines("/proc/self/status");
  int nodes = 0;
  while (const char* line = lines.next()) {
    if (strncmp(line, key, sizeof key - 1) != 0) continue;
    const char* at = line + sizeof key - 1;
    nodes += numbers_in_list(at + strspn(at, " \t"));
  }
  return nodes > 0 ? nodes : 1;
}

int raw_overcommit() {
  char text[16];
  return raw_read_file("/proc/sys/vm/overcommit_memory", text, sizeof text) > 0 && text[0] >= '0'
             ? text[0] - '0'
             : 0;
}

int raw_cpus_online() {
  char text[1024];
  if (raw_read_file("/sys/devices/system/cpu/online", text, sizeof text) <= 0) return 1;
  const int cpus = numbers_in_list(text);
  return cpus > 0 ? cpus : 1;
}

void raw_huge_setting(const char* name, char* word, std::size_t bytes) {
  constexpr char folder[] = "/sys/kernel/mm/transparent_hugepage/";
  char text[128], path[128];
  word[0] = '\0';
  memcpy(path, folder, sizeof folder - 1);
  memcpy(path + sizeof folder - 1, name, strlen(name) + 1);
  if (raw_read_file(path, text, sizeof text) <= 0) return;
  const char* open = strchr(text, '[');
  const char* close = open != nullptr ? strchr(open, ']') : nullptr;
  if (close == nullptr || static_cast<std::size_t>(close - open) > bytes) return;
  memcpy(word, open + 1, static_cast<std::size_t>(close - open - 1));
  word[close - open - 1] = '\0';
}

bool raw_free_pages_leave() {
  constexpr char folder[] = "/sys/bus/virtio/drivers/virtio_balloon";
  constexpr int devices = 64, reporting = 5;  // VIRTIO_BALLOON_F_REPORTING
  char text[128];
  if (raw_read_file(folder, text, sizeof text) == -ENOENT) return false;
  for (int device = 0; device < devices; ++device) {
    char path[sizeof folder + sizeof "/virtio00/features"];
    char* at = stpcpy(stpcpy(path, folder), "/virtio");
    if (device >= 10) *at++ = static_cast<char>('0' + device / 10);
    *at++ = static_cast<char>('0' + device % 10);
    stpcpy(at, "/features");
    if (raw_read_file(path, text, sizeof text) > reporting) return text[reporting] == '1';
  }
  return false;
}

int raw_thread_count() {
  char text[4096];
  raw_read_file("/proc/self/status", text, sizeof text);
  return static_cast<int>(number_after(text, "Threads:"));
}

}  // namespace nigh::sys
