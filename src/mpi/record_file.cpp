// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/record_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "sys/memory_rollup.hpp"
#include "sys/program_name.hpp"
#include "sys/raw.h"
#include "sys/seat.hpp"

namespace nigh::mpi::record {
namespace {

char g_path[4096] = {};  // or of what can't be made
int g_rank = 0, g_ranks = 0;
int g_package = -1;  // that the rank is bound to; -1: it may run on several

void write_quoted(std::FILE* file, const char* text) {
  std::fputc('"', file);
  for (; *text; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\')
      std::fprintf(file, "\\%c", c);
    else if (c < ' ')
      std::fprintf(file, "\\u%04x", c);
    else
      std::fputc(c < 128 ? c : '?', file);  // names are any bytes, JSON is UTF-8
  }
  std::fputc('"', file);
}

void write_cells(std::FILE* file, const Group& group, const Cell* cells) {
  const char* comma = "";
  for (int peer = 0; peer < group.peers; ++peer) {
    const Cell& cell = cells[peer];
    if (cell.messages == 0 || group.world[peer] < 0) continue;
    std::fprintf(file, "%s[%d", comma, group.world[peer]);
    for (const std::uint64_t one : {cell.bytes, cell.messages, cell.carried_bytes, cell.carried_messages})
      std::fprintf(file, ", %llu", static_cast<unsigned long long>(one));
    std::fputc(']', file);
    comma = ", ";
  }
}

void write_group(std::FILE* file, const Group& group) {
  std::fputs("{\"name\": ", file);
  write_quoted(file, group.name);
  std::fprintf(file, ", \"size\": %d", group.peers);
  for (int i = 0; i < ways; ++i) {
    const char* comma = "";
    for (int function = 0; function < function_count; ++function) {
      const Cell* const cells = group.cells[i][function];
      if (!cells) continue;
      if (!*comma) std::fprintf(file, ", \"%s\": {", way_names[i]);
      std::fprintf(file, "%s\"%s\": [", comma, function_names[function]);
      write_cells(file, group, cells);
      std::fputc(']', file);
      comma = ", ";
    }
    if (*comma) std::fputc('}', file);
  }
  std::fputc('}', file);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The whole process is meant, from its start on.
void write_usage(std::FILE* file) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  std::fprintf(file,
               ", \"user_seconds\": %.6f, \"system_seconds\": %.6f, \"minor_faults\": %ld, "
               "\"major_faults\": %ld, \"peak_mib\": %.1f",
               seconds_of(usage.ru_utime), seconds_of(usage.ru_stime), usage.ru_minflt, usage.ru_majflt,
               static_cast<double>(usage.ru_maxrss) / 1024);
}

// The memory of the process at its end; nothing where the kernel does not say it.
void write_memory(std::FILE* file) {
  const sys::MemoryRollup memory = sys::own_memory_rollup();
  if (memory.resident_mib > 0)
    std::fprintf(file, ", \"resident_mib\": %.1f, \"huge_mib\": %.1f", memory.resident_mib, memory.huge_mib);
}

// Until the last interval that is not empty, in microseconds.
void write_intervals(std::FILE* file, const std::uint64_t* ns) {
  int count = intervals;
  while (count > 0 && ns[count - 1] == 0) --count;
  for (int i = 0; i < count; ++i)
    std::fprintf(file, "%s%llu", i == 0 ? "" : ",", static_cast<unsigned long long>((ns[i] + 500) / 1000));
}

void write_times(std::FILE* file, const Times& times) {
  std::fprintf(file,
               ", \"started\": %.6f, \"seconds\": %.6f, \"interval_seconds\": %.6f, \"cpu_microseconds\": [",
               times.started, static_cast<double>(times.seconds_ns) / 1e9,
               static_cast<double>(times.interval_ns) / 1e9);
  write_intervals(file, times.cpu);
  std::fputs("], \"functions\": {", file);
  const char* comma = "";
  for (int i = 0; i < function_count; ++i) {
    const FunctionTime& one = times.functions[i];
    if (one.calls == 0) continue;
    std::fprintf(file, "%s\n  \"%s\": {\"calls\": %llu, \"seconds\": %.9f, \"longest_seconds\": %.9f, ",
                 comma, function_names[i], static_cast<unsigned long long>(one.calls),
                 static_cast<double>(one.total) / 1e9, static_cast<double>(one.longest) / 1e9);
    std::fputs("\"microseconds\": [", file);
    if (one.by_interval) write_intervals(file, one.by_interval);
    std::fputs("]}", file);
    comma = ",";
  }
  std::fputs("}", file);
}

void write_rank(std::FILE* file, const Group* groups, const Times& times, bool complete) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  std::fprintf(
      file,
      "{\"format\": \"nigh-rank\", \"version\": 2, \"rank\": %d, \"ranks\": %d, \"complete\": %s, \"host\": ",
      g_rank, g_ranks, complete ? "true" : "false");
  write_quoted(file, host);
  if (g_package >= 0) std::fprintf(file, ", \"package\": %d", g_package);
  std::fputs(", \"program\": ", file);
  write_quoted(file, sys::own_program_name().c_str());
  write_usage(file);
  write_memory(file);
  write_times(file, times);
  std::fputs(", \"communicators\": [", file);
  const char* comma = "";
  for (const Group* group = groups; group; group = group->next) {
    std::fprintf(file, "%s\n  ", comma);
    write_group(file, *group);
    comma = ",";
  }
  std::fputs("\n]}\n", file);
}

int own_package() {
  std::uint64_t cpus[128] = {};
  nigh_raw_getaffinity(0, reinterpret_cast<unsigned long*>(cpus), sizeof cpus);
  return sys::seat_of(cpus, std::size(cpus)).socket;
}

}  // namespace

bool create_file(const char* folder, int rank, int ranks) {
  g_rank = rank;
  g_ranks = ranks;
  g_package = own_package();
  std::snprintf(g_path, sizeof g_path, "%s", folder);
  if (::mkdir(folder, 0777) != 0 && errno != EEXIST) return false;
  for (int job = 1; job < 100'000; ++job) {
    const int length = std::snprintf(g_path, sizeof g_path, "%s/%d-ranks-%d", folder, g_ranks, job);
    if (length < 0 || static_cast<std::size_t>(length) + 32 > sizeof g_path)
      return errno = ENAMETOOLONG, false;
    if (::mkdir(g_path, 0777) != 0 && errno != EEXIST) return false;
    std::snprintf(g_path + length, sizeof g_path - static_cast<std::size_t>(length), "/rank-%d.json", g_rank);
    const int fd = ::open(g_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) return ::close(fd), true;
    if (errno != EEXIST) return false;
  }
  return errno = EEXIST, false;
}

bool write_file(const Group* groups, const Times& times, bool complete) {
  const int fd = ::open(g_path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  std::FILE* const file = fd >= 0 ? ::fdopen(fd, "w") : nullptr;
  if (!file) return false;
  write_rank(file, groups, times, complete);
  const bool written = std::ferror(file) == 0;
  return std::fclose(file) == 0 && written;
}

const char* why_unwritten() {
  static char why[sizeof g_path + 256];
  std::snprintf(why, sizeof why, "what this rank sends can't be recorded: %s: %s", g_path,
                std::strerror(errno));
  return why;
}

}  // namespace nigh::mpi::record
