// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Real programs of this machine for the facts, and the same files cut and corrupted at random for the promise
// that junk is only ever junk.
#include "sys/elf.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "sys/os.hpp"
#include "sys/preload_bar.hpp"
#include "sys/program.hpp"

namespace nigh::sys {
namespace {

ReadAt over(const std::string& bytes) {
  return [&bytes](std::uint64_t offset, std::size_t size) {
    return offset < bytes.size() ? bytes.substr(static_cast<std::size_t>(offset), size) : std::string();
  };
}

// A 64-bit program with one symbol table that holds GOMP_parallel, defined or not.
std::string small_program(bool interpreter, bool defined, bool message) {
  const std::string names("\0GOMP_parallel\0", 15);
  const std::string data = message ? std::string("x\nlibgomp: ") : std::string("usage");
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shoff = header.e_phoff + sizeof(Elf64_Phdr);
  header.e_shnum = 3;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Phdr segment{};
  segment.p_type = interpreter ? PT_INTERP : PT_LOAD;
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = defined ? 1 : SHN_UNDEF;
  Elf64_Shdr sections[3]{};
  std::uint64_t at = header.e_shoff + sizeof sections;
  sections[0] = {.sh_name = 0,
                 .sh_type = SHT_SYMTAB,
                 .sh_flags = 0,
                 .sh_addr = 0,
                 .sh_offset = at,
                 .sh_size = sizeof symbol,
                 .sh_link = 1,
                 .sh_info = 0,
                 .sh_addralign = 8,
                 .sh_entsize = 24};
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = at + sizeof symbol;
  sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_flags = SHF_ALLOC;
  sections[2].sh_offset = sections[1].sh_offset + names.size();
  sections[2].sh_size = data.size();
  std::string out;
  auto add = [&out](const void* bytes, std::size_t size) {
    out.append(static_cast<const char*>(bytes), size);
  };
  add(&header, sizeof header);
  add(&segment, sizeof segment);
  add(sections, sizeof sections);
  add(&symbol, sizeof symbol);
  return out + names + data;
}

TEST(Elf, ThisTestIsAnOrdinaryDynamicProgram) {
  auto path = own_executable();
  ASSERT_TRUE(path) << path.error().message;
  auto facts = inspect_program(*path);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->elf);
  EXPECT_TRUE(facts->interpreter);
  EXPECT_FALSE(facts->bits32);
  EXPECT_FALSE(facts->script);
  EXPECT_FALSE(facts->gains_rights);
}

TEST(Elf, LoaderAndLibrariesOfThisTest) {
  auto facts = inspect_program(own_executable().value());
  ASSERT_TRUE(facts);
  EXPECT_NE(facts->loader.find("/ld"), std::string::npos) << facts->loader;
  EXPECT_FALSE(is_foreign_loader(facts->loader.c_str()));
  EXPECT_EQ(std::count_if(facts->libraries.begin(), facts->libraries.end(),
                          [](const std::string& one) { return one.starts_with("libc.so."); }),
            1);
  EXPECT_EQ(mpi_of(facts->libraries), "");
}

TEST(Elf, LoadersOfOtherCLibraries) {
  for (const char* path : {"/lib/ld-musl-x86_64.so.1", "/opt/x/lib/ld-musl-aarch64.so.1",
                           "/lib/ld64-uClibc.so.0", "/system/bin/linker64"})
    EXPECT_TRUE(is_foreign_loader(path)) << path;
  for (const char* path :
       {"/lib64/ld-linux-x86-64.so.2", "/nix/store/abc-glibc/lib/ld-linux-x86-64.so.2", "", "/lib/other"})
    EXPECT_FALSE(is_foreign_loader(path)) << path;
}

TEST(Elf, MpiByTheNamesOfLibraries) {
  const std::pair<std::vector<std::string>, const char*> rows[] = {
      {{"libm.so.6", "libmpi.so.40", "libc.so.6"}, "openmpi"},
      {{"libmpi_usempif08.so.40", "libmpi_mpifh.so.40", "libmpi.so.40"}, "openmpi"},
      {{"libmpi_cxx.so.40"}, "openmpi"},
      {{"libmpich.so.12"}, "mpich"},
      {{"libmpichfort.so.12", "libmpich.so.12"}, "mpich"},
      {{"/opt/intel/lib/libmpi.so.12"}, "mpich"},
      {{"libmpifort.so.12", "libmpi.so.12"}, "mpich"},
      {{"libmpi_abi.so.0"}, "another"},
      {{"libmpi.so"}, "another"},
      {{"libmpir.so.3", "libmpiread.so", "libmp.so.40", ""}, ""},
      {{}, ""}};
  for (const auto& [libraries, mpi] : rows)
    EXPECT_EQ(mpi_of(libraries), mpi) << (libraries.empty() ? "" : libraries.front());
}

TEST(Elf, OwnRuntimeIsSeenByItsSymbolOrItsMessages) {
  EXPECT_FALSE(elf_facts(over(small_program(true, false, false))).static_libgomp);
  EXPECT_TRUE(elf_facts(over(small_program(true, true, false))).static_libgomp);
  EXPECT_TRUE(elf_facts(over(small_program(true, false, true))).static_libgomp);
  EXPECT_TRUE(elf_facts(over(small_program(true, true, false))).interpreter);
  EXPECT_FALSE(elf_facts(over(small_program(false, true, false))).interpreter);
}

TEST(Elf, ScriptsAndOtherFiles) {
  EXPECT_TRUE(elf_facts(over("#!/bin/sh\necho\n")).script);
  EXPECT_FALSE(elf_facts(over("#!/bin/sh\necho\n")).elf);
  EXPECT_FALSE(elf_facts(over("")).elf);
  EXPECT_FALSE(elf_facts(over("\x7f"
                              "ELF"))
                   .elf);
  std::string thirty_two = small_program(true, true, false);
  thirty_two[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(elf_facts(over(thirty_two)).bits32);
  std::string big_endian = small_program(true, true, false);
  big_endian[EI_DATA] = ELFDATA2MSB;
  EXPECT_FALSE(elf_facts(over(big_endian)).elf);
}

TEST(Elf, JunkIsOnlyJunk) {
  std::mt19937 random(4711);
  const std::string good = small_program(true, true, true);
  for (int round = 0; round < 50000; ++round) {
    std::string bad = good.substr(0, random() % (good.size() + 1));
    for (unsigned n = random() % 8; n > 0 && !bad.empty(); --n)
      bad[random() % bad.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    auto facts = elf_facts(over(bad));
    EXPECT_LE(facts.libraries.size(), 512U);
    EXPECT_TRUE(!facts.elf || bad.compare(0, 4, ELFMAG) == 0);
  }
}

TEST(Program, FoundAsTheShellWould) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_FALSE(find_program("no-such-program-here"));
  EXPECT_FALSE(find_program(""));
  EXPECT_FALSE(find_program("/etc/passwd"));  // not executable
  EXPECT_FALSE(inspect_program("/no/such/file"));
}

TEST(Program, RightsAreGainedOnlyByOthersFiles) {
  std::string path = ::testing::TempDir() + "nigh-rights-" + std::to_string(::getpid());
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  auto own = inspect_program(path);
  bool changed = ::chown(path.c_str(), 65534, 65534) == 0 && ::chmod(path.c_str(), 04755) == 0;
  auto others = inspect_program(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->gains_rights);
  if (!changed) GTEST_SKIP() << "SKIP: only root can give a file away";
  ASSERT_TRUE(others);
  EXPECT_TRUE(others->gains_rights);
}

}  // namespace
}  // namespace nigh::sys
