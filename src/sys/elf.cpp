// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A static libgomp is found by the definition of GOMP_parallel in a symbol table, or, in a stripped program,
// by the prefix of its messages in the read-only data: a program linked to the shared library has neither.
#include "sys/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nigh::sys {

namespace {

// Caps on what is read of one file, far above any honest program's.
constexpr std::size_t max_headers = 65535;
constexpr std::uint64_t max_symbols_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t max_data_bytes = std::uint64_t{1} << 30;
constexpr std::size_t max_dynamic = 4096, max_libraries = 512, max_name = 4096;
constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::string_view libgomp_message = "\nlibgomp: ";

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Program = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  using Dynamic = Elf32_Dyn;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Program = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  using Dynamic = Elf64_Dyn;
};

template <class T>
std::optional<T> read_as(const ReadAt& read, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes = read(offset, sizeof(T));
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// A table of `count` entries, as many as the file really holds. An entry size other than ours is junk.
template <class T>
std::vector<T> read_table(const ReadAt& read, std::uint64_t offset, std::size_t count, std::size_t entry) {
  std::vector<T> out;
  if (entry != sizeof(T)) return out;
  std::string bytes = read(offset, std::min(count, max_headers) * sizeof(T));
  out.resize(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

bool is_name_at(const ReadAt& read, std::uint64_t offset, std::string_view name) {
  std::string bytes = read(offset, name.size() + 1);
  return bytes.size() == name.size() + 1 && bytes.compare(0, name.size(), name) == 0 && bytes.back() == '\0';
}

// True if the table defines (not merely refers to) the symbol.
template <class E>
bool defines(const ReadAt& read, const typename E::Section& table, const typename E::Section& names,
             std::string_view symbol) {
  using Symbol = typename E::Symbol;
  std::uint64_t size = std::min<std::uint64_t>(table.sh_size, max_symbols_bytes);
  constexpr std::size_t step = chunk / sizeof(Symbol) * sizeof(Symbol);
  for (std::uint64_t at = 0; at < size; at += step) {
    std::string bytes =
        read(table.sh_offset + at, static_cast<std::size_t>(std::min<std::uint64_t>(step, size - at)));
    for (std::size_t i = 0; i + sizeof(Symbol) <= bytes.size(); i += sizeof(Symbol)) {
      Symbol entry;
      std::memcpy(&entry, bytes.data() + i, sizeof entry);
      bool global = (entry.st_info >> 4) != STB_LOCAL && (entry.st_info & 0xf) == STT_FUNC;
      if (global && entry.st_shndx != SHN_UNDEF && entry.st_name < names.sh_size &&
          is_name_at(read, names.sh_offset + entry.st_name, symbol))
        return true;
    }
    if (bytes.size() < step) break;
  }
  return false;
}

bool contains(const ReadAt& read, std::uint64_t offset, std::uint64_t size, std::string_view text) {
  size = std::min(size, max_data_bytes);
  for (std::uint64_t at = 0; at < size; at += chunk) {
    std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(chunk + text.size(), size - at));
    std::string bytes = read(offset + at, want);
    if (bytes.find(text) != std::string::npos) return true;
    if (bytes.size() < want) break;
  }
  return false;
}

template <class E>
bool has_static_libgomp(const ReadAt& read, const typename E::Header& header) {
  auto sections = read_table<typename E::Section>(read, header.e_shoff, header.e_shnum, header.e_shentsize);
  for (const auto& s : sections)
    if ((s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM) && s.sh_link < sections.size() &&
        defines<E>(read, s, sections[s.sh_link], "GOMP_parallel"))
      return true;
  for (const auto& s : sections) {
    bool constant = s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_ALLOC) != 0 &&
                    (s.sh_flags & (SHF_WRITE | SHF_EXECINSTR)) == 0;
    if (constant && contains(read, s.sh_offset, s.sh_size, libgomp_message)) return true;
  }
  return false;
}

std::string name_at(const ReadAt& read, std::uint64_t offset) {
  std::string bytes = read(offset, max_name);
  return bytes.substr(0, std::min(bytes.find('\0'), bytes.size()));
}

// The offset in the file of an address of the loaded program; 0: none.
template <class Program>
std::uint64_t offset_of(const std::vector<Program>& programs, std::uint64_t address) {
  for (const auto& p : programs)
    if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
      return p.p_offset + (address - p.p_vaddr);
  return 0;
}

template <class E>
std::vector<std::string> linked_to(const ReadAt& read, const std::vector<typename E::Program>& programs) {
  std::vector<std::string> out;
  for (const auto& p : programs) {
    if (p.p_type != PT_DYNAMIC) continue;
    using Dynamic = typename E::Dynamic;
    auto entries = read_table<Dynamic>(
        read, p.p_offset, std::min<std::size_t>(p.p_filesz / sizeof(Dynamic), max_dynamic), sizeof(Dynamic));
    std::uint64_t names = 0;
    for (const auto& entry : entries)
      if (entry.d_tag == DT_STRTAB) names = offset_of(programs, entry.d_un.d_ptr);
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_NULL || names == 0 || out.size() == max_libraries) break;
      if (entry.d_tag == DT_NEEDED) out.push_back(name_at(read, names + entry.d_un.d_val));
    }
  }
  return out;
}

template <class E>
void look(const ReadAt& read, bool deep, ProgramFacts& facts) {
  auto header = read_as<typename E::Header>(read, 0);
  if (!header || (header->e_type != ET_EXEC && header->e_type != ET_DYN)) return;
  facts.elf = true;
  auto programs =
      read_table<typename E::Program>(read, header->e_phoff, header->e_phnum, header->e_phentsize);
  for (const auto& p : programs) {
    if (p.p_type != PT_INTERP) continue;
    facts.interpreter = true;
    facts.loader = name_at(read, p.p_offset);
  }
  facts.libraries = linked_to<E>(read, programs);
  if (deep) facts.static_libgomp = has_static_libgomp<E>(read, *header);
}

}  // namespace

std::string mpi_of(const std::vector<std::string>& libraries) {
  std::string found;
  for (const std::string& library : libraries) {
    const std::string_view name = std::string_view(library).substr(library.rfind('/') + 1);
    const std::size_t so = name.find(".so");
    const std::string_view stem = name.substr(0, so);
    const int version = so == std::string_view::npos
                            ? 0
                            : std::atoi(std::string(name.substr(std::min(so + 4, name.size()))).c_str());
    const bool mpi =
        stem == "libmpi" || stem.starts_with("libmpi_") || stem == "libmpifort" || stem == "libmpicxx";
    if (stem.starts_with("libmpich")) return "mpich";
    if (!mpi) continue;
    if (version >= 20) return "openmpi";
    if (version == 12) return "mpich";
    found = "another";
  }
  return found;
}

ProgramFacts elf_facts(const ReadAt& read, bool deep) {
  ProgramFacts facts;
  std::string start = read(0, EI_NIDENT);
  facts.script = start.compare(0, 2, "#!") == 0;
  if (start.size() < EI_NIDENT || start.compare(0, SELFMAG, ELFMAG) != 0 || start[EI_DATA] != ELFDATA2LSB)
    return facts;
  facts.bits32 = start[EI_CLASS] == ELFCLASS32;
  if (facts.bits32)
    look<Elf32>(read, deep, facts);
  else if (start[EI_CLASS] == ELFCLASS64)
    look<Elf64>(read, deep, facts);
  return facts;
}

}  // namespace nigh::sys
