// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/preload_bar.hpp"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

#include "sys/raw.h"
#include "sys/raw_text.hpp"

namespace nigh::sys {

namespace {

constexpr int most_scripts = 4;  // interpreters of interpreters, as many as the kernel follows
constexpr int most_programs = 64, most_libraries = 128;
#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#else
constexpr unsigned own_machine = EM_AARCH64;
#endif

class File {
 public:
  File(int folder, const char* path)
      : fd_(static_cast<int>(nigh_raw_syscall6(SYS_openat, folder, reinterpret_cast<long>(path),
                                               O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0))) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) nigh_raw_syscall3(SYS_close, fd_, 0, 0);
  }
  // The number of bytes read, 0 on errors.
  std::size_t read(std::uint64_t offset, void* data, std::size_t bytes) const {
    const long n = nigh_raw_syscall6(SYS_pread64, fd_, reinterpret_cast<long>(data), static_cast<long>(bytes),
                                     static_cast<long>(offset), 0, 0);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  template <class T>
  bool read_as(std::uint64_t offset, T& value) const {
    return read(offset, &value, sizeof value) == sizeof value;
  }

 private:
  int fd_;
};

struct Programs {
  Elf64_Phdr entry[most_programs];
  int count = 0;

  // The offset in the file of an address of the loaded program.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const {
    for (int i = 0; i < count; ++i)
      if (const Elf64_Phdr& p = entry[i];
          p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
        return p.p_offset + (address - p.p_vaddr);
    return 0;
  }
};

bool is_sanitizer(const char* library) {
  const char* name = raw_base_name(library);
  for (const char* one : {"libasan.so", "libtsan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan",
                          "libclang_rt.hwasan"})
    if (raw_begins(name, one)) return true;
  return false;
}

bool needs_sanitizer(const File& file, const Programs& programs, const Elf64_Phdr& dynamic) {
  const auto entries = static_cast<int>(dynamic.p_filesz / sizeof(Elf64_Dyn));
  std::uint64_t needed[most_libraries], names = 0;
  int count = 0;
  Elf64_Dyn entry;
  for (int i = 0; i < entries && i < 512; ++i) {
    if (!file.read_as(dynamic.p_offset + static_cast<std::uint64_t>(i) * sizeof entry, entry) ||
        entry.d_tag == DT_NULL)
      break;
    if (entry.d_tag == DT_STRTAB) names = programs.offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_NEEDED && count < most_libraries) needed[count++] = entry.d_un.d_val;
  }
  for (int i = 0; i < count && names != 0; ++i) {
    char name[64];
    const std::size_t bytes = file.read(names + needed[i], name, sizeof name - 1);
    name[bytes] = '\0';
    if (is_sanitizer(name)) return true;
  }
  return false;
}

PreloadBar bar_of_elf(const File& file) {
  Elf64_Ehdr header;
  if (!file.read_as(0, header)) return PreloadBar::none;
  if (header.e_ident[EI_CLASS] == ELFCLASS32) return PreloadBar::bits32;
  if (header.e_machine != own_machine) return PreloadBar::machine;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return PreloadBar::none;
  Programs programs;
  const std::size_t wanted = header.e_phnum < most_programs ? header.e_phnum : most_programs;
  programs.count = static_cast<int>(file.read(header.e_phoff, programs.entry, wanted * sizeof(Elf64_Phdr)) /
                                    sizeof(Elf64_Phdr));
  for (int i = 0; i < programs.count; ++i) {
    const Elf64_Phdr& p = programs.entry[i];
    if (p.p_type == PT_INTERP) {
      char loader[PATH_MAX];
      const std::size_t bytes = file.read(p.p_offset, loader, sizeof loader - 1);
      loader[bytes] = '\0';
      if (is_foreign_loader(loader)) return PreloadBar::foreign_loader;
    }
    if (p.p_type == PT_DYNAMIC && needs_sanitizer(file, programs, p)) return PreloadBar::sanitizer;
  }
  return PreloadBar::none;
}

