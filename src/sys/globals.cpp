// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/globals.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

namespace nigh::sys {

namespace {

constexpr std::uintptr_t most_looked_at = 1 << 20;

struct Range {
  std::uintptr_t begin = 0, end = 0;
};
struct Found {
  std::uintptr_t base = 0;
  std::vector<Range> ranges;
};

// The first that is told of is the program. What is written while it is loaded only is not among it.
int note_program(dl_phdr_info* info, std::size_t, void* context) {
  auto& found = *static_cast<Found*>(context);
  found.base = info->dlpi_addr;
  Range relro;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
      relro = {info->dlpi_phdr[i].p_vaddr, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    Range range{part.p_vaddr, part.p_vaddr + part.p_memsz};
    if (relro.begin <= range.begin && relro.end > range.begin) range.begin = std::min(relro.end, range.end);
    range.end = std::min(range.end, range.begin + most_looked_at);
    found.ranges.push_back(range);
  }
  return 1;
}

bool is_the_programs(std::string_view name) {
  if (name.empty() || name.find('@') != std::string_view::npos) return false;  // of a library, copied
  for (const std::string_view others :
       {"_ZGV", "_ZSt", "_ZNSt", "_ZZNSt", "_ZN4nigh5chare4core", "_ZZN4nigh5chare"})
    if (name.starts_with(others)) return false;
  return name != "completed.0" && !name.starts_with("__");
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> out(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && out ? std::string(out.get()) : name;
}

template <class Item>
std::vector<Item> read_items(std::ifstream& file, std::uint64_t at, std::uint64_t bytes) {
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  std::vector<Item> out(std::min(bytes, most) / sizeof(Item));
  file.clear();
  file.seekg(static_cast<std::streamoff>(at));
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(Item)));
  out.resize(static_cast<std::size_t>(file.gcount()) / sizeof(Item));
  return out;
}

struct Symbols {
  std::vector<ElfW(Sym)> all;
  std::vector<char> names;
};
Symbols symbols_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto header = read_items<ElfW(Ehdr)>(file, 0, sizeof(ElfW(Ehdr)));
  if (header.empty() || header[0].e_shentsize != sizeof(ElfW(Shdr))) return {};
  const auto sections =
      read_items<ElfW(Shdr)>(file, header[0].e_shoff, std::uint64_t{header[0].e_shnum} * sizeof(ElfW(Shdr)));
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const auto& names = sections[section.sh_link];
    return {read_items<ElfW(Sym)>(file, section.sh_offset, section.sh_size),
            read_items<char>(file, names.sh_offset, names.sh_size)};
  }
  return {};
}

}  // namespace

Globals::Globals() {
  Found found;
  ::dl_iterate_phdr(note_program, &found);
  base_ = found.base;
  for (const Range& range : found.ranges) {
    const auto* const begin = reinterpret_cast<const unsigned char*>(base_ + range.begin);
    parts_.push_back({begin, {begin, begin + (range.end - range.begin)}});
  }
}

std::vector<std::string> Globals::changed() const {
  auto differs = [](const Part& part) {
    return !part.bytes.empty() && std::memcmp(part.begin, part.bytes.data(), part.bytes.size()) != 0;
  };
  if (std::none_of(parts_.begin(), parts_.end(), differs)) return {};
  std::vector<std::string> out;
  const Symbols symbols = symbols_of_program();
  for (const auto& symbol : symbols.all) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 ||
        symbol.st_name >= symbols.names.size())
      continue;
    const std::string name(&symbols.names[symbol.st_name],
                           ::strnlen(&symbols.names[symbol.st_name], symbols.names.size() - symbol.st_name));
    if (!is_the_programs(name)) continue;
    for (const Part& part : parts_) {
      const std::uintptr_t from = base_ + symbol.st_value - reinterpret_cast<std::uintptr_t>(part.begin);
      if (from >= part.bytes.size()) continue;  // before it, too
      const std::size_t bytes = std::min<std::size_t>(symbol.st_size, part.bytes.size() - from);
      if (std::memcmp(part.begin + from, part.bytes.data() + from, bytes) != 0)
        out.push_back(demangled(name));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace nigh::sys