bool is_valgrind(const char* path) {
  const char* name = raw_base_name(path);
  return raw_equal(name, "valgrind") || raw_equal(name, "valgrind.bin");
}

// The interpreter of "#! /bin/sh -e", in place; null: there is none.
const char* interpreter_of(char* line) {
  char* begin = line + 2;
  while (*begin == ' ' || *begin == '\t') ++begin;
  char* end = begin;
  while (*end != '\0' && *end != ' ' && *end != '\t' && *end != '\n') ++end;
  *end = '\0';
  return end > begin ? begin : nullptr;
}

}  // namespace

bool is_foreign_loader(const char* path) {
  const char* name = raw_base_name(path);
  for (const char* one : {"ld-musl", "ld-uClibc", "ld64-uClibc", "linker"})
    if (raw_begins(name, one)) return true;
  return false;
}

PreloadBar preload_bar(int folder, const char* path) {
  char text[PATH_MAX], line[256];
  if (*path == '\0') {  // by /proc, since a file that is open for its path alone can't be read
    char* at = text;
    for (const char* from = "/proc/self/fd/"; *from != '\0'; ++from) *at++ = *from;
    int digits = 1;
    for (int rest = folder; rest > 9; rest /= 10) ++digits;
    at[digits] = '\0';
    for (int rest = folder; digits-- > 0; rest /= 10) at[digits] = static_cast<char>('0' + rest % 10);
    path = text;
  }
  for (int depth = 0; depth <= most_scripts; ++depth) {
    if (is_valgrind(path)) return PreloadBar::valgrind;
    const File file(folder, path);
    const std::size_t bytes = file.read(0, line, sizeof line - 1);
    line[bytes] = '\0';
    if (bytes > EI_NIDENT && raw_begins(line, ELFMAG)) return bar_of_elf(file);
    const char* next = raw_begins(line, "#!") ? interpreter_of(line) : nullptr;
    if (!next || !raw_copy(text, sizeof text, next, raw_length(next))) break;
    folder = AT_FDCWD;
    path = text;
  }
  return PreloadBar::none;
}

PreloadBar preload_bar_of_command(const char* name) {
  if (raw_length_to(name, '/') < raw_length(name)) return preload_bar(AT_FDCWD, name);
  const char* path = environ ? raw_variable(environ, "PATH") : nullptr;
  if (!path) path = "/bin:/usr/bin";
  for (bool more = true; more;) {
    char file[PATH_MAX];
    const std::size_t length = raw_length_to(path, ':');
    const std::size_t folder = length == 0 ? 1 : length;
    const bool fits = raw_copy(file, sizeof file - 1, length == 0 ? "." : path, folder);
    more = path[length] != '\0';
    path += length + 1;
    if (!fits) continue;
    file[folder] = '/';
    if (raw_copy(file + folder + 1, sizeof file - folder - 1, name, raw_length(name)) &&
        nigh_raw_syscall3(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(file), X_OK) == 0)
      return preload_bar(AT_FDCWD, file);
  }
  return PreloadBar::none;
}

bool names_sanitizer(const char* preload) {
  while (*preload != '\0') {
    std::size_t length = 0;
    while (preload[length] != '\0' && preload[length] != ':' && preload[length] != ' ') ++length;
    char one[PATH_MAX];
    if (raw_copy(one, sizeof one, preload, length) && is_sanitizer(one)) return true;
    preload += length;
    if (*preload != '\0') ++preload;
  }
  return false;
}

const char* reason_of(PreloadBar bar) {
  switch (bar) {
    case PreloadBar::none: return "";
    case PreloadBar::foreign_loader: return "it runs on another C library than glibc";
    case PreloadBar::bits32: return "it is a 32-bit program, which loads no 64-bit library";
    case PreloadBar::machine: return "it is made for another kind of processor";
    case PreloadBar::sanitizer: return "a sanitizer's library has to be the first one";
    case PreloadBar::valgrind: return "valgrind does not know the system calls that nigh needs";
  }
  return "";
}

}  // namespace nigh::sys
